"""Records -> ResponseTable: the answers of a task, regrouped by source question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import nan
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers import Answer
from lm_eval_cora.formats import FORMATS, Doc
from lm_eval_cora.hits import flatten
from lm_eval_cora.variants import Variant

INVALID = -1
"""What stands in `ResponseTable.picked` where a response named no option."""

NO_PICK = -2
"""What stands there where the letter of one option was not what was asked for."""

IDENTITIES = 64
"""Identities are below that: sets of them are sets of bits."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sets = NDArray[np.uint64]
"""Sets of identities: identity k is bit k. The largest in use is that of a 26th filler, 52."""


@dataclass
class Record(Variant, Answer):
    """A variant and the answer to it. It has no texts, which would fill the memory.

    Attributes:
        matches: Whether a written answer is equivalent to the reference; None if the comparison ran out of time or
            memory.
        skipped: Whether early stopping, or a budget, skipped it. It is then neither right nor invalid.
        followed: Whether the response follows the format, so that the strict reader can read it; None if unknown.
        excerpt: The beginning of an invalid response; it makes no difference between records.
        size: Number of bytes of an invalid response; nor does this.
    """

    matches: bool | None = field(default=None, kw_only=True)
    skipped: bool = field(default=False, kw_only=True)
    followed: bool | None = field(default=None, kw_only=True)
    excerpt: str = field(default="", compare=False, kw_only=True)
    size: int = field(default=0, compare=False, kw_only=True)

    @classmethod
    def of(cls, doc: Doc, answer: Answer, **more: Any) -> Record:
        """The Record of a variant.

        Args:
            doc: The variant as a mapping; keys that are not needed are ignored.
            answer: What the response says.
            **more: The attributes above.

        Example:
            >>> doc = {"question_id": "q1", "kind": "x", "ordinal": 1, "original": False, "variants": 8, "category": ""}
            >>> Record.of({**doc, "ask": "letter", "printed": [1, 0], "answer": 0}, Answer(picked=0)).correct
            True
        """
        return cls(
            doc["question_id"],
            doc["variants"],
            doc["ordinal"],
            doc["kind"],
            tuple(doc["printed"]),
            doc["answer"],
            category=doc["category"],
            original=doc["original"],
            ask=doc["ask"],
            **vars(answer),
            **more,
        )

    @property
    def correct(self) -> bool:
        """Whether the answer is right, by identity. An invalid one never is."""
        return FORMATS[self.ask].is_correct(self)

    @property
    def invalid(self) -> bool:
        """Whether the response says nothing that was asked for."""
        return not self.skipped and self.picked is None and self.selected is None and self.written is None


@dataclass(frozen=True, eq=False)
class ResponseTable:
    """All complete questions of a task as columns: N questions, R records, a question's records side by side.

    Questions are sorted by id and records by ordinal, so that a table does not depend on the order in which answers
    came in.

    Attributes:
        question_ids: N ids.
        categories: N categories.
        sizes: (N,) number of variants of each question, M_i.
        kinds: Names of the kinds.
        kind: (R,) index into `kinds`.
        picked: (R,) identity picked, or INVALID, or NO_PICK.
        position: (R,) where that option is printed, from 0; INVALID where none was picked.
        selected: (R,) the identities selected, empty where none were or a letter was asked for.
        answer: (R,) identity of the right option.
        correct: (R,) whether the answer was right.
        invalid: (R,) whether there was none.
        tied: (R,) whether another answer was exactly as likely.
        printed: (R,) the printed identities.
        options: (R,) number of printed options; equal ones count each.
        yes: (R,) log-likelihood of "yes", nan where it was not scored.
        no: (R,) log-likelihood of "no", nan where it was not scored.
        original: (R,) whether it is the question as its benchmark asks it.
        written: (R,) whether an answer of the model's own was asked for, and the model was asked.
        skipped: (R,) whether early stopping or a budget skipped it; it is then neither right nor invalid, and picks
            nothing.
        followed: (R,) 1 where the response follows the format, 0 where not, nan where that is unknown.
        pairs: (P, 2) the pairs of such answers to one question, as records, that are equivalent.
        ran_out: (S, 2) the pairs whose comparison ran out of time or memory; of a record with itself where it was the
            comparison with the reference.
        incomplete: Number of questions left out because variants are missing.
        duplicates: Number of records left out because their variant was there already.
        not_begun: Number of questions left out because none of their variants was asked.
    """

    question_ids: tuple[str, ...]
    categories: tuple[str, ...]
    sizes: Ints
    kinds: tuple[str, ...]
    kind: Ints
    picked: Ints
    position: Ints
    selected: Sets
    answer: Ints
    correct: Bools
    invalid: Bools
    tied: Bools
    printed: Sets
    options: Ints
    yes: Floats
    no: Floats
    original: Bools
    written: Bools
    skipped: Bools
    followed: Floats
    pairs: Ints
    ran_out: Ints
    incomplete: int = 0
    duplicates: int = 0
    not_begun: int = 0

    @classmethod
    def from_records(cls, records: Iterable[Record], same: Callable[[str, str], bool | None] = eq) -> ResponseTable:
        """Regroup records by question.

        Records may come in any order. A question counts only if all of its variants are there: a limit that cuts a
        question in two must not change what a metric means. Of two records of one variant the first counts.

        Args:
            records: Scored variants; may be empty.
            same: Whether two answers of the model's own are equivalent, None if that could not be found out.

        Returns:
            The table; it has no questions if none is complete.

        Example:
            >>> record = Record("q1", 2, 0, "original", printed=(0, 1), answer=0, picked=0)
            >>> table = ResponseTable.from_records([record])
            >>> len(table.question_ids), table.incomplete
            (0, 1)
        """
        groups: dict[str, dict[int, Record]] = {}
        duplicates = 0
        for record in records:
            group = groups.setdefault(str(record.question_id), {})
            if record.ordinal in group:
                duplicates += 1
            else:
                group[record.ordinal] = record
        begun = {key: group for key, group in groups.items() if not all(record.skipped for record in group.values())}
        complete = {key: group for key, group in begun.items() if _is_complete(group)}
        ids = tuple(sorted(complete))
        rows = [complete[key][ordinal] for key in ids for ordinal in range(len(complete[key]))]
        kinds = tuple(dict.fromkeys(record.kind for record in rows))
        codes = {kind: code for code, kind in enumerate(kinds)}
        sizes = np.array([len(complete[key]) for key in ids], dtype=np.int64)
        pairs, ran_out = _compare(rows, np.cumsum(sizes).tolist(), same)
        return cls(
            question_ids=ids,
            categories=tuple(complete[key][0].category for key in ids),
            sizes=sizes,
            kinds=kinds,
            kind=np.array([codes[record.kind] for record in rows], dtype=np.int64),
            picked=np.array([_pick(record) for record in rows], dtype=np.int64),
            position=np.array([INVALID if r.position is None else r.position for r in rows], dtype=np.int64),
            selected=np.array([_bit_set(record.selected or ()) for record in rows], dtype=np.uint64),
            answer=np.array([0 if isinstance(r.answer, str) else r.answer for r in rows], dtype=np.int64),
            correct=np.array([record.correct for record in rows], dtype=np.bool_),
            invalid=np.array([record.invalid for record in rows], dtype=np.bool_),
            tied=np.array([record.tied for record in rows], dtype=np.bool_),
            printed=np.array([_bit_set(record.printed) for record in rows], dtype=np.uint64),
            options=np.array([len(record.printed) for record in rows], dtype=np.int64),
            yes=np.array([nan if record.yes is None else record.yes for record in rows], dtype=np.float64),
            no=np.array([nan if record.no is None else record.no for record in rows], dtype=np.float64),
            original=np.array([record.original for record in rows], dtype=np.bool_),
            written=np.array([FORMATS[record.ask].is_open and not record.skipped for record in rows], dtype=np.bool_),
            skipped=np.array([record.skipped for record in rows], dtype=np.bool_),
            followed=np.array([nan if r.followed is None else r.followed for r in rows], dtype=np.float64),
            pairs=pairs,
            ran_out=ran_out,
            incomplete=len(begun) - len(complete),
            duplicates=duplicates,
            not_begun=len(groups) - len(begun),
        )

    @classmethod
    def from_columns(cls, question_ids: Sequence[str], sizes: Ints, correct: Bools, **columns: Any) -> ResponseTable:
        """Make a table from columns, sorted by question and within a question by variant.

        Args:
            question_ids: N ids.
            sizes: (N,) number of variants of each question.
            correct: (R,) whether each answer is right.
            **columns: Other attributes of the table. Without them there is one kind, no original and no pick.

        Returns:
            The table.

        Example:
            >>> ResponseTable.from_columns(["q1"], np.array([2]), np.array([True, False])).hits
            array([1])
        """
        shape = len(correct)
        unknown = np.full(shape, nan)
        neutral = {
            "categories": ("",) * len(sizes),
            "kinds": ("variant",),
            **dict.fromkeys(("kind", "answer", "options"), np.zeros(shape, dtype=np.int64)),
            "picked": np.full(shape, NO_PICK, dtype=np.int64),
            "position": np.full(shape, INVALID, dtype=np.int64),
            **dict.fromkeys(("selected", "printed"), np.zeros(shape, dtype=np.uint64)),
            **dict.fromkeys(("invalid", "tied", "original", "written", "skipped"), np.zeros(shape, dtype=np.bool_)),
            **dict.fromkeys(("yes", "no", "followed"), unknown),
            **dict.fromkeys(("pairs", "ran_out"), np.zeros((0, 2), dtype=np.int64)),
        }
        return cls(question_ids=tuple(question_ids), sizes=sizes, correct=correct, **{**neutral, **columns})

    @classmethod
    def from_hits(cls, hits: Any, *, original: int | None = 0) -> ResponseTable:
        """Make a table from right and wrong alone: option 0 is right, option 1 was picked where it is wrong.

        Args:
            hits: Array of shape (N, M), or N rows of different lengths: True or 1 for a right answer, False or 0 for a
                wrong one, NaN or None for a skipped variant. A question with skipped variants only is left out.
            original: Place of the original among the variants of each question, from 0; None if there is none.

        Returns:
            A table for metrics of correctness only.

        Raises:
            ValueError: If a value is not one of these, the shape is wrong, or a question has no such original.

        Example:
            >>> ResponseTable.from_hits([[1, 0, 1], [0, 0]]).hits
            array([2, 0])
        """
        values, sizes = flatten(hits)
        ordinal = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if original is not None and not (0 <= original < sizes.min(initial=original + 1)):
            shortest = int(sizes.argmin())
            raise ValueError(
                f"original: expected the place of a variant that each question has, got {original}; question "
                f"{shortest} has {sizes[shortest]} variants. Pass original=None if there is no original"
            )
        skipped = np.isnan(values)
        right = values == 1
        first = ordinal == (-1 if original is None else original)
        table = cls.from_columns(
            [f"{number:09d}" for number in range(len(sizes))],
            sizes,
            right,
            kinds=("original", "variant"),
            kind=(~first).astype(np.int64),
            original=first,
            skipped=skipped,
            picked=np.where(skipped, NO_PICK, ~right).astype(np.int64),
            position=np.where(skipped, INVALID, ~right).astype(np.int64),
            printed=np.full(len(values), 0b11, dtype=np.uint64),
            options=np.full(len(values), 2, dtype=np.int64),
            followed=np.where(skipped, nan, 1.0),
        )
        begun = table.any_by_question(~skipped)
        return table if begun.all() else replace(table.where(begun[table.question]), not_begun=int((~begun).sum()))

    @cached_property
    def question(self) -> Ints:
        """(R,) index of each record's question."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def sum_by_question(self, values: Bools | Floats) -> Floats:
        """Sum one value per record, (R,), within each question: (N,)."""
        return np.bincount(self.question, weights=values, minlength=len(self.sizes)).astype(np.float64)

    @cached_property
    def hits(self) -> Ints:
        """(N,) number of correct answers to each question, K_i."""
        return self.sum_by_question(self.correct).astype(np.int64)

    def any_by_question(self, values: Bools) -> Bools:
        """Whether one of a question's records has a value, (R,): (N,)."""
        found: Bools = np.bincount(self.question[values], minlength=len(self.sizes)) > 0
        return found

    def is_kind(self, *kinds: str) -> Bools:
        """(R,) whether each record is of one of these kinds.

        Example:
            >>> ResponseTable.from_hits([[1, 0]]).is_kind("original")
            array([ True, False])
        """
        wanted = np.array([kind in kinds for kind in self.kinds], dtype=np.bool_)
        found: Bools = wanted[self.kind]
        return found

    @cached_property
    def original_correct(self) -> Bools | None:
        """(N,) whether the original was answered correctly, or None without questions or if one has no original."""
        if not len(self.sizes) or not (self.sum_by_question(self.original) == 1).all():
            return None
        return self.sum_by_question(self.original & self.correct) > 0

    @cached_property
    def alike(self) -> Ints:
        """(R,) how many answers to the question are the same as this one, itself included; 0 if it is invalid."""
        valid = self.picked >= 0
        alike = np.zeros(len(self.picked), dtype=np.int64)
        # One number for a question and an identity.
        _, group, counts = np.unique(
            self.question[valid] * IDENTITIES + self.picked[valid], return_inverse=True, return_counts=True
        )
        alike[valid] = counts[group]
        return alike + (self.written & ~self.invalid) + np.bincount(self.pairs.ravel(), minlength=len(alike))

    @property
    def answers(self) -> int:
        """How many of the R variants were asked."""
        return int((~self.skipped).sum())

    @property
    def is_whole(self) -> bool:
        """Whether all of them were."""
        return not self.skipped.any()

    def where(self, kept: Bools) -> ResponseTable:
        """The table of some of the records, (R,); a question without any is gone.

        Example:
            >>> table = ResponseTable.from_hits([[1, 0, 1], [0, 0]])
            >>> table.where(table.correct).sizes
            array([2])
        """
        sizes = np.bincount(self.question[kept], minlength=len(self.sizes))
        left = np.flatnonzero(sizes)
        codes, kind = np.unique(self.kind[kept], return_inverse=True)
        moved = np.cumsum(kept) - 1
        return replace(
            self,
            question_ids=tuple(self.question_ids[number] for number in left),
            categories=tuple(self.categories[number] for number in left),
            sizes=sizes[left],
            kinds=tuple(self.kinds[code] for code in codes),
            kind=kind.reshape(-1),
            pairs=moved[self.pairs[kept[self.pairs].all(axis=1)]],
            ran_out=moved[self.ran_out[kept[self.ran_out].all(axis=1)]],
            **{column: getattr(self, column)[kept] for column in _COLUMNS},
        )


_COLUMNS = (
    *("picked", "position", "selected", "answer", "correct", "invalid", "tied", "printed", "options", "yes", "no"),
    *("original", "written", "skipped", "followed"),
)
"""The columns of a ResponseTable with a value per record that stays what it is without the others."""


def _compare(rows: Sequence[Record], ends: Sequence[int], same: Callable[[str, str], bool | None]) -> tuple[Ints, Ints]:
    """The pairs of equivalent answers of the models' own, and those whose comparison ran out."""
    pairs = []
    ran_out = [(n, n) for n, row in enumerate(rows) if row.written is not None and row.matches is None]
    for start, end in zip([0, *ends], ends, strict=False):
        written = [(number, text) for number in range(start, end) if (text := rows[number].written) is not None]
        for (first, one), (second, other) in combinations(written, 2):
            verdict = same(one, other)
            if verdict is None:
                ran_out.append((first, second))
            elif verdict:
                pairs.append((first, second))
    of_two = (-1, 2)
    return np.array(pairs, dtype=np.int64).reshape(of_two), np.array(ran_out, dtype=np.int64).reshape(of_two)


def _pick(record: Record) -> int:
    if record.skipped or not FORMATS[record.ask].picks_one:
        return NO_PICK
    return INVALID if record.picked is None else record.picked


def contains(sets: Sets, identities: Ints) -> Bools:
    """Whether each set holds the identity beside it; INVALID and NO_PICK are in none.

    Example:
        >>> contains(np.array([0b101, 0b101, 0b101], dtype=np.uint64), np.array([2, 1, INVALID]))
        array([ True, False, False])
    """
    bits = np.left_shift(np.uint64(1), np.maximum(identities, 0).astype(np.uint64))
    inside: Bools = ((sets & bits) != 0) & (identities >= 0)
    return inside


def _is_complete(group: dict[int, Record]) -> bool:
    return all(record.variants == len(group) and 0 <= ordinal < len(group) for ordinal, record in group.items())


@lru_cache(maxsize=4096)
def _bit_set(identities: tuple[int, ...]) -> int:
    return sum(1 << identity for identity in set(identities))
