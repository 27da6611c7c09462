"""A user's own questions: rows with question, choices, answer, and if there are any id and category."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from lm_eval_cora.benchmarks import Benchmark, Row
from lm_eval_cora.benchmarks.cells import option_list
from lm_eval_cora.question import LETTERS, Question, UnusableQuestion, shorten


def to_question(row: Row, default_id: str) -> Question:
    """Read a row.

    Numbers as options become text. In a csv file the cell `choices` holds a JSON list. A missing id is made of the
    row number, a missing category is empty.

    Example:
        >>> to_question({"question": "2 + 2?", "choices": "[3, 4]", "answer": "B"}, "row-0").choices
        ('3', '4')
    """
    choices = _choices(row["choices"])
    return Question(
        id=_text_or(row.get("id"), default_id),
        stem=row["question"],
        choices=choices,
        answer=answer_index(row["answer"], choices),
        category=_text_or(row.get("category"), ""),
    )


def answer_index(answer: object, choices: Sequence[str]) -> int:
    """Find which option an answer means: an index from 0, a letter, or the option's text.

    A text is tried as all three, because a csv file has nothing but text, and a number as index and as text. If two
    readings name different options the row is refused rather than guessed at.

    Args:
        answer: As the row has it.
        choices: The option texts.

    Returns:
        The index of the right option.

    Raises:
        UnusableQuestion: If the answer means none of the options, or could mean two.

    Example:
        >>> [answer_index(answer, ["Ice", "Fog"]) for answer in (1, "B", "Fog", "1")]
        [1, 1, 1, 1]
        >>> answer_index("A", ["B", "A"])
        Traceback (most recent call last):
        ...
        lm_eval_cora.question.UnusableQuestion: an answer with two meanings: 'A' is a letter and the text of another option; give the index, from 0
    """  # noqa: E501
    readings: set[int] = set()
    if isinstance(answer, int | str) and not isinstance(answer, bool):
        text = str(answer).strip()
        readings = {index for index, choice in enumerate(choices) if choice.strip() == text}
        if readings and readings != {min(readings)}:
            raise UnusableQuestion("an option equal to the right one", f"{text!r} stands {len(readings)} times")
        if len(text) == 1 and text.upper() in LETTERS[: len(choices)]:
            readings.add(LETTERS.index(text.upper()))
        if text in map(str, range(len(choices))):
            readings.add(int(text))
    if len(readings) > 1:
        kind, instead = ("an index", "letter") if text.isdecimal() else ("a letter", "index, from 0")
        raise UnusableQuestion(
            "an answer with two meanings", f"{answer!r} is {kind} and the text of another option; give the {instead}"
        )
    if not readings:
        raise UnusableQuestion(
            "an answer outside the options",
            f"{shorten(repr(answer))} is no index from 0 to {len(choices) - 1}, no letter and no text of the "
            f"{len(choices)} options",
        )
    return readings.pop()


def _choices(cell: Any) -> tuple[str, ...]:
    options = option_list(cell)
    if not options:
        raise UnusableQuestion("no options", "the list is empty")
    return tuple(_option_text(option) for option in options)


def _option_text(option: object) -> str:
    if isinstance(option, str):
        return option
    if isinstance(option, bool) or not isinstance(option, int | float) or not isfinite(option):
        raise UnusableQuestion("an option that is not text", f"it is {shorten(repr(option))}")
    return str(option)


def _text_or(value: object, default: str) -> str:
    return default if value is None or value == "" else str(value)


LOCAL = Benchmark(name="local", columns=("question", "choices", "answer"), to_question=to_question, strict=True)
