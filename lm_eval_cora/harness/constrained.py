"""Constrained answers: an engine may write only a valid one. The argument of a request for that, for each engine."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from lm_eval_cora.answers.formats import Doc, format_of
from lm_eval_cora.answers.records import Response
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import back_ends
from lm_eval_cora.log import logger

Answers = tuple[str, ...]

_NEVER = ("QZXJ",)  # the only answer to a test request: a model would not give it by itself
_ROOM = 32  # tokens of JSON beside an answer, which has at most as many as bytes
_STEPS = re.compile("step.by.step", re.IGNORECASE)


class _Apart(dict[str, Any]):
    """A JSON object in the settings of a request. The harness' `Collator` groups requests by `tuple(value)` of each."""

    def __iter__(self) -> Iterator[str]:
        return iter(repr(self))


_NAME = "chosen_answer"  # no other task of a run asks for JSON with only this name
_HF, _JSON = "prefix_allowed_tokens_fn", "response_format"


def _schema(answers: Sequence[str]) -> _Apart:
    """A JSON schema of an object with the answer, in OpenAI's form."""
    properties = {_NAME: {"type": "string", "enum": answers}}
    schema = {"type": "object", "properties": properties, "required": [_NAME], "additionalProperties": False}
    return _Apart(type="json_schema", json_schema={"name": _NAME, "strict": True, "schema": schema})


WAYS: dict[str, Any] = {
    "structured_outputs": lambda answers: _Apart(choice=answers),
    "guided_choice": list,
    "regex": lambda answers: f"({'|'.join(map(re.escape, answers))})".replace(r"\ ", " "),
    # llama.cpp reads the escapes of JSON, but no pairs of them for one character, such as an emoji.
    "grammar": lambda answers: f"root ::= {' | '.join(json.dumps(each, ensure_ascii=False) for each in answers)}",
    _HF: tuple,
    _JSON: _schema,
}
"""Arguments that allow only some answers: of vLLM, of vLLM before 0.12, of SGLang, of llama.cpp, of transformers, of
OpenAI."""


def allowed_in(task: str, docs: Iterable[Doc]) -> Answers:
    """The longest list of answers that a doc allows; an error if the answers to one cannot be listed."""
    every: dict[Answers, str] = {}
    for doc in docs:
        reasons = _STEPS.search(getattr(doc.get("template"), "prompt", ""))
        every[() if reasons else format_of(doc).allowed(doc)] = doc["kind"]
    if () in every:
        raise UserError(
            f"{task}: option 'constrain': the prompt of {every[()]!r} asks for reasoning before the answer, or for all "
            "right ones of more than ten letters. Leave the option out for this task"
        )
    return max(every, key=len)


@lru_cache(maxsize=4096)  # some lists of answers are long
def constraint(way: str, answers: Answers, delimiter: str = "") -> dict[str, Any]:
    """The settings of a request that allow some answers, after a delimiter."""
    texts = [f"{delimiter}{answer}" for answer in answers]
    most = max(len(text.encode()) for text in texts)
    return {way: WAYS[way](texts), "max_gen_toks": most + _ROOM if way == _JSON else most}


def kind_of_way(way: str) -> str:
    """What a model writes, for the signature: an answer, or JSON with it."""
    return "json" if way == _JSON else "choice"


# ---- what an engine accepts
def way_of(task: str, model: Any, settings: Mapping[str, Any], answers: Answers, *, needed: bool) -> str:
    """Find out with test requests how a model can be constrained; empty if it cannot, an error if that is needed."""
    known: dict[Answers, str] = vars(model).setdefault("constraints", {})
    if not known:
        _prepare(model)
    if answers not in known:
        obeyed = (way for way in WAYS if all(_obeys(model, settings, way, allowed) for allowed in (_NEVER, answers)))
        known[answers] = way = next(obeyed, "")
        why = f"the back end refuses or ignores each of {', '.join(WAYS)}, or the model reasons before it answers"
        if needed and not way:
            instead = """use "constrain": "if possible" to go on without"""
            raise UserError(f"{task}: option 'constrain': {why}. Leave the option out, or {instead}")
        told = logger.info if way else logger.warning
        told("%s: constrained answers: %s", task, f"by {way}" if way else f"no, {why}")
    return known[answers]


def _obeys(model: Any, settings: Mapping[str, Any], way: str, answers: Answers) -> bool:
    """Whether the answer to a test request is one of those that it allows."""
    try:
        return str(back_ends.ask_test(model, {**settings, **constraint(way, answers)})).strip() in answers
    except Exception:  # what an engine raises if it does not know an argument
        return False


def _prepare(model: Any) -> None:
    """Make a back end take settings that are plain, which caches of the harness need, and return the answer in JSON."""
    if back_ends.is_served(model):
        parse = model.parse_generations
        model.parse_generations = lambda *given, **named: [*map(_said, parse(*given, **named))]
    generate: Any = getattr(model, "_model_generate", None)

    def model_generate(**named: Any) -> Any:
        if answers := named.get(_HF):
            named[_HF] = _next_tokens(model, answers, named["context"].shape[1])
        for one in named.get("sampling_params") or ():
            if one.structured_outputs:
                from vllm.sampling_params import StructuredOutputsParams  # type: ignore[import-not-found]

                one.structured_outputs = StructuredOutputsParams(**one.structured_outputs)
        return generate(**named)

    model._model_generate = model_generate


def _said(text: Any) -> Any:
    """The answer in JSON; other texts as they are."""
    with suppress(ValueError, TypeError, RecursionError):
        if [*(said := json.loads(text))] == [_NAME]:
            return Response.of(text).saying(str(said[_NAME]))
    return text


def _next_tokens(model: Any, answers: Sequence[str], size: int) -> Any:
    """Return a function of the tokens so far, of which `size` are the prompt's, that returns those that may be next."""
    # A tokenizer may put a space before the first word of a text, but not after a line break.
    texts = [model.tok_encode(f"\n{answer}", add_special_tokens=False) for answer in ("", *answers)]
    allowed = [[*tokens[len(texts[0]) :], model.eot_token_id] for tokens in texts[1:]]

    def following(said: list[int]) -> list[int]:
        begun = (tokens[len(said) :] for tokens in allowed if tokens[: len(said)] == said)
        return [tokens[0] for tokens in begun if tokens] or [model.eot_token_id]

    return lambda _, tokens: following(tokens[size:].tolist())
