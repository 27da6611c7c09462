"""Checks before the first request that the back end and its settings fit what the tasks need."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from math import isnan
from socket import gaierror
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, getproxies, urlopen

from huggingface_hub import constants
from lm_eval.api.instance import Instance
from lm_eval.models.api_models import TemplateAPI

from lm_eval_cora.answers.likeliest import REASONS_FIRST, TOP, tokens_in
from lm_eval_cora.answers.plain import is_reasoning, opens_reasoning
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import ask, behind, payload_of_a_turn
from lm_eval_cora.harness.next_token import read_in_process, settings_of
from lm_eval_cora.harness.served import MALFORMED, UNREACHABLE, WHAT_TO_DO, ServerError, kind_of
from lm_eval_cora.log import logger
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import shorten

# Keys of an entry in a server's list of models that describe the model, not the day or the process.
_OF_A_MODEL = ("id", "root", "max_model_len", "meta")


def is_served(model: Any) -> bool:
    """Whether a back end sends its requests to a server."""
    return isinstance(model, TemplateAPI)


def formats_chats(model: Any) -> bool:
    """Whether a back end sends chat turns to a server, which applies its own chat template."""
    return "messages" in payload_of_a_turn(model)


def needs_seeds(model: Any) -> bool:
    """Whether identical requests return identical samples unless their seeds differ."""
    # APIs get the harness' seed with each request (others refuse it), and replicas of vLLM all start with that seed.
    return replicas_of_vllm(model) > 1 or "seed" in payload_of_a_turn(model)


def is_always_random(model: Any) -> bool:
    """Whether a back end sends a temperature above 0 even with greedy decoding, as for OpenAI's reasoning models."""
    temperature = payload_of_a_turn(model).get("temperature")
    return isinstance(temperature, int | float) and temperature > 0


def is_vllm(model: Any) -> bool:
    """Whether a back end is vLLM in this process."""
    return type(model).__name__.startswith("VLLM")


def makes_batches(model: Any) -> bool:
    """Whether a back end makes its own batches of the requests that it gets together."""
    return is_vllm(model) or type(model).__name__ == "SGLangLM"


def replicas_of_vllm(model: Any) -> int:
    """The number of models that vLLM loads in this process; 1 for other back ends."""
    return int(getattr(model, "data_parallel_size", 1)) if is_vllm(model) else 1


def listed_model(model: Any) -> dict[str, Any]:
    """Return the server's description of the model, to tell it from other models."""
    base, found, _ = str(model.base_url).partition("/v1")
    if not found:
        return {}
    try:
        with urlopen(Request(f"{base}/v1/models", headers=model.header), timeout=10) as response:
            listed = json.load(response)["data"]
        return next({key: one[key] for key in _OF_A_MODEL if key in one} for one in listed if one["id"] == model.model)
    except Exception:  # ignore all errors here; the first request reports them
        return {}


_CONTEXT, _CONTINUATION = "The first letter of the alphabet is", " Q"
"""Test request: does a server return the log-probabilities of a prompt? That of the continuation is never 0."""

_QUESTION = "Which letter comes first in the alphabet, A or B? Answer with the letter."
_FEW = 5  # next tokens that some servers return at most; they refuse more
_THINKS = "vLLM does not score answers with enable_thinking=True"
_REPLICAS = (
    "these options call the model many times, and with data_parallel_size={0} the harness loads it again each time. "
    "Start a server, `vllm serve MODEL --data-parallel-size {0}`, and use it: --model local-completions "
    "--model_args model=MODEL,base_url=http://localhost:8000/v1/completions,num_concurrent=64"
)


def _check_address(model: Any) -> None:
    """Check the address and the key of a server: the harness reads them when it sends a request."""
    if not str(model.base_url).startswith(("http://", "https://")):
        raise UserError(
            "--model_args base_url: expected an address such as http://localhost:8000/v1/chat/completions, "
            f"got {model.base_url}"
        )
    with explaining(f"--model: a request to {model.base_url} cannot be made"):
        _ = model.header


def check_listening(address: Any) -> None:
    """Check that something listens at an address, before the back end loads a tokenizer. Other faults come later."""
    reason = getattr(_failure(str(address)), "reason", None)
    if isinstance(reason, ConnectionRefusedError | gaierror) and not getproxies():  # some libraries use a proxy
        raise UserError(f"--model_args base_url: {address}: {UNREACHABLE}. {WHAT_TO_DO[UNREACHABLE]}")


def _failure(address: str) -> Exception | None:
    """Why an address gives no answer, or None if it gives one."""
    try:
        urlopen(Request(address, method="HEAD"), timeout=5).close()
    except HTTPError:  # an answer
        return None
    except (OSError, ValueError, HTTPException) as error:
        return error
    return None


def check_scoring(model: Any, tasks: Sequence[str], at_once: int = 0, *, chat: bool = True) -> None:
    """Check that a back end can score answers: one by one, or at most so many at once by the next token.

    A server gets a test request in the first call only.
    """
    own = behind(model)
    if not tasks or own is None:
        return
    if is_vllm(own) and getattr(own, "enable_thinking", None):
        raise _unable("VLLM", tasks, _THINKS)
    if at_once:
        _check_next_token(own, tasks, at_once, chat)
        return
    if not is_served(own) or vars(own).get("scores_answers"):
        return
    _check_address(own)
    name = type(own).__name__
    likelihood = 0.0
    try:
        likelihood, _ = _ask_once(own, "loglikelihood", _CONTEXT, _CONTINUATION)
    except NotImplementedError as error:
        raise _unable(name, tasks, in_a_line(error)) from None
    except Exception as error:
        kinds = error.tally.failed if isinstance(error, ServerError) else [kind_of(error)[0]]
        if MALFORMED not in kinds:
            raise _unreachable(own, error) from error
    if isnan(likelihood) or not likelihood < 0:
        raise _unable(name, tasks, "the server does not return log-probabilities of a prompt (nor does llama.cpp)")
    own.scores_answers = True


def _check_next_token(own: Any, tasks: Sequence[str], letters: int, chat: bool) -> None:
    """Check that a back end returns as many next tokens as there are letters."""
    why = "" if hasattr(own, "next_tokens") else _count_next_tokens(own, chat)
    if not why and own.next_tokens < letters:
        why = f"the server returns only {own.next_tokens} next tokens for {letters} letters"
    if why:
        raise _unable(type(own).__name__, tasks, why)


def _count_next_tokens(own: Any, chat: bool) -> str:
    """Note how many next tokens a back end returns; return why they cannot be used, or nothing."""
    if not is_served(own):
        return "" if read_in_process(own) else "it returns no next tokens"
    _check_turns(own, chat)
    prompt = own.apply_chat_template([{"role": "user", "content": _QUESTION}]) if chat else _QUESTION
    returned = _next_tokens(own, prompt, (TOP, _FEW))
    own.next_tokens = min(own.next_tokens, len(returned))
    own.checked = [*getattr(own, "checked", ()), settings_of(own)]
    reasons = opens_reasoning(str(prompt)) or is_reasoning(max(returned, key=returned.__getitem__))
    return REASONS_FIRST if reasons else ""


def _next_tokens(model: Any, prompt: str, numbers: Sequence[int]) -> dict[str, float]:
    """Ask a server for the likeliest next tokens; for fewer if it refuses the first number."""
    model.next_tokens, *fewer = numbers
    try:
        return dict(tokens_in(_ask_once(model, "generate_until", prompt, settings_of(model))))
    except Exception as error:
        if not fewer or "status 4" not in in_a_line(error):
            raise _unreachable(model, error, settings_of(model)) from error
    return _next_tokens(model, prompt, fewer)


def _check_turns(model: Any, chat: bool) -> None:
    if formats_chats(model) and not chat:
        raise UserError(f"--model: {type(model).__name__} sends chat turns. Add --apply_chat_template")
    _check_address(model)


def check_writing(
    model: Any, parameters: Mapping[str, Any], *, chat: bool, system: str | None = None, shots: bool = False
) -> None:
    """Check that a server has the model and accepts the roles and parameters of a task, each once with a request."""
    own, asked = behind(model), (shots, repr(parameters))
    if not is_served(own) or asked in own.checked:
        return
    _check_turns(own, chat)
    before = [("system", system)] if system else []
    before += [("user", _QUESTION), ("assistant", "A")] if shots else []
    turns = [{"role": role, "content": text} for role, text in [*before, ("user", _QUESTION)]]
    try:
        prompt = own.apply_chat_template(turns) if chat else "\n\n".join(turn["content"] for turn in turns)
        _ask_once(own, "generate_until", prompt, parameters)
        own.checked.append(asked)
    except Exception as error:
        if "model output limit" in str(error):  # of OpenAI: the model used all tokens for reasoning
            return
        raise _unreachable(own, error, parameters) from error


def check_chat_template(name: str, arguments: Mapping[str, Any]) -> None:
    """Check that the tokenizer has a chat template, before the model is loaded (--apply_chat_template)."""
    tokenizer = arguments.get("tokenizer") or arguments.get("pretrained")
    if not tokenizer or "chat" in name:
        return
    given = {key: arguments[key] for key in ("revision", "trust_remote_code") if key in arguments}
    try:
        from transformers import AutoTokenizer

        template = AutoTokenizer.from_pretrained(tokenizer, **given).chat_template
    except Exception:
        return
    if not template:
        raise UserError(
            "--apply_chat_template: "
            f"the tokenizer of {tokenizer} has no chat template, so this is probably not a chat model. "
            "Leave out --apply_chat_template"
        )


def check_chats(name: str, model: Any) -> None:
    """Check that a model can format a chat turn (--apply_chat_template): some load the tokenizer only then."""
    hint = ". Leave out --apply_chat_template, or name a model whose tokenizer is on this machine"
    with explaining(f"--apply_chat_template: --model {name}", hint):
        model.apply_chat_template([{"role": "user", "content": _QUESTION}])


def warn_without_hub() -> None:
    """Warn if the Hub cannot be reached: every attempt to load a file from it then takes up to a minute."""
    if constants.HF_HUB_OFFLINE:
        return
    if (error := _failure(constants.ENDPOINT)) is not None:
        use = "Set HF_HUB_OFFLINE=1 to use only files on this machine: each attempt to load another takes a minute"
        logger.warning("%s cannot be reached (%s). %s", constants.ENDPOINT, in_a_line(error), use)


def check_sampling(task: str, settings: Mapping[str, Any], options: Options, model: Any) -> None:
    """Check that the generation settings draw samples, and that the model accepts seeds if they are to be sent."""
    if "seed" in settings:
        own = """To send a different seed with each sample, pass --metadata '{"cora": {"request_seeds": true}}'"""
        raise UserError(
            f"{task}: --gen_kwargs seed={settings['seed']} "
            "would send this seed with every request, so all samples of a question would be the same. "
            f"Remove it. {own}"
        )
    temperature = settings.get("temperature", 0)
    hot = isinstance(temperature, int | float) and temperature > 0
    if settings.get("do_sample") is not True or not hot:
        raise UserError(
            f"{task}: generation settings: "
            "expected do_sample=true and a temperature above 0, because this task compares samples; "
            f"got {dict(settings)}. Remove these settings from --gen_kwargs"
        )
    if options.request_seeds and any(base.__name__ == "HFLM" for base in type(behind(model)).__mro__):
        raise UserError(
            f"{task}: option 'request_seeds': "
            "the back end 'hf' does not accept a seed with a request. Its samples differ without one. "
            "Remove the option; --seed makes the samples reproducible"
        )


def check_vllm(name: str, arguments: Mapping[str, Any], scored: Sequence[str], how: str) -> None:
    """Refuse settings that vLLM does not support, before it loads a model."""
    if not name.startswith("vllm"):
        return
    if scored and arguments.get("enable_thinking"):
        raise _unable(name, scored, _THINKS)
    replicas = arguments.get("data_parallel_size", 1)
    if how and str(replicas) != "1":
        raise UserError(f"{how}: {_REPLICAS.format(replicas)}")


def check_replicas(task: str, model: Any, how: str) -> None:
    """Refuse replicas of vLLM for a model that is called many times: the harness loads them again for each call."""
    if (replicas := replicas_of_vllm(behind(model))) > 1:
        raise UserError(f"{task}: {how}: {_REPLICAS.format(replicas)}")


def warn_of_small_batches(model: Any) -> None:
    """Warn if a back end that makes its own batches gets few requests at a time (--batch_size is 1 by default)."""
    size = getattr(model, "batch_size", "auto")
    if makes_batches(model) and size != "auto":
        logger.warning(
            "--batch_size %s sends %s only %s requests at a time and waits for the slowest one. Use --batch_size auto",
            size,
            type(model).__name__,
            size,
        )


def model_error(name: str, arguments: Mapping[str, Any], error: BaseException) -> UserError:
    """The error for a model that cannot be built, in one line."""
    cause = in_a_line(error)
    hint = ""
    if "pretrained" in cause and not {"pretrained", "model"} & arguments.keys():
        hint = ". Name the model: --model_args pretrained=ORG/MODEL"
    elif isinstance(error, ImportError):
        extra = {"hf": "hf", "huggingface": "hf", "vllm": "vllm", "sglang": "sglang"}.get(name, "api")
        packages = "gguf" if "gguf" in cause else f"'lm-eval[{extra}]'"
        hint = f". Install the packages that this back end needs: pip install {packages}"
    return UserError(f"--model {name}: the model cannot be built: {cause}{hint}")


def in_a_line(error: BaseException) -> str:
    """Describe an error in one line, as a part of a sentence."""
    if isinstance(error, ServerError):  # its parts are short
        return " ".join(str(error).split())
    return shorten(" ".join(described(error).split()), 400).removesuffix(".")


@contextmanager
def explaining(what: str, hint: str = "") -> Iterator[None]:
    """Turn an error of other code, which may be any, into one of one line that says what it is about."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{what}: {in_a_line(error)}{hint}") from error


def ask_test(model: Any, settings: Mapping[str, Any]) -> Any:
    """Send a test request that is answered in text, up to three times."""
    prompt = model.apply_chat_template([{"role": "user", "content": _QUESTION}]) if formats_chats(model) else _QUESTION
    return _ask_once(model, "generate_until", prompt, settings, attempts=3)


def _ask_once(model: Any, method: Any, *arguments: Any, attempts: int = 1) -> Any:
    """Send a test request without retries, so that a missing server is reported immediately."""
    usual, model.max_retries = getattr(model, "max_retries", 1), attempts
    try:
        (answer,) = ask(
            model, method, [Instance(method, {}, arguments, task_name="", doc_id=0, idx=0)], disable_tqdm=True
        )
        return answer
    finally:
        model.max_retries = usual
        if hasattr(model, "tally"):
            model.tally = type(model.tally)()


def _unreachable(model: Any, error: Exception, parameters: Iterable[str] = ()) -> UserError:
    sent = {*payload_of_a_turn(model), *parameters} - {"model", "messages", "prompt"}
    why = error.tally.describe_first(sent) if isinstance(error, ServerError) else in_a_line(error)
    return UserError(f"a first request to {model.base_url} (model {model.model!r}) failed: {why}")


def _unable(name: str, tasks: Sequence[str], why: str, more: str = "") -> UserError:
    written = [task.removesuffix("_mc") for task in tasks]
    named = f"Let the model write its answers instead: --tasks {','.join(written)}"
    advice = named if written != list(tasks) else "Use tasks of the form `generate`"
    return UserError(
        f"{', '.join(tasks)}: answers are scored, but the back end {name} cannot do this: {why}. {advice}{more}"
    )
