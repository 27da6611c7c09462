"""Many records in little memory, because equal parts are stored once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.records import Record

Codes = NDArray[np.int64]

T = TypeVar("T")

_OWN = ("question_id", "category", "cluster", "likelihoods")
_SHARED = [field.name for field in fields(Record) if field.init and field.name not in _OWN]


class QuestionKey(NamedTuple):
    """What a record says about its question."""

    id: str
    category: str
    cluster: str


class _Distinct(Generic[T]):
    """Values of which many are equal: the different ones, made from their keys, and the code of each occurrence."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._codes: dict[tuple[Any, ...], int] = {}
        self._values: list[T] = []
        self.codes = array("i")

    def append(self, key: tuple[Any, ...]) -> None:
        self.codes.append(self._codes.setdefault(key, len(self._codes)))

    def extend(self, added: _Distinct[T]) -> None:
        codes = [self._codes.setdefault(key, len(self._codes)) for key in added._codes]
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
        self.likelihoods: list[bytes] = []
        for record in records:
            self.append(record)

    def append(self, record: Record) -> None:
        """Add a record."""
        values = vars(record)
        self._questions.append((values["question_id"], values["category"], values.get("cluster", "")))
        self._parts.append(tuple([values[name] for name in _SHARED]))
        self.likelihoods.append(values["likelihoods"])

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
    def codes(self) -> tuple[Codes, Codes]:
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
