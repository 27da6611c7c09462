"""Many records in little memory, because equal parts are stored once; and their order in a table."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.records import Record

Codes = NDArray[np.int64]

_LARGEST = 2**31


class Asked(NamedTuple):
    """The part of a record that many questions share: how a variant was asked."""

    variants: int
    ordinal: int
    kind: str
    printed: tuple[int, ...]
    answer: int | str
    original: bool
    ask: str


_ANSWER = (
    *("picked", "position", "reason", "tied", "selected", "yes", "no", "written", "settled", "matches", "skipped"),
    *("followed", "excerpt", "cut_off", "opened", "came", "rule"),
)
"""The attributes of a record that describe the answer."""


class PackedRecords(Sequence[Record]):
    """A sequence of records in 20 bytes each, beside the different questions, variants and answers.

    Each access makes a new Record. Log-likelihoods of letters differ between answers, so they are stored beside them.

    Attributes:
        questions: Id and category of each question; an id with several categories has several.
        asked: The different ways in which variants were asked.
        answers: The different answers, as attributes of a Record.
        likelihoods: The log-likelihoods of the letters of each record.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.questions: list[tuple[str, str]] = []
        self.asked: list[Asked] = []
        self.answers: list[dict[str, Any]] = []
        self.likelihoods: list[bytes] = []
        self._known: tuple[dict[Any, int], dict[Any, int], dict[Any, int]] = ({}, {}, {})
        self._codes = (array("i"), array("i"), array("i"))
        for record in records:
            self.append(record)

    def append(self, record: Record) -> None:
        """Add a record."""
        own = vars(record)
        questions, asked, answers = self._known
        key = (own["question_id"], own["category"])
        if (question := questions.get(key)) is None:
            question = self._add_question(key)
        how = (
            *(own["variants"], own["ordinal"], own["kind"], own["printed"], own["answer"], own["original"]),
            own["ask"],
        )
        if (variant := asked.get(how)) is None:
            variant = self._add_asked(how)
        said = tuple([own[name] for name in _ANSWER])
        if (answer := answers.get(said)) is None:
            answer = self._add_answer(said)
        for codes, code in zip(self._codes, (question, variant, answer), strict=True):
            codes.append(code)
        self.likelihoods.append(own["likelihoods"])

    def _add_question(self, key: tuple[str, str]) -> int:
        self.questions.append(key)
        return self._known[0].setdefault(key, len(self._known[0]))

    def _add_asked(self, key: tuple[Any, ...]) -> int:
        self.asked.append(Asked(*key))
        return self._known[1].setdefault(key, len(self._known[1]))

    def _add_answer(self, key: tuple[Any, ...]) -> int:
        self.answers.append(dict(zip(_ANSWER, key, strict=True)))
        return self._known[2].setdefault(key, len(self._known[2]))

    def extend(self, other: PackedRecords) -> None:
        """Add the records of another sequence."""
        adding = (self._add_question, self._add_asked, self._add_answer)
        for known, add, codes, theirs, added in zip(
            self._known, adding, self._codes, other._known, other._codes, strict=True
        ):
            new = [add(key) if (code := known.get(key)) is None else code for key in theirs]
            codes.frombytes(np.array(new, dtype=np.int32)[np.array(added, dtype=np.int64)].tobytes())
        self.likelihoods += other.likelihoods

    def __len__(self) -> int:
        return len(self._codes[0])

    @overload
    def __getitem__(self, place: int) -> Record: ...

    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...

    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        question, asked, answer = (codes[place] for codes in self._codes)
        return self._record(question, asked, answer, self.likelihoods[place])

    def __iter__(self) -> Iterator[Record]:
        return map(self._record, *self._codes, self.likelihoods)

    def _record(self, question: int, asked: int, answer: int, likelihoods: bytes) -> Record:
        question_id, category = self.questions[question]
        variants, ordinal, kind, printed, right, original, ask = self.asked[asked]
        return Record(
            *(question_id, variants, ordinal, kind, printed, right),
            category=category,
            original=original,
            ask=ask,
            likelihoods=likelihoods,
            **self.answers[answer],
        )

    @property
    def codes(self) -> tuple[Codes, Codes, Codes]:
        """(R,) index in `questions`, in `asked` and in `answers` of each record."""
        question, asked, answer = (np.array(codes, dtype=np.int64) for codes in self._codes)
        return question, asked, answer

    def key(self, place: int) -> tuple[str, int]:
        """Question id and ordinal of a record."""
        question, asked, _ = self._codes
        return self.questions[question[place]][0], self.asked[asked[place]].ordinal

    def keys(self) -> set[tuple[str, int]]:
        """The question ids and ordinals of all records."""
        return {self.key(place) for place in range(len(self))}


class Grouped(NamedTuple):
    """The records of complete questions, sorted by question and ordinal.

    Attributes:
        rows: (R,) place of each record in the sequence.
        ids: The N ids of the questions.
        sizes: (N,) number of variants of each question.
        incomplete: Number of questions left out because variants are missing.
        duplicates: Number of records left out because their variant already has one.
        not_begun: Number of questions left out because all their variants were skipped.
    """

    rows: Codes
    ids: tuple[str, ...]
    sizes: Codes
    incomplete: int
    duplicates: int
    not_begun: int


def grouped(records: PackedRecords) -> Grouped:
    """Sort records by question and ordinal, and leave out incomplete questions and repeated variants."""
    question_code, asked_code, answer_code = records.codes
    ids = sorted({str(question_id) for question_id, _ in records.questions})
    rank = {question_id: number for number, question_id in enumerate(ids)}
    question = _each((rank[str(question_id)] for question_id, _ in records.questions), question_code)
    places = {ordinal: place for place, ordinal in enumerate(sorted({one.ordinal for one in records.asked}))}
    ordinal = _each((places[one.ordinal] for one in records.asked), asked_code)
    order = np.lexsort((ordinal, question))  # stable, so the first record of a variant comes first
    repeated = np.zeros(len(order), dtype=np.bool_)
    repeated[1:] = (np.diff(question[order]) == 0) & (np.diff(ordinal[order]) == 0)
    order = order[~repeated]
    question, asked_code, answer_code = question[order], asked_code[order], answer_code[order]
    sizes = np.bincount(question, minlength=len(ids))
    expected = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[question]
    fits = (_each((_small(one.ordinal) for one in records.asked), asked_code) == expected) & (
        _each((_small(one.variants) for one in records.asked), asked_code) == sizes[question]
    )
    asks = _each((not answer["skipped"] for answer in records.answers), answer_code) > 0
    begun = np.bincount(question[asks], minlength=len(ids)) > 0
    complete = begun & (np.bincount(question[~fits], minlength=len(ids)) == 0)
    return Grouped(
        rows=order[complete[question]],
        ids=tuple(ids[number] for number in np.flatnonzero(complete)),
        sizes=sizes[complete],
        incomplete=int(begun.sum() - complete.sum()),
        duplicates=int(repeated.sum()),
        not_begun=int((~begun).sum()),
    )


def _each(values: Iterable[int], codes: Codes) -> Codes:
    """(R,) the value of each code."""
    return np.fromiter(values, dtype=np.int64)[codes]


def _small(number: int) -> int:
    """A number that fits into a column; -1 for one that cannot be an ordinal."""
    return number if 0 <= number < _LARGEST else -1
