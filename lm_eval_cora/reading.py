"""A variant and the response to it -> Record: what was asked decides how the response is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_eval_cora.answers import Answer
from lm_eval_cora.answers.best_answer import read_best_answer
from lm_eval_cora.answers.boxed import read_boxed
from lm_eval_cora.answers.letter import read_letter
from lm_eval_cora.answers.likelihood import most_likely, yes_or_no
from lm_eval_cora.answers.selection import read_selection
from lm_eval_cora.answers.yes_no import read_yes_no
from lm_eval_cora.responses import Record

Doc = Mapping[str, Any]
"""A variant as the harness holds it, and as a samples file does."""


class NotAsked(str):
    """What stands in the place of a response where the model was not asked.

    A type of its own, because a model may write the same text.
    """

    __slots__ = ()


NOT_ASKED = NotAsked("[lm-eval-cora: not asked]")


def read_response(doc: Doc, results: Sequence[Any], same: Callable[[str, str], bool | None] | None = None) -> Record:
    """Read what a model wrote.

    Args:
        doc: A variant.
        results: The filtered responses to it. The first counts; anything but text says nothing.
        same: Whether an answer of the model's own is equivalent to the reference, None if that cannot be found out;
            not given, that is left open.

    Returns:
        The Record, whatever the response is.

    Example:
        >>> doc = {"question_id": "q1", "kind": "x", "ordinal": 1, "original": False, "variants": 8, "category": ""}
        >>> doc |= {"ask": "letter", "printed": [1, 0], "answer": 0}
        >>> read_response(doc, ["B. Water"]).correct
        True
    """
    return _record(doc, _read(_response(results), doc), same)


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


def written_answer(results: Sequence[Any]) -> str | None:
    """The answer in the box of the first response, if there is one."""
    return read_boxed(_response(results)).written


def _response(results: Sequence[Any]) -> str:
    """The first response; anything but text says nothing."""
    response = results[0] if results else ""
    if isinstance(response, list | tuple):  # a filter such as take_first_k hands on a list
        response = response[0] if response else ""
    return response if isinstance(response, str) else ""


def _read(response: str, doc: Doc) -> Answer:
    if doc["ask"] == "best_answer":
        return read_best_answer(response, doc["printed"])
    if doc["ask"] == "boxed":
        return read_boxed(response)
    if doc["ask"] == "yes_no":
        return read_yes_no(response, doc["printed"])
    if doc["ask"] == "select_all":
        return read_selection(response, doc["printed"], doc["choices"])
    return read_letter(response, doc["printed"])


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
