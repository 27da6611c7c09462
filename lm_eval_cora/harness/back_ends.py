"""What back ends cannot do, found out before the first request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from typing import Any
from weakref import WeakSet

from lm_eval.api.instance import Instance

from lm_eval_cora.harness.failures import MALFORMED, ServerError, kind_of
from lm_eval_cora.harness.forwarding import ask, behind
from lm_eval_cora.harness.log import logger
from lm_eval_cora.harness.payloads import formats_chats, is_served, is_vllm, replicas_of_vllm
from lm_eval_cora.options import OptionError
from lm_eval_cora.question import shorten

_CONTEXT, _CONTINUATION = "The first letter of the alphabet is", " Q"
"""Scored to see whether a server returns the log-probabilities of a prompt; that of the second is never 0."""

_QUESTION = "Which letter comes first in the alphabet, A or B? Answer with the letter."

_ROOM = 16
"""In tokens. Some servers refuse a limit of 1."""

_TOO_SHORT = "model output limit"
"""What OpenAI says where a model has used all tokens to reason."""

_THINKS = "with enable_thinking=True vLLM scores nothing"

_REPLICAS = (
    "with data_parallel_size={0} the harness loads the model again for each of the many calls that this makes. Start "
    "a server, `vllm serve MODEL --data-parallel-size {0}`, and ask it: --model local-completions --model_args "
    "model=MODEL,base_url=http://localhost:8000/v1/completions,num_concurrent=64"
)

_seen_to_score: WeakSet[Any] = WeakSet()


def check_scoring(model: Any, tasks: Sequence[str]) -> None:
    """See that a back end can score answers. A server is asked once; a second call asks nothing.

    Args:
        model: The model, None if it is not known.
        tasks: Names of the tasks that need it.

    Raises:
        OptionError: If it cannot.
    """
    own = behind(model)
    if not tasks or own is None:
        return
    if is_vllm(own) and getattr(own, "enable_thinking", None):
        raise _unable("VLLM", tasks, _THINKS)
    if not is_served(own) or own in _seen_to_score:
        return
    name = type(own).__name__
    if formats_chats(own):
        raise _unable(
            name, tasks, "chat APIs return no log-probabilities of a prompt",
            "; or ask vLLM or SGLang by --model local-completions with base_url=http://HOST/v1/completions",
        )  # fmt: skip
    likelihood = 0.0
    try:
        with _one_attempt(own):
            request = _request("loglikelihood", _CONTEXT, _CONTINUATION)
            ((likelihood, _),) = ask(own, "loglikelihood", [request], disable_tqdm=True)
    except NotImplementedError as error:
        raise _unable(name, tasks, in_a_line(error)) from None
    except Exception as error:
        kinds = error.tally.failed if isinstance(error, ServerError) else [kind_of(error)[0]]
        if MALFORMED not in kinds:
            raise _unreachable(own, error) from None
    if isnan(likelihood) or not likelihood < 0:
        raise _unable(name, tasks, "the server returns no log-probabilities of a prompt, as llama.cpp's does not")
    _seen_to_score.add(own)


def check_writing(model: Any, *, chat: bool) -> None:
    """See that a server writes an answer to one request: it is there, has the model, and takes the parameters.

    Args:
        model: The model.
        chat: Whether prompts are turns (--apply_chat_template).

    Raises:
        OptionError: If it does not.
    """
    own = behind(model)
    if not is_served(own):
        return
    try:
        prompt = own.apply_chat_template([{"role": "user", "content": _QUESTION}]) if chat else _QUESTION
        with _one_attempt(own):
            request = _request("generate_until", prompt, {"until": [], "max_gen_toks": _ROOM})
            ask(own, "generate_until", [request], disable_tqdm=True)
    except Exception as error:
        if _TOO_SHORT in str(error):  # the answer of a model that reasons, which is there
            return
        raise _unreachable(own, error) from None


def check_vllm(name: str, arguments: Mapping[str, Any], scored: Sequence[str], how: str) -> None:
    """Refuse what vLLM cannot do, before it loads a model.

    Args:
        name: Name of the back end.
        arguments: Arguments of the model.
        scored: Names of the tasks that score answers.
        how: The options that make many calls of the model; empty if there are none.

    Raises:
        OptionError: If it thinks and should score, or has replicas that would be loaded for each call.
    """
    if not name.startswith("vllm"):
        return
    if scored and arguments.get("enable_thinking"):
        raise _unable(name, scored, _THINKS)
    replicas = arguments.get("data_parallel_size", 1)
    if how and str(replicas) != "1":
        raise OptionError(f"{how}: {_REPLICAS.format(replicas)}")


def check_replicas(task: str, model: Any, how: str) -> None:
    """Refuse replicas that the harness starts anew for each of many calls.

    Args:
        task: Name of the task, for the error message.
        model: The model that will be called many times.
        how: The options that make it so.

    Raises:
        OptionError: If the model is vLLM's with `data_parallel_size` above 1.
    """
    if (replicas := replicas_of_vllm(behind(model))) > 1:
        raise OptionError(f"{task}: {how}: {_REPLICAS.format(replicas)}")


def warn_of_small_batches(model: Any) -> None:
    """Say that an engine which batches by itself is sent a few requests at a time: 1 is what --batch_size is set to."""
    size = getattr(model, "batch_size", "auto")
    if (is_vllm(model) or type(model).__name__ == "SGLangLM") and size != "auto":
        logger.warning(
            "--batch_size %s sends %s %s requests at a time, each time waiting for the slowest: use --batch_size auto",
            size, type(model).__name__, size,
        )  # fmt: skip


def model_error(name: str, arguments: Mapping[str, Any], error: BaseException) -> OptionError:
    """An error for a model that cannot be built, in one line."""
    told = in_a_line(error)
    hint = ""
    if "pretrained" in told and not {"pretrained", "model"} & arguments.keys():
        hint = ". Name the model: --model_args pretrained=ORG/MODEL"
    elif isinstance(error, ImportError):
        extra = {"hf": "hf", "huggingface": "hf", "vllm": "vllm", "sglang": "sglang"}.get(name, "api")
        hint = f". Install what this back end needs: pip install 'lm-eval[{extra}]'"
    return OptionError(f"--model {name}: the model cannot be built: {told}{hint}")


def in_a_line(error: BaseException) -> str:
    """An error as a part of a sentence.

    Example:
        >>> in_a_line(ValueError("a  b."))
        'ValueError: a b'
    """
    told = str(error) if isinstance(error, ServerError) else f"{type(error).__name__}: {error}"
    return shorten(" ".join(told.split()), _LONGEST).removesuffix(".")


_LONGEST = 400


def _request(kind: Any, *arguments: Any) -> Instance:
    return Instance(request_type=kind, doc={}, arguments=arguments, idx=0)


@contextmanager
def _one_attempt(model: Any) -> Iterator[None]:
    """Send a request once: a server that is not there should be told of at once."""
    own = {name: getattr(model, name) for name in ("attempts", "max_retries") if hasattr(model, name)}
    for name in own:
        setattr(model, name, 1)
    try:
        yield
    finally:
        for name, value in own.items():
            setattr(model, name, value)
        if hasattr(model, "tally"):
            model.tally = type(model.tally)()


def _unreachable(model: Any, error: Exception) -> OptionError:
    why = error.tally.describe_first() if isinstance(error, ServerError) else in_a_line(error)
    return OptionError(f"a first request to {model.base_url} (model {model.model!r}) failed: {why}")


def _unable(name: str, tasks: Sequence[str], why: str, more: str = "") -> OptionError:
    written = [task.removesuffix("_mc") for task in tasks]
    form = f"--tasks {','.join(written)}" if written != list(tasks) else "tasks of the form `generate`"
    return OptionError(
        f"{', '.join(tasks)}: answers are scored, and {name} cannot: {why}. Have them written: {form}{more}"
    )
