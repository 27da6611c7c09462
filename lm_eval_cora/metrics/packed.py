"""Many records in little memory, because equal parts are stored once; and how they are grouped by question."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import combinations, combinations_with_replacement, groupby, islice, product
from math import nan
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.records import Record
from lm_eval_cora.variants.variant import REPEAT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Same = Callable[[str, str], "bool | None"]  # whether two written answers are equivalent; None if it is unknown
T = TypeVar("T")
_LARGEST = 2**31  # no variant has an ordinal like this; larger ones, of altered files, would not fit into a column
_OWN = ("question_id", "category", "cluster", "likelihoods")
_USUAL = {field.name: field.default for field in fields(Record) if field.init and field.name not in _OWN}
_SHARED = list(_USUAL)


class QuestionKey(NamedTuple):
    """What a record says about its question."""

    id: str
    category: str
    cluster: str


def unit_name(question: str, cluster: str) -> str:
    """The name of the unit to which a question belongs: its passage, which differs from all ids, or itself."""
    return f"\0{cluster}" if cluster else question


class _Distinct(Generic[T]):
    """Values of which many are equal: the different ones, made from their keys, and the code of each occurrence."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._codes: dict[tuple[Any, ...], int] = {}
        self._values: list[T] = []
        self.codes = array("i")

    def append(self, key: tuple[Any, ...]) -> None:
        self.codes.append(self.code(key))

    def code(self, key: tuple[Any, ...]) -> int:
        return self._codes.setdefault(key, len(self._codes))

    def extend(self, added: _Distinct[T]) -> None:
        codes = list(map(self.code, added._codes))
        self.codes.frombytes(np.array(codes, dtype=np.int32)[np.array(added.codes, dtype=np.int64)].tobytes())

    @property
    def values(self) -> list[T]:
        if len(self._values) < len(self._codes):
            self._values += map(self._make, islice(self._codes, len(self._values), None))
        return self._values


def _part(key: tuple[Any, ...]) -> Record:
    return Record(question_id="", **dict(zip(_SHARED, key, strict=True)))


class PackedRecords:
    """A sequence of records in 16 bytes each, beside the different questions and parts; each access makes a new one."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._questions: _Distinct[QuestionKey] = _Distinct(QuestionKey._make)
        self._parts: _Distinct[Record] = _Distinct(_part)
        self._known: dict[tuple[str, ...], dict[tuple[Any, ...], int]] = {}  # the parts of some columns
        self.likelihoods: list[bytes] = []
        for record in records:
            self.append(record)

    def append(self, record: Record) -> None:
        """Add a record."""
        values = vars(record)
        self._questions.append((values["question_id"], values["category"], values.get("cluster", "")))
        self._parts.append(tuple([values[name] for name in _SHARED]))
        self.likelihoods.append(values["likelihoods"])

    def add(self, question: QuestionKey, count: int, columns: Mapping[str, Iterable[Any]]) -> None:
        """Add the records of a question from columns; those that are not given have the values of a new Record."""
        self._questions.codes.extend([self._questions.code(question)] * count)
        names, keys = tuple(columns), [*zip(*columns.values(), strict=True)]
        known = self._known.setdefault(names, {})
        for key in dict.fromkeys(keys):
            if key not in known:
                given = {**_USUAL, **dict(zip(names, key, strict=True))}
                known[key] = self._parts.code(tuple([given[name] for name in _SHARED]))
        self._parts.codes.extend(map(known.__getitem__, keys))
        self.likelihoods += [b""] * count

    def extend(self, added: PackedRecords) -> None:
        """Add the records of another sequence."""
        self._questions.extend(added._questions)
        self._parts.extend(added._parts)
        self.likelihoods += added.likelihoods

    @property
    def questions(self) -> list[QuestionKey]:
        """The different questions; an id with several categories has several."""
        return self._questions.values

    @property
    def parts(self) -> list[Record]:
        """The different records without question, category and likelihoods."""
        return self._parts.values

    @property
    def codes(self) -> tuple[Ints, Ints]:
        """(R,) index in `questions` and in `parts` of each record."""
        return np.array(self._questions.codes, dtype=np.int64), np.array(self._parts.codes, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.likelihoods)

    def __getitem__(self, place: int) -> Record:
        question_id, category, cluster = self.questions[self._questions.codes[place]]
        record = Record.__new__(Record)  # half of the time of `copy`
        vars(record).update(
            vars(self.parts[self._parts.codes[place]]),
            question_id=question_id,
            category=category,
            **({"cluster": cluster} if cluster else {}),
            likelihoods=self.likelihoods[place],
        )
        return record

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self)))

    def key(self, place: int) -> tuple[str, int]:
        """Question id and ordinal of a record."""
        return self.questions[self._questions.codes[place]][0], self.parts[self._parts.codes[place]].ordinal

    def keys(self) -> set[tuple[str, int]]:
        """The question ids and ordinals of all records."""
        return {self.key(place) for place in range(len(self))}


def grouped(records: PackedRecords) -> tuple[Ints, tuple[str, ...], Ints, dict[str, Any]]:
    """(R,) places of the records of complete questions, sorted; N ids; (N,) sizes; and what was left out.

    Repeats of the original do not count as variants.
    """
    names = [str(question.id) for question in records.questions]
    ids = sorted(set(names))
    rank = {question_id: number for number, question_id in enumerate(ids)}
    columns = [
        (max(-1, min(one.ordinal, _LARGEST)), max(-1, min(one.variants, _LARGEST)), one.kind != REPEAT, not one.skipped)
        for one in records.parts
    ]
    question_code, part = records.codes
    question = np.array([rank[name] for name in names], dtype=np.int64)[question_code]
    ordinal, variants, counts, asks = np.array(columns, dtype=np.int64).reshape(-1, 4)[part].T
    order = np.lexsort((ordinal, question))  # stable, so the first record of a variant comes first
    order = order[counts[order] > 0]
    repeated = np.zeros(len(order), dtype=np.bool_)
    repeated[1:] = (np.diff(question[order]) == 0) & (np.diff(ordinal[order]) == 0)
    order = order[~repeated]
    question = question[order]
    sizes = np.bincount(question, minlength=len(ids))
    expected = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[question]
    fits = (ordinal[order] == expected) & (variants[order] == sizes[question])
    begun = np.bincount(question[asks[order] > 0], minlength=len(ids)) > 0
    complete = begun & (np.bincount(question[~fits], minlength=len(ids)) == 0)
    clusters = {str(question.id): question.cluster for question in records.questions}
    unasked = (ids[number] for number in np.flatnonzero(~begun))
    left_out = {
        "incomplete": int(begun.sum() - complete.sum()),
        "duplicates": int(repeated.sum()),
        "unasked": tuple(unit_name(question, clusters[question]) for question in unasked),
    }
    return order[complete[question]], tuple(ids[n] for n in np.flatnonzero(complete)), sizes[complete], left_out


def equal_prompts_of(records: PackedRecords, question_ids: Sequence[str]) -> tuple[Ints, Ints] | None:
    """Places of the originals and their repeats, by question, and (N,) their numbers; None without repeats."""
    if all(part.kind != REPEAT for part in records.parts):
        return None
    counts = np.array([(part.kind == REPEAT or part.original) and not part.skipped for part in records.parts])
    places: dict[str, dict[int, int]] = {question: {} for question in question_ids}
    for place in np.flatnonzero(counts[records.codes[1]]).tolist():
        question, ordinal = records.key(place)
        places.get(str(question), {}).setdefault(ordinal, place)
    rows = np.array([place for of_question in places.values() for place in of_question.values()], dtype=np.int64)
    return rows, np.array([*map(len, places.values())], dtype=np.int64)


def equivalent(records: PackedRecords, part: Ints, sizes: Ints, same: Same) -> tuple[Ints, Ints]:
    """Pairs of records with equivalent written answers, and pairs whose check ran out of time or memory."""
    pairs: dict[bool | None, list[tuple[int, int]]] = {True: [], None: []}
    if any(one.written is not None for one in records.parts):
        answers = [records.parts[code] for code in part.tolist()]
        written = [(number, answer.written) for number, answer in enumerate(answers) if answer.written is not None]
        pairs[None] += [(number, number) for number, _ in written if answers[number].matches is None]
        question = np.repeat(np.arange(len(sizes)), sizes).tolist()
        for _, members in groupby(written, key=lambda each: question[each[0]]):
            places: dict[str, list[int]] = {}
            for number, text in members:
                places.setdefault(text, []).append(number)
            for (one, first), (other, second) in combinations_with_replacement(places.items(), 2):
                if (verdict := same(one, other)) in pairs:
                    pairs[verdict] += combinations(first, 2) if one == other else product(first, second)
    return np.array(pairs[True], dtype=np.int64).reshape(-1, 2), np.array(pairs[None], dtype=np.int64).reshape(-1, 2)


def letters(likelihoods: Sequence[bytes]) -> NDArray[np.float32]:
    """(R, L) the log-likelihoods of each record, one row per record; nan behind the last printed letter."""
    sizes = np.fromiter(map(len, likelihoods), np.int64, len(likelihoods)) // 4
    columns = np.full((len(sizes), sizes.max(initial=0)), nan, dtype=np.float32)
    columns[np.arange(columns.shape[1]) < sizes[:, None]] = np.frombuffer(b"".join(likelihoods), dtype=np.float32)
    return columns
