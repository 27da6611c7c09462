"""Answers of a table or file as records and lines, as a samples file of the harness has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from lm_eval_cora.answer_rows import AnswerRows
from lm_eval_cora.formats import BOXED, LETTER
from lm_eval_cora.question import MAX_OPTIONS
from lm_eval_cora.records import Record

_UNKNOWN = -1
"""Identity of a right option that is not known."""


class Texts(NamedTuple):
    """The texts of a row; None for a missing value.

    Attributes:
        variant: Number or name of the variant.
        picked: The option that the answer picks.
        answer: The right option.
        printed: The options that the variant prints.
    """

    variant: str
    picked: str | None
    answer: str | None
    printed: list[str] | None


class AnswerRecords:
    """The answers of a file, one Record per row, sorted by question and variant.

    A pick from printed options has the identities of the options. Any other answer is a written one, which is empty if
    the file has no picks.

    Attributes:
        records: The records.
    """

    def __init__(self, rows: AnswerRows) -> None:
        """Make the records.

        Args:
            rows: The answers.

        Example:
            >>> from lm_eval_cora.answer_rows import read_answers
            >>> row = {"question": "q1", "variant": 0, "picked": "Fog", "answer": "Ice", "printed": ["Ice", "Fog"]}
            >>> made = AnswerRecords(read_answers([row]))
            >>> (record,) = made.records
            >>> record.position, record.correct, made.line(record)["filtered_resps"]
            (1, False, ['Fog'])
        """
        columns = rows.columns
        self._order = rows.order.tolist()
        self._questions = columns.texts("question")
        nothing: Sequence[None] = [None] * len(self._order)
        self._picked = columns.texts_or_none("picked") if columns.has("picked") else nothing
        self._answers = columns.texts_or_none("answer") if columns.has("answer") else nothing
        self._printed = columns.lists("printed") if columns.has("printed") else nothing
        self._has_picks = columns.has("picked")
        self._right, self._skipped = rows.right.tolist(), rows.skipped.tolist()
        self._variants = columns.texts("variant")
        self._kinds = columns.texts("kind") if columns.has("kind") else self._variants
        self._categories = columns.texts_or_none("category") if columns.has("category") else nothing
        self._originals = [False] * len(self._order) if rows.original is None else rows.original.tolist()
        first = [place for place, row in enumerate(self._order) if self._is_first(place, row)]
        self._starts = {self._questions[self._order[place]]: place for place in first}
        self.records: list[Record] = []
        for start, end in pairwise([*first, len(self._order)]):
            self.records += self._of_question(self._order[start:end])

    def _is_first(self, place: int, row: int) -> bool:
        return not place or self._questions[row] != self._questions[self._order[place - 1]]

    def _of_question(self, rows: Sequence[int]) -> list[Record]:
        lists = [self._printed[row] for row in rows]
        known = [printed for printed in lists if printed is not None]
        has_options = self._has_picks and all(self._printed[row] is not None or self._skipped[row] for row in rows)
        if not has_options or max(map(len, known), default=0) > MAX_OPTIONS:
            return [self._written(row, ordinal, len(rows)) for ordinal, row in enumerate(rows)]
        texts = [*(text for printed in known for text in printed), *filter(None, (self._answers[row] for row in rows))]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        return [self._chosen(row, ordinal, len(rows), numbers) for ordinal, row in enumerate(rows)]

    def _chosen(self, row: int, ordinal: int, variants: int, numbers: Mapping[str, int]) -> Record:
        pick, right, printed = self._picked[row], self._answers[row], self._printed[row] or []
        picked = None if pick is None else numbers[pick]
        answer = _UNKNOWN if right is None else numbers[right]
        return Record(
            self._questions[row],
            variants,
            ordinal,
            self._kinds[row],
            tuple(numbers[text] for text in printed),
            picked if self._right[row] and picked is not None else answer,
            picked=picked,
            position=None if pick is None else printed.index(pick),
            ask=LETTER.name,
            **self._shared(row),
        )

    def _written(self, row: int, ordinal: int, variants: int) -> Record:
        return Record(
            self._questions[row],
            variants,
            ordinal,
            self._kinds[row],
            (),
            self._answers[row] or "",
            written=self._picked[row] if self._has_picks or self._skipped[row] else "",
            matches=self._right[row],
            ask=BOXED.name,
            **self._shared(row),
        )

    def _shared(self, row: int) -> dict[str, Any]:
        return {
            "category": self._categories[row] or "",
            "original": self._originals[row],
            "skipped": self._skipped[row],
        }

    def line(self, record: Record) -> dict[str, Any]:
        """The answer as a line of a samples file. The question is its id, and the response is the pick."""
        texts = self.texts(record)
        choices = tuple(texts.printed or ()) if record.printed else ()
        doc = {**vars(record), "question": record.question_id, "choices": choices}
        return {"doc": doc, "filtered_resps": [texts.picked or ""]}

    def texts(self, record: Record) -> Texts:
        """The texts of the row of a record."""
        row = self._order[self._starts[record.question_id] + record.ordinal]
        return Texts(self._variants[row], self._picked[row], self._answers[row], self._printed[row])
