"""Read one response, and show which characters of it decided."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, get_args

from lm_eval_cora.answers import Answer, Reader
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import LETTERS

_SHOWN = 300
"""Number of characters around the deciding ones that are shown."""


def read_answer(
    response: str,
    options: Sequence[str],
    *,
    format: str = "letter",
    reader: Reader = "flexible",
    cut_off: bool = False,
) -> Answer:
    """Read one response, and say why it was read as it was.

    Args:
        response: The response of a model, of any length.
        options: The texts of the options as printed, in order; the proposed one for `yes_no`, none for `boxed`.
        format: What the prompt asks for: `letter`, `best_answer`, `yes_no`, `select_all` or `boxed`.
        reader: `flexible`, or `strict` for the rules of the papers.
        cut_off: Whether the token limit ended the response. It then counts only if its answer was stated in full
            before, in the format that was asked for.

    Returns:
        The answer. `position` is an index into `options`, or None; `selected` and `written` are the answers of the
        other formats. `reason` is why there is no answer, `rule` is the rule that decided, `span` are the start and end
        of the characters that decided, and `found` are the places that do not count. Empty if the reader has no rules
        to tell apart.

    Raises:
        UserError: If an argument is invalid.

    Example:
        >>> answer = read_answer("I looked at it. So the answer is B.", ["Steam", "Ice", "Fog"])
        >>> answer.position, answer.rule, answer.span
        (1, 'a conclusion', (33, 34))
        >>> str(read_answer("I do not know.", ["Steam", "Ice", "Fog"]).reason)
        'no letter'
    """
    if format not in FORMATS:
        names = ", ".join(map(repr, FORMATS))
        raise UserError(f"read_answer: format: expected {names}, got {format!r}.{did_you_mean(format, FORMATS)}")
    if reader not in get_args(Reader):
        raise UserError(f"read_answer: reader: expected 'flexible' or 'strict', got {reader!r}")
    if not isinstance(response, str):
        raise UserError(f"read_answer: response: expected text, got {type(response).__name__}")
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise UserError(f"read_answer: options: expected a list of texts, got {options!r}")
    least, most = FORMATS[format].shows
    if not least <= len(options) <= most:
        raise UserError(f"read_answer: options: expected {least} to {most} for {format}, got {len(options)}")
    doc = {"ask": format, "printed": list(range(len(options))), "choices": list(options)}
    return FORMATS[format].read(response, doc, reader, cut_off=cut_off)


def said(answer: Answer, format: str, options: Sequence[str]) -> str:
    """Return an answer as a person would write it; empty if there is none.

    Example:
        >>> said(read_answer("B", ["Steam", "Ice"]), "letter", ["Steam", "Ice"])
        'B. Ice'
    """
    if answer.position is not None:
        return f"{LETTERS[answer.position]}. {options[answer.position]}"
    record: Any = SimpleNamespace(**vars(answer), printed=range(len(options)))
    return FORMATS[format].said(record, letters=True) or ""


def around(response: str, span: tuple[int, int] | None, size: int = _SHOWN) -> tuple[str, str, str]:
    """Return the text before, in and after the deciding characters; each is cut to a number of characters."""
    start, end = span or (0, 0)
    before, after = response[max(0, start - size) : start], response[end : end + size]
    return (
        f"…{before}" if start > size else before,
        response[start : min(end, start + size)],
        f"{after}…" if end + size < len(response) else after,
    )


def places(response: str, answer: Answer, most: int = 8) -> list[str]:
    """Describe the places of an invalid answer that were found, and why they do not count."""
    return [
        f"{LETTERS[found.position] if 0 <= found.position < len(LETTERS) else 'none'}, "
        f'"{response[slice(*found.span)][:60]}" ({found.rule}): {found.void or "another option has the same weight"}'
        for found in answer.found[:most]
    ]
