"""Records -> ResponseTable: the answers of a task, grouped by source question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import nan
from operator import eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.hits import flatten
from lm_eval_cora.metrics.packed import PackedRecords, grouped

INVALID = -1
"""Value of `ResponseTable.picked` for an answer that picks no option."""

NO_PICK = -2
"""Value of `ResponseTable.picked` for a variant that was skipped, or that does not ask for one option."""

IDENTITIES = 64
"""Number of identities. A set of identities is stored as the bits of a 64-bit integer."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sets = NDArray[np.uint64]
"""Sets of identities: identity k is bit k. The largest identity in use is 52, a 26th filler."""


@dataclass(frozen=True, eq=False)
class ResponseTable:
    """The answers to all complete questions of a task as columns: N questions, R records in the order of the questions.

    Questions are sorted by id, and the records of a question by ordinal, so the order in which answers arrive does not
    matter.

    Attributes:
        question_ids: N ids.
        categories: N categories.
        sizes: (N,) number of variants of each question, M_i.
        kinds: Names of the kinds of variants.
        kind: (R,) index into `kinds`.
        picked: (R,) identity of the picked option, or INVALID, or NO_PICK.
        position: (R,) position at which this option is printed, from 0; INVALID if none is picked.
        selected: (R,) set of the selected identities; empty unless the variant asks for several options or yes or no.
        answer: (R,) identity of the right option.
        correct: (R,) whether the answer is right.
        invalid: (R,) whether the response has no valid answer.
        tied: (R,) whether another answer was exactly as likely.
        printed: (R,) set of the printed identities.
        options: (R,) number of printed options; equal options count separately.
        yes: (R,) log-likelihood of "yes"; nan if it was not scored.
        no: (R,) log-likelihood of "no"; nan if it was not scored.
        likelihoods: (R, L) log-likelihoods of the printed letters in the order probe, with 32 bits each; nan for
            letters that are not printed or not scored. L is 0 if no record has any.
        original: (R,) whether the variant is the question as in its benchmark.
        written: (R,) whether the variant was asked and has no options, so that the model writes its own answer.
        skipped: (R,) whether early stopping or a budget skipped the variant. It is then neither right nor invalid, and
            picks nothing.
        followed: (R,) 1 if the response is in the requested format, 0 if not, nan if unknown.
        pairs: (P, 2) pairs of records of one question whose written answers are equivalent.
        ran_out: (S, 2) pairs of records whose equivalence check ran out of time or memory. A check against the
            reference is a pair of a record with itself.
        incomplete: Number of questions left out because variants are missing.
        duplicates: Number of records left out because their variant already has one.
        not_begun: Number of questions left out because all their variants were skipped.
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
    likelihoods: NDArray[np.float32]
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
        """Group records by question.

        Records may come in any order. Only questions with all their variants count, because a limit that cuts a
        question must not change the meaning of a metric. If a variant has two records, the first one counts.
        """
        return cls.from_packed(PackedRecords(records), same)[0]

    @classmethod
    def from_packed(
        cls, records: PackedRecords, same: Callable[[str, str], bool | None] = eq
    ) -> tuple[ResponseTable, Ints]:
        """Group records by question, as `from_records` does."""
        found = grouped(records)
        question, asked, answer = (codes[found.rows] for codes in records.codes)
        # Compute each column once per pair of a variant and an answer.
        _, first, pair = np.unique(
            asked * max(1, len(records.answers)) + answer, return_index=True, return_inverse=True
        )
        pair = pair.reshape(-1)
        parts = [records[place] for place in found.rows[first].tolist()]

        def column(values: Iterable[Any], kind: type[np.generic] | type[bool]) -> NDArray[Any]:
            return np.array(list(values), dtype=kind)[pair]

        codes = {kind: code for code, kind in enumerate(dict.fromkeys(part.kind for part in parts))}
        kinds, begins, kind = np.unique(
            column((codes[part.kind] for part in parts), np.int64), return_index=True, return_inverse=True
        )
        by_place = np.argsort(begins)
        names = list(codes)
        written = [part.written for part in parts]
        pairs, ran_out = _no_pairs(), _no_pairs()
        if any(text is not None for text in written):
            undecided = column((part.written is not None and part.matches is None for part in parts), np.bool_)
            pairs, ran_out = _compare([written[n] for n in pair.tolist()], np.cumsum(found.sizes).tolist(), same)
            alone = np.repeat(np.flatnonzero(undecided)[:, None], 2, axis=1)
            ran_out = np.concatenate([alone, ran_out])
        starts = np.cumsum(found.sizes) - found.sizes
        table = cls(
            question_ids=found.ids,
            categories=tuple(records.questions[code][1] for code in question[starts].tolist()),
            sizes=found.sizes,
            kinds=tuple(names[code] for code in kinds[by_place].tolist()),
            kind=np.argsort(by_place)[kind.reshape(-1)].astype(np.int64),
            picked=column(map(_pick, parts), np.int64),
            position=column((INVALID if r.position is None else r.position for r in parts), np.int64),
            selected=column((_bit_set(part.selected or ()) for part in parts), np.uint64),
            answer=column((0 if isinstance(part.answer, str) else part.answer for part in parts), np.int64),
            correct=column((part.correct for part in parts), np.bool_),
            invalid=column((part.invalid for part in parts), np.bool_),
            tied=column((part.tied for part in parts), np.bool_),
            printed=column((_bit_set(part.printed) for part in parts), np.uint64),
            options=column((len(part.printed) for part in parts), np.int64),
            yes=column((nan if part.yes is None else part.yes for part in parts), np.float64),
            no=column((nan if part.no is None else part.no for part in parts), np.float64),
            likelihoods=_letters([records.likelihoods[place] for place in found.rows.tolist()]),
            original=column((part.original for part in parts), np.bool_),
            written=column((FORMATS[part.ask].is_open and not part.skipped for part in parts), np.bool_),
            skipped=column((part.skipped for part in parts), np.bool_),
            followed=column((nan if part.followed is None else part.followed for part in parts), np.float64),
            pairs=pairs,
            ran_out=ran_out,
            incomplete=found.incomplete,
            duplicates=found.duplicates,
            not_begun=found.not_begun,
        )
        return table, found.rows

    @classmethod
    def from_columns(cls, question_ids: Sequence[str], sizes: Ints, correct: Bools, **columns: Any) -> ResponseTable:
        """Make a table from columns that are sorted by question, and by variant within a question."""
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
            "likelihoods": np.zeros((shape, 0), dtype=np.float32),
            **dict.fromkeys(("pairs", "ran_out"), np.zeros((0, 2), dtype=np.int64)),
        }
        return cls(question_ids=tuple(question_ids), sizes=sizes, correct=correct, **{**neutral, **columns})

    @classmethod
    def from_hits(cls, hits: Any, *, original: int | None = 0) -> ResponseTable:
        """Make a table from right and wrong answers.

        Each variant prints two options: 0 is right, and a wrong answer picks 1.
        """
        values, sizes = flatten(hits)
        ordinal = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        if original is not None and not _is_position(original, sizes):
            shortest = int(sizes.argmin())
            raise ValueError(
                f"original: expected the position of a variant that each question has, got {original}, but question "
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
        return replace(table.where(begun[table.question]), not_begun=int((~begun).sum()))

    @cached_property
    def question(self) -> Ints:
        """(R,) index of the question of each record."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def sum_by_question(self, values: Bools | Floats) -> Floats:
        """(N,) sums within each question of one value per record, (R,)."""
        return np.bincount(self.question, weights=values, minlength=len(self.sizes)).astype(np.float64)

    @cached_property
    def hits(self) -> Ints:
        """(N,) number of correct answers to each question, K_i."""
        return self.sum_by_question(self.correct).astype(np.int64)

    def any_by_question(self, values: Bools) -> Bools:
        """(N,) whether a value, (R,), is true for any record of each question."""
        found: Bools = np.bincount(self.question[values], minlength=len(self.sizes)) > 0
        return found

    def is_kind(self, *kinds: str) -> Bools:
        """(R,) whether each record has one of these kinds."""
        wanted = np.array([kind in kinds for kind in self.kinds], dtype=np.bool_)
        found: Bools = wanted[self.kind]
        return found

    @cached_property
    def original_correct(self) -> Bools | None:
        """(N,) whether the original is answered correctly; None without questions, or if a question has no original."""
        if not len(self.sizes) or not (self.sum_by_question(self.original) == 1).all():
            return None
        return self.sum_by_question(self.original & self.correct) > 0

    @cached_property
    def alike(self) -> Ints:
        """(R,) number of answers to the same question that equal this one, including itself; 0 if it is invalid."""
        valid = self.picked >= 0
        alike = np.zeros(len(self.picked), dtype=np.int64)
        # Each pair of a question and an identity becomes one number.
        _, group, counts = np.unique(
            self.question[valid] * IDENTITIES + self.picked[valid], return_inverse=True, return_counts=True
        )
        alike[valid] = counts[group]
        return alike + (self.written & ~self.invalid) + np.bincount(self.pairs.ravel(), minlength=len(alike))

    @property
    def answers(self) -> int:
        """Number of variants that were not skipped."""
        return int((~self.skipped).sum())

    @property
    def is_whole(self) -> bool:
        """Whether no variant was skipped."""
        return not self.skipped.any()

    def where(self, kept: Bools) -> ResponseTable:
        """The table of a subset of the records, given by (R,) booleans. Questions without records are removed."""
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
    *("likelihoods", "original", "written", "skipped", "followed"),
)
"""Columns of a ResponseTable whose values do not change if other records are removed."""


def _compare(
    texts: Sequence[str | None], ends: Sequence[int], same: Callable[[str, str], bool | None]
) -> tuple[Ints, Ints]:
    """Pairs of records with equivalent written answers, and pairs whose check ran out of time or memory."""
    pairs, ran_out = [], []
    for start, end in zip([0, *ends], ends, strict=False):
        written = [(number, text) for number in range(start, end) if (text := texts[number]) is not None]
        for (first, one), (second, other) in combinations(written, 2):
            verdict = same(one, other)
            if verdict is None:
                ran_out.append((first, second))
            elif verdict:
                pairs.append((first, second))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(ran_out, dtype=np.int64).reshape(-1, 2)


def _letters(likelihoods: Sequence[bytes]) -> NDArray[np.float32]:
    """(R, L) the log-likelihoods of each record, one row per record; nan behind the last printed letter."""
    sizes = np.array([len(each) for each in likelihoods], dtype=np.int64) // 4
    columns = np.full((len(sizes), sizes.max(initial=0)), nan, dtype=np.float32)
    columns[np.arange(columns.shape[1]) < sizes[:, None]] = np.frombuffer(b"".join(likelihoods), dtype=np.float32)
    return columns


def _no_pairs() -> Ints:
    return np.zeros((0, 2), dtype=np.int64)


def _pick(record: Record) -> int:
    if record.skipped or not FORMATS[record.ask].picks_one:
        return NO_PICK
    return INVALID if record.picked is None else record.picked


def _is_position(original: Any, sizes: Ints) -> bool:
    whole = isinstance(original, (int, np.integer)) and not isinstance(original, bool)
    return whole and 0 <= original < sizes.min(initial=original + 1)


def contains(sets: Sets, identities: Ints) -> Bools:
    """Whether each set contains the identity at the same place; False for INVALID and NO_PICK."""
    bits = np.left_shift(np.uint64(1), np.maximum(identities, 0).astype(np.uint64))
    inside: Bools = ((sets & bits) != 0) & (identities >= 0)
    return inside


@lru_cache(maxsize=4096)
def _bit_set(identities: tuple[int, ...]) -> int:
    return sum(1 << identity for identity in set(identities))
