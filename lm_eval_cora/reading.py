"""A variant and the response to it -> Record: what was asked decides how the response is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_eval_cora.answers import Answer, Reader
from lm_eval_cora.answers.best_answer import find_best_answer, read_best_answer
from lm_eval_cora.answers.boxed import find_boxed, read_boxed
from lm_eval_cora.answers.choice import find_letter
from lm_eval_cora.answers.letter import read_letter
from lm_eval_cora.answers.likelihood import most_likely, yes_or_no
from lm_eval_cora.answers.selection import find_selection, read_selection
from lm_eval_cora.answers.yes_no import find_yes_no, read_yes_no
from lm_eval_cora.question import Ask
from lm_eval_cora.responses import Record

Doc = Mapping[str, Any]
"""A variant as the harness holds it, and as a samples file does."""


_EXCERPT = 80
"""Characters of an invalid response that its Record keeps."""


class NotAsked(str):
    """What stands in the place of a response where the model was not asked.

    A type of its own, because a model may write the same text.
    """

    __slots__ = ()


NOT_ASKED = NotAsked("[lm-eval-cora: not asked]")


_READERS: dict[Ask, dict[Reader, Callable[[str, Doc], Answer]]] = {
    "letter": {
        "strict": lambda response, doc: read_letter(response, doc["printed"]),
        "flexible": lambda response, doc: find_letter(response, doc["printed"], doc["choices"]),
    },
    "best_answer": {
        "strict": lambda response, doc: read_best_answer(response, doc["printed"]),
        "flexible": lambda response, doc: find_best_answer(response, doc["printed"], doc["choices"]),
    },
    "yes_no": {
        "strict": lambda response, doc: read_yes_no(response, doc["printed"]),
        "flexible": lambda response, doc: find_yes_no(response, doc["printed"], doc["choices"]),
    },
    "select_all": {
        "strict": lambda response, doc: read_selection(response, doc["printed"], doc["choices"]),
        "flexible": lambda response, doc: find_selection(response, doc["printed"], doc["choices"]),
    },
    "boxed": {
        "strict": lambda response, _: read_boxed(response),
        "flexible": lambda response, _: find_boxed(response),
    },
}


def read_response(
    doc: Doc,
    results: Sequence[Any],
    same: Callable[[str, str], bool | None] | None = None,
    *,
    reader: Reader = "flexible",
) -> Record:
    """Read what a model wrote.

    Args:
        doc: A variant.
        results: The filtered responses to it. The first counts; anything but text says nothing.
        same: Whether an answer of the model's own is equivalent to the reference, None if that cannot be found out;
            not given, that is left open.
        reader: How the answer is read.

    Returns:
        The Record, whatever the response is. It says also whether the strict reader can read the response.

    Example:
        >>> doc = {"question_id": "q1", "kind": "x", "ordinal": 1, "original": False, "variants": 8, "category": ""}
        >>> doc |= {"ask": "letter", "printed": [1, 0], "choices": ["Ice", "Water"], "answer": 0}
        >>> record = read_response(doc, ["The answer is B."])
        >>> record.correct, record.followed
        (True, False)
        >>> read_response(doc, ["The answer is B."], reader="strict").correct
        False
    """
    response = response_of(results)
    readers = _READERS[doc["ask"]]
    strict = readers["strict"](response, doc)
    answer = strict if reader == "strict" else readers[reader](response, doc)
    excerpt = response[:_EXCERPT] if answer.reason else ""
    size = len(response.encode("utf-8", "replace")) if answer.reason else 0
    return replace(_record(doc, answer, same), followed=strict.reason is None, excerpt=excerpt, size=size)


def is_settled(doc: Doc, response: str, reader: Reader) -> bool:
    r"""Whether more text after a response would leave its answer as it is, unless it takes it back.

    Example:
        >>> doc = {"ask": "letter", "printed": [1, 0], "choices": ["Ice", "Water"]}
        >>> is_settled(doc, "B\n\nWater boils.", "flexible"), is_settled(doc, "Let me think", "flexible")
        (True, False)
    """
    return _READERS[doc["ask"]][reader](response, doc).settled


def read_likelihoods(doc: Doc, results: Sequence[Any]) -> Record:
    """Pick the most likely of the answers that were scored.

    Args:
        doc: A variant.
        results: For each answer the log-likelihood and whether it is what greedy decoding would write.

    Returns:
        The Record, whatever the likelihoods are.

    Example:
        >>> doc = {"question_id": "q1", "kind": "x", "ordinal": 1, "original": False, "variants": 8, "category": ""}
        >>> doc |= {"ask": "letter", "printed": [1, 0], "answer": 0}
        >>> read_likelihoods(doc, [(-1.5, False), (-0.25, True)]).correct
        True
    """
    read = yes_or_no if doc["ask"] == "yes_no" else most_likely
    return _record(doc, read([_first(result) for result in results], doc["printed"]))


def not_asked(doc: Doc) -> Record:
    """The Record of a variant that the model was not asked.

    Example:
        >>> doc = {"question_id": "q1", "kind": "x", "ordinal": 1, "original": False, "variants": 8, "category": ""}
        >>> record = not_asked({**doc, "ask": "letter", "printed": [1, 0], "answer": 0})
        >>> record.asked, record.correct, record.invalid
        (False, False, False)
    """
    return replace(_record(doc, Answer()), asked=False)


def written_answer(results: Sequence[Any], reader: Reader) -> str | None:
    """The model's own answer in the first response, if there is one."""
    return _READERS["boxed"][reader](response_of(results), {}).written


def response_of(results: Sequence[Any]) -> str:
    """The first response; anything but text says nothing."""
    response = results[0] if results else ""
    if isinstance(response, list | tuple):  # a filter such as take_first_k hands on a list
        response = response[0] if response else ""
    return response if isinstance(response, str) else ""


def _first(result: Any) -> Any:
    """The log-likelihood of a back end's pair, whatever kind of pair it is."""
    try:
        return result[0]
    except Exception:  # whatever it is, the answers have been paid for
        return None


def _record(doc: Doc, answer: Answer, same: Callable[[str, str], bool | None] | None = None) -> Record:
    return Record(
        question_id=doc["question_id"],
        kind=doc["kind"],
        ordinal=doc["ordinal"],
        variants=doc["variants"],
        printed=tuple(doc["printed"]),
        answer=0 if doc["ask"] == "boxed" else doc["answer"],
        picked=answer.picked,
        reason=answer.reason,
        category=doc["category"],
        tied=answer.tied,
        ask=doc["ask"],
        selected=answer.selected,
        yes=answer.yes,
        no=answer.no,
        position=answer.position,
        original=doc["original"],
        written=answer.written,
        matches=None if answer.written is None or same is None else same(answer.written, doc["answer"]),
    )
