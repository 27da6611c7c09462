"""Records -> ResponseTable: the answers of a task, grouped by source question."""

# ruff: noqa: RUF009  # the defaults of the dataclass are fields
from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import nan
from operator import attrgetter, eq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.estimate import (
    SHARES,
    Estimate,
    Interval,
    equal_units,
    mean_of,
    of_clusters,
    product_of,
    ratio_of,
    share_of,
)
from lm_eval_cora.metrics.estimate import Bools as Bools
from lm_eval_cora.metrics.packed import Floats as Floats
from lm_eval_cora.metrics.packed import Ints as Ints
from lm_eval_cora.metrics.packed import PackedRecords, Same, equal_prompts_of, equivalent, grouped, letters, unit_name
from lm_eval_cora.questions.messages import counted

# Values of `ResponseTable.picked`
INVALID = -1  # an answer that picks no option
NO_PICK = -2  # a variant that was skipped, or that does not ask for one option
IDENTITIES = 64  # the largest identity in use is that of "I don't know", 53
Sets = NDArray[np.uint64]  # sets of identities: identity k is bit k


def _column(dtype: type[np.generic], unknown: float, of: Callable[[Record], Any] | None = None) -> Any:
    """A column with a value for each record: its type, its value if none is known, and how to get it from a Record.

    Without a function it is the attribute of the same name.
    """
    return field(metadata={"dtype": dtype, "unknown": unknown, "of": of})


def _pick(record: Record) -> int:
    if record.skipped or not FORMATS[record.ask].picks_one:
        return NO_PICK
    return INVALID if record.picked is None else record.picked


def _is_written(record: Record) -> bool:
    return FORMATS[record.ask].is_open and (record.written is not None or record.invalid)


@lru_cache(maxsize=4096)
def _bit_set(identities: tuple[int, ...]) -> int:
    return sum(1 << identity for identity in set(identities))


@dataclass(frozen=True, eq=False)
class ResponseTable:
    """The answers to all complete questions of a task as columns: N questions, R records in the order of the questions.

    Questions are sorted by id, and the records of a question by ordinal, so the order of arrival does not matter.

    Attributes:
        question_ids: N ids; `categories` has their N categories.
        clusters: N names of what each question shares with others, such as a passage; empty for nothing.
        sizes: (N,) number of variants of each question, M_i.
        kind: (R,) index into `kinds`, the names of the kinds of variants.
        likelihoods: (R, L) log-likelihoods of the printed letters; nan for letters that are not printed or not scored.
        pairs: (P, 2) pairs of records of one question whose written answers are equivalent.
        ran_out: (S, 2) pairs of records whose equivalence check ran out of time or memory; a check against the
            reference is a pair of a record with itself.
        picked: (R,) identity of the picked option, or INVALID, or NO_PICK; `position`, from 0, is its printed place.
        selected: (R,) set of the selected identities; empty unless the variant asks for several options or yes or no.
        answer: (R,) identity of the right option; INVALID if it is unknown, or if there are no options.
        correct: (R,) whether the answer is right; `invalid` that there is none; `tied` that another was as likely.
        printed: (R,) set of the printed identities.
        options: (R,) number of printed options; equal options count separately.
        yes: (R,) log-likelihood of "yes", and `no` that of "no"; nan if it was not scored.
        original: (R,) whether the variant is the question as in its benchmark.
        written: (R,) whether the variant was asked and has no options.
        skipped: (R,) whether the variant was skipped. It is then neither right nor invalid, and picks nothing.
        longest: (R,) accuracy of picking the longest option of the question; nan if unknown.
        followed: (R,) 1 if the response is in the requested format, 0 if not, nan if unknown.
        own: (R,) score that another program gave the answer, from 0 to 1; nan if there is none.
        confidence: (R,) confidence of the answer, from 0 to 1, from a file; nan if there is none.
        right_place: (R,) printed place of the right option, from 0; INVALID if it is not printed.
        incomplete: Number of questions left out because variants are missing.
        unasked: The unit of each question left out because all its variants were skipped; see `unit_of`.
        duplicates: Number of records left out because their variant already has one.
        repeats: The originals and their repeats, as a table of the same questions; None without repeats.
    """

    question_ids: tuple[str, ...]
    categories: tuple[str, ...]
    clusters: tuple[str, ...]
    sizes: Ints
    kinds: tuple[str, ...]
    kind: Ints
    likelihoods: NDArray[np.float32]
    pairs: Ints
    ran_out: Ints
    picked: Ints = _column(np.int64, NO_PICK, _pick)
    position: Ints = _column(np.int64, INVALID)
    selected: Sets = _column(np.uint64, 0, lambda record: _bit_set(record.selected or ()))
    answer: Ints = _column(np.int64, INVALID, lambda record: None if isinstance(record.answer, str) else record.answer)
    correct: Bools = _column(np.bool_, False)
    invalid: Bools = _column(np.bool_, False)
    tied: Bools = _column(np.bool_, False)
    printed: Sets = _column(np.uint64, 0, lambda record: _bit_set(record.printed))
    options: Ints = _column(np.int64, 0, lambda record: len(record.printed))
    yes: Floats = _column(np.float64, nan, attrgetter("likelihood_yes"))
    no: Floats = _column(np.float64, nan, attrgetter("likelihood_no"))
    original: Bools = _column(np.bool_, False)
    written: Bools = _column(np.bool_, False, _is_written)
    skipped: Bools = _column(np.bool_, False)
    longest: Floats = _column(np.float64, nan)
    followed: Floats = _column(np.float64, nan)
    own: Floats = _column(np.float64, nan)
    confidence: Floats = _column(np.float64, nan, lambda record: None)
    right_place: Ints = _column(
        np.int64,
        INVALID,
        lambda record: record.printed.index(record.answer) if record.answer in record.printed else None,
    )
    incomplete: int = 0
    duplicates: int = 0
    unasked: tuple[str, ...] = ()
    repeats: ResponseTable | None = None

    @classmethod
    def from_records(cls, records: Iterable[Record], same: Same = eq) -> ResponseTable:
        """Group records by question: those with all their variants count, and the first record of each variant."""
        return cls.from_packed(PackedRecords(records), same)[0]

    @classmethod
    def from_packed(cls, records: PackedRecords, same: Same = eq) -> tuple[ResponseTable, Ints]:
        """Group records by question, as `from_records` does; and (R,) the place of each record of the table."""
        rows, question_ids, sizes, left_out = grouped(records)
        first = [records.questions[code] for code in records.codes[0][rows[np.cumsum(sizes) - sizes]].tolist()]
        categories, clusters = (tuple(getattr(each, name) for each in first) for name in ("category", "cluster"))
        own, more = _columns_of(records, rows, sizes, same), dict[str, Any](left_out)
        table = cls(question_ids, categories, clusters, **own, **more)
        if equal := equal_prompts_of(records, question_ids):
            table = replace(table, repeats=replace(table, **_columns_of(records, *equal, same)))
        return table, rows

    @classmethod
    def from_columns(cls, question_ids: Sequence[str], sizes: Ints, correct: Bools, **columns: Any) -> ResponseTable:
        """Make a table from columns that are sorted by question, and by variant within a question."""
        shape = len(correct)
        given: dict[str, Any] = {
            **dict.fromkeys(("categories", "clusters"), ("",) * len(sizes)),
            **dict.fromkeys(("pairs", "ran_out"), np.zeros((0, 2), dtype=np.int64)),
            "kinds": ("variant",),
            "kind": np.zeros(shape, dtype=np.int64),
            "likelihoods": np.zeros((shape, 0), dtype=np.float32),
            **{each.name: np.full(shape, each.metadata["unknown"], each.metadata["dtype"]) for each in _COLUMNS},
        }
        own = {"question_ids": tuple(question_ids), "sizes": sizes, "correct": correct}
        return cls(**{**given, **own, **columns})

    @classmethod
    def from_hits(cls, hits: Any, *, original: int | None = 0, **columns: Any) -> ResponseTable:
        """Make a table from right answers, which pick option 0, and wrong ones, which pick 1; and other columns."""
        values, sizes = _flatten(hits)
        ordinal = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        is_whole = isinstance(original, (int, np.integer)) and not isinstance(original, bool)
        if original is not None and not (is_whole and 0 <= original < sizes.min(initial=original + 1)):
            short = f", but question {sizes.argmin()} has {sizes.min()} variants" if len(sizes) else ""
            raise ValueError(
                f"original: expected the position of a variant that each question has, got {original}{short}. "
                "If the rows have no original, pass original=None"
            )
        skipped, right = np.isnan(values), values == 1
        first = ordinal == (-1 if original is None else original)
        given = {
            "kinds": ("original", "variant"),
            "kind": (~first).astype(np.int64),
            "original": first,
            "skipped": skipped,
            "picked": np.where(skipped, NO_PICK, ~right).astype(np.int64),
            "position": np.where(skipped, INVALID, ~right).astype(np.int64),
            "printed": np.full(len(values), 0b11, dtype=np.uint64),
            "options": np.full(len(values), 2, dtype=np.int64),
            "followed": np.where(skipped, nan, 1.0),
        }
        ids = [f"{number:09d}" for number in range(len(sizes))]
        return cls.from_columns(ids, sizes, right, **{**given, **columns}).begun()

    def begun(self) -> ResponseTable:
        """The table without the questions all of whose variants were skipped."""
        begun = self.any_by_question(~self.skipped)
        unasked = tuple(name for name, is_begun in zip(self.unit_of.values(), begun, strict=True) if not is_begun)
        return replace(self.where(begun[self.question]), unasked=unasked)

    @property
    def not_begun(self) -> int:
        """Number of questions left out because all their variants were skipped."""
        return len(self.unasked)

    @property
    def unit_of(self) -> dict[str, str]:
        """The name of each question's unit."""
        return dict(zip(self.question_ids, map(unit_name, self.question_ids, self.clusters), strict=True))

    @cached_property
    def starts(self) -> Ints:
        """(N,) place of the first record of each question."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def question(self) -> Ints:
        """(R,) index of the question of each record."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def cluster(self) -> Ints | None:
        """(N,) number of each question's cluster, 0 to G - 1; None if no two questions share one."""
        names = zip(self.clusters, self.question_ids, strict=True)
        units: list[Any] = [name or (question,) for name, question in names] if any(self.clusters) else []
        codes = {name: code for code, name in enumerate(dict.fromkeys(units))}
        return np.array([codes[name] for name in units], dtype=np.int64) if len(codes) < len(units) else None

    @property
    def unit(self) -> Ints:
        """(N,) number of each question's cluster; of the question itself if no two share one."""
        return np.arange(len(self.sizes)) if self.cluster is None else self.cluster

    @property
    def units(self) -> int:
        """Number of clusters, G; of questions, N, if no two share one."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def effective(self) -> float:
        """Number of clusters of equal size that tell as much; see `equal_units`."""
        return float(equal_units(np.bincount(self.unit)))

    @property
    def size(self) -> str:
        """The number of questions as text, and that of the passages that they share."""
        questions = counted(len(self.sizes), "question")
        return questions if self.cluster is None else f"{questions} in {counted(self.units, 'passage')}"

    def sum_by_question(self, values: Bools | Floats) -> Floats:
        """(N,) sums within each question of one value per record, (R,)."""
        return np.bincount(self.question, weights=values, minlength=len(self.sizes)).astype(np.float64)

    def mean(self, values: Floats, members: Bools | None = None, *, between: Interval = SHARES) -> Estimate:
        """Mean of one value per question, (N,); see `mean_of`. As in the next three, clusters are its units."""
        return self.clustered(mean_of(values, members, between=between))

    def share(self, hits: Bools, members: Bools | None = None, *, least: float = 0.0) -> Estimate:
        """Share of questions for which something is true, (N,); see `share_of`."""
        return self.clustered(share_of(hits, members, least=least))

    def ratio(
        self,
        parts: Floats,
        wholes: Floats,
        members: Floats | None = None,
        *,
        between: Interval = SHARES,
    ) -> Estimate:
        """Ratio of two sums over questions, of (N,) values each; see `ratio_of`."""
        return self.clustered(ratio_of(parts, wholes, members, between=between))

    def product(self, first: Floats, second: Floats, *, value: float | None = None) -> Estimate:
        """Product of two means over questions, of (N,) values each; see `product_of`."""
        return self.clustered(product_of(first, second, value=value))

    def clustered(self, estimate: Estimate) -> Estimate:
        """An estimate from the questions of the table, with its clusters as the units of the error."""
        return estimate if self.cluster is None else of_clusters(estimate, self.cluster)

    @cached_property
    def hits(self) -> Ints:
        """(N,) number of correct answers to each question, K_i."""
        return self.sum_by_question(self.correct).astype(np.int64)

    def any_by_question(self, values: Bools) -> Bools:
        """(N,) whether a value, (R,), is true for any record of each question."""
        return np.bincount(self.question[values], minlength=len(self.sizes)) > 0

    def is_kind(self, *kinds: str) -> Bools:
        """(R,) whether each record has one of these kinds."""
        return np.array([kind in kinds for kind in self.kinds], dtype=np.bool_)[self.kind]

    @cached_property
    def original_correct(self) -> Bools | None:
        """(N,) whether the original is answered correctly; None without questions, or if a question has no original."""
        if not len(self.sizes) or not (self.sum_by_question(self.original) == 1).all():
            return None
        return self.sum_by_question(self.original & self.correct) > 0

    @cached_property
    def equal_answers(self) -> Ints:
        """(R,) number of answers to the same question that equal this one, including itself; 0 if it is invalid."""
        valid = self.picked >= 0
        equal = np.zeros(len(self.picked), dtype=np.int64)
        picks = self.question[valid] * IDENTITIES + self.picked[valid]  # a question and an identity as one number
        _, group, counts = np.unique(picks, return_inverse=True, return_counts=True)
        equal[valid] = counts[group]
        return equal + (self.written & ~self.invalid) + np.bincount(self.pairs.ravel(), minlength=len(equal))

    @cached_property
    def shared(self) -> dict[Any, Any]:
        """Results that several metrics and charts need."""
        return {}

    @property
    def equal_prompts(self) -> ResponseTable:
        """The originals and their repeats; without repeats the table itself, for metrics of rows with equal prompts."""
        return self.repeats or self

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
        return self._part(kept, np.flatnonzero(self.any_by_question(kept)))

    def _part(self, kept: Bools, left: Ints) -> ResponseTable:
        """The table of some records and some questions, among them those of the records."""
        sizes = np.bincount(self.question[kept], minlength=len(self.sizes))
        codes, kind = np.unique(self.kind[kept], return_inverse=True)
        moved = np.cumsum(kept) - 1
        named = {name: getattr(self, name) for name in ("question_ids", "categories", "clusters")}
        paired = {"pairs": self.pairs, "ran_out": self.ran_out}
        columns: dict[str, Any] = {
            **{name: tuple(values[number] for number in left) for name, values in named.items()},
            **{name: moved[pairs[kept[pairs].all(axis=1)]] for name, pairs in paired.items()},
            **{name: getattr(self, name)[kept] for name in BY_RECORD},
        }
        kinds = tuple(self.kinds[code] for code in codes)
        repeats = self.repeats and self.repeats._part(np.isin(self.repeats.question, left), left)
        return replace(self, repeats=repeats, sizes=sizes[left], kinds=kinds, kind=kind.reshape(-1), **columns)


_COLUMNS = [each for each in fields(ResponseTable) if each.metadata]

# Columns whose values do not change if other records are removed
BY_RECORD = ("likelihoods", *(each.name for each in _COLUMNS))


def _columns_of(records: PackedRecords, rows: Ints, sizes: Ints, same: Same) -> dict[str, Any]:
    """The columns of a table of the records in these places, of questions with so many each."""
    parts, part = records.parts, records.codes[1][rows]
    codes: dict[str, int] = {}
    kind = np.zeros(len(parts), dtype=np.int64)
    for code in dict.fromkeys(part.tolist()):
        kind[code] = codes.setdefault(parts[code].kind, len(codes))
    pairs, ran_out = equivalent(records, part, sizes, same)
    return {
        "sizes": sizes,
        "kinds": tuple(codes),
        "kind": kind[part],
        "likelihoods": letters([*map(records.likelihoods.__getitem__, rows.tolist())]),
        "pairs": pairs,
        "ran_out": ran_out,
        # Each column is computed once per different part.
        **{column.name: _values(column, parts)[part] for column in _COLUMNS},
    }


def _values(column: Field[Any], parts: Iterable[Record]) -> NDArray[Any]:
    values = map(column.metadata["of"] or attrgetter(column.name), parts)
    unknown = column.metadata["unknown"]
    return np.array([unknown if value is None else value for value in values], column.metadata["dtype"])


def contains(sets: Sets, identities: Ints) -> Bools:
    """Whether each set contains the identity at the same place; False for INVALID and NO_PICK."""
    bits = np.left_shift(np.uint64(1), np.maximum(identities, 0).astype(np.uint64))
    inside: Bools = ((sets & bits) != 0) & (identities >= 0)
    return inside


def bits_of(sets: Sets) -> NDArray[np.uint8]:
    """(R, 64) 1 if a set contains an identity."""
    return np.unpackbits(sets.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")


def _flatten(hits: Any) -> tuple[Floats, Ints]:
    """Right and wrong answers as one array, such as [1, nan, 0]; and the number of variants of each question."""
    given = hits
    try:
        if hasattr(hits, "iloc"):  # a DataFrame, which may contain pandas.NA
            hits = hits.to_numpy(dtype=np.float64, na_value=nan)
        if isinstance(hits, np.ma.MaskedArray):
            hits = np.where(hits.mask, nan, hits.astype(np.float64).data)
        rows = [np.asarray(row, dtype=np.float64) for row in hits]
    except Exception:  # arrays of other libraries raise errors of many kinds
        rows = [np.zeros(())]
    if not all(row.ndim == 1 and len(row) for row in rows):
        raise ValueError(
            "answers: expected an array of shape (questions, variants), or one row per question, of True (right), "
            f"False (wrong) and NaN (skipped), got {reprlib.repr(given)}"
        )
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    values = np.concatenate([np.zeros(0), *rows])
    wrong = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
    if len(wrong):
        question = int(np.searchsorted(np.cumsum(sizes), wrong[0], side="right"))
        variant = int(wrong[0] - sizes[:question].sum())
        raise ValueError(
            f"answers: expected True, False or NaN, got {values[wrong[0]]:g} for variant {variant} of question "
            f"{question}"
        )
    return values, sizes
