"""Answers of a table or file as records and lines, as a samples file of the harness has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby, pairwise
from typing import Any, NamedTuple, overload

from lm_eval_cora.answer_rows import AnswerRows
from lm_eval_cora.formats import BOXED, LETTER
from lm_eval_cora.question import MAX_OPTIONS
from lm_eval_cora.records import Record

_NO_PICK = "(the file has no pick)"
"""Stands for the response in a line without a pick."""

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
    printed: tuple[str, ...] | None


class AnswerRecords(Sequence[Record]):
    """The answers of a file, one Record per row, sorted by question and variant.

    The records are made when they are used, because those of a large file fill the memory. A pick from printed options
    has the identities of the options. Any other answer is a written one, which is empty if the file has no picks.
    """

    def __init__(self, rows: AnswerRows) -> None:
        """Keep the texts of the answers, each different one once."""
        columns, order = rows.columns, rows.order
        kept: dict[Any, Any] = {}

        def column(values: Iterable[Any]) -> list[Any]:
            found = [kept.setdefault(value, value) for value in values]
            return [found[row] for row in order.tolist()]

        def texts(name: str) -> list[Any]:
            return column(columns.texts_or_none(name) if columns.has(name) else [None] * len(order))

        variants = column(columns.texts("variant"))
        lists = columns.lists("printed") if columns.has("printed") else [None] * len(order)
        printed = (None if one is None else tuple(kept.setdefault(text, text) for text in one) for one in lists)
        self._variants = variants
        self._kinds = column(columns.texts("kind")) if columns.has("kind") else variants
        self._categories, self._picked, self._answers = texts("category"), texts("picked"), texts("answer")
        self._printed = column(printed)
        self._has_picks = columns.has("picked")
        self._right, self._skipped = rows.right[order], rows.skipped[order]
        self._original = None if rows.original is None else rows.original[order]
        self._description: dict[str, list[Any] | None] = {
            "original": self._original.tolist() if self._original is not None and columns.has("original") else None,
            "answer": self._answers if columns.has("answer") else None,
            "kind": self._kinds if columns.has("kind") else None,
            "category": self._categories if columns.has("category") else None,
            "printed": None if None in self._printed else self._printed,
        }
        questions = column(columns.texts("question"))
        starts = [places[0] for _, group in groupby(range(len(order)), questions.__getitem__) if (places := [*group])]
        self._places = {questions[start]: range(start, end) for start, end in pairwise([*starts, len(order)])}

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._variants)

    def __iter__(self) -> Iterator[Record]:
        """All records."""
        for question in self._places:
            yield from self.of(question)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        """The record of a row."""
        return list(self)[place]

    def of(self, question: str) -> list[Record]:
        """The records of a question, in the order of its variants."""
        places = self._places[question]
        known = [printed for place in places if (printed := self._printed[place]) is not None]
        has_options = self._has_picks and all(
            self._printed[place] is not None or self._skipped[place] for place in places
        )
        if not has_options or max(map(len, known), default=0) > MAX_OPTIONS:
            return [self._written(question, place) for place in places]
        answers = filter(None, (self._answers[place] for place in places))
        texts = dict.fromkeys([*(text for printed in known for text in printed), *answers])
        numbers = {text: number for number, text in enumerate(texts)}
        return [self._chosen(question, place, numbers) for place in places]

    def _chosen(self, question: str, place: int, numbers: Mapping[str, int]) -> Record:
        pick, right, printed = self._picked[place], self._answers[place], self._printed[place] or ()
        picked = None if pick is None else numbers[pick]
        answer = picked if self._right[place] else None if right is None else numbers[right]
        return self._record(
            question,
            place,
            tuple(numbers[text] for text in printed),
            _UNKNOWN if answer is None else answer,
            picked=picked,
            position=None if pick is None else printed.index(pick),
            ask=LETTER.name,
        )

    def _written(self, question: str, place: int) -> Record:
        return self._record(
            question,
            place,
            (),
            self._answers[place] or "",
            written=self._picked[place] if self._has_picks or self._skipped[place] else "",
            matches=bool(self._right[place]),
            ask=BOXED.name,
        )

    def _record(self, question: str, place: int, printed: tuple[int, ...], answer: int | str, **more: Any) -> Record:
        places = self._places[question]
        return Record(
            question,
            len(places),
            place - places.start,
            self._kinds[place],
            printed,
            answer,
            category=self._categories[place] or "",
            original=self._original is not None and bool(self._original[place]),
            skipped=bool(self._skipped[place]),
            **more,
        )

    def texts(self, record: Record) -> Texts:
        """The texts of the row of a record."""
        place = self._places[record.question_id].start + record.ordinal
        return Texts(
            self._variants[place],
            self._picked[place],
            self._answers[place],
            self._printed[place],
        )

    def line(self, record: Record) -> dict[str, Any]:
        """The answer as a line of a samples file. The question is its id, and the response is the pick."""
        texts = self.texts(record)
        choices = (texts.printed or ()) if record.printed else ()
        doc = {**vars(record), "question": record.question_id, "choices": choices}
        return {"doc": doc, "filtered_resps": [_NO_PICK if texts.picked is None else texts.picked]}

    @property
    def described(self) -> tuple[str, ...]:
        """The columns that describe what was asked, beside question and variant, as far as every row has them."""
        return tuple(name for name, values in self._description.items() if values is not None)

    def asked(self) -> dict[str, str]:
        """For each question a digest of its variants, their options and the right answers."""
        rows = list(zip(self._variants, *filter(None, self._description.values()), strict=True))
        return {
            question: sha256(repr(rows[places.start : places.stop]).encode()).hexdigest()[:16]
            for question, places in self._places.items()
        }

    def are_balanced(self) -> bool:
        """Whether each option of each question is printed equally often at each letter."""
        return all(map(self._is_balanced, self._places.values()))

    def _is_balanced(self, places: range) -> bool:
        found: Counter[tuple[int, str]] = Counter()
        for place in places:
            found.update(enumerate(self._printed[place] or ()))
        letters = len({place for place, _ in found})
        return len(set(found.values())) == 1 and len(found) == letters**2 <= MAX_OPTIONS**2
