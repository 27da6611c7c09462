"""Answers collected without the harness: a table or file -> ResponseTable, its metrics, and the texts of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import pairwise
from math import nan
from typing import Any

import numpy as np

from lm_eval_cora import metrics
from lm_eval_cora.answers.formats import BOXED, LETTER
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import Entry, parameters_of
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of
from lm_eval_cora.metrics.facts import despite_skipped, facts_of, metric
from lm_eval_cora.metrics.kinds import note_on_small_categories
from lm_eval_cora.metrics.responses import IDENTITIES, INVALID, NO_PICK, Bools, Ints, ResponseTable
from lm_eval_cora.questions.question import MAX_OPTIONS, shorten
from lm_eval_cora.runs.answer_columns import AnswerColumns
from lm_eval_cora.variants.alterations import ORIGINAL

_MOST_KINDS = 60
"""Largest number of names of variants that are taken as kinds."""

_NO_PICK = "(the file has no pick)"
"""Stands for the response in a line without a pick."""

_UNKNOWN = -1
"""Identity of a right option that is not known."""


@dataclass(frozen=True, eq=False)
class Collected:
    """Answers in a table or file, sorted by question and variant.

    Attributes:
        table: The answers.
        known: The columns of `answer_columns.COLUMNS` that the data have, or whose values follow from others.
        values: The columns of the data. They include the questions that the table leaves out.
        places: The rows of each question.
        right: (R,) whether each row is a right answer.
        skipped: (R,) whether each row is a skipped variant.
        original: (R,) whether each row is the original of its question; None if unknown.
    """

    table: ResponseTable
    known: frozenset[str]
    values: Mapping[str, Sequence[Any]]
    places: Mapping[str, range]
    right: Bools
    skipped: Bools
    original: Bools | None

    @property
    def readers(self) -> list[str]:
        """The different names in the column `reader`."""
        return sorted(set(self.values.get("reader", ())) - {None})

    def value(self, record: Record, column: str) -> Any:
        """The value in a column of a record; None without the column."""
        place = self.places[record.question_id].start + record.ordinal
        return self.values[column][place] if column in self.values else None

    def line(self, record: Record) -> dict[str, Any]:
        """The answer as a line of a samples file. The question is its id, and the response is the pick."""
        choices = (self.value(record, "printed") or ()) if record.printed else ()
        doc = {**vars(record), "question": record.question_id, "choices": choices}
        picked = self.value(record, "picked")
        return {"doc": doc, "filtered_resps": [_NO_PICK if picked is None else picked]}

    def records(self, question: str) -> list[Record]:
        """The records of a question, in the order of its variants. Those of all questions would fill the memory.

        A pick from printed options has the identities of the options. Any other answer is a written one, which is empty
        if the file has no picks.
        """
        rows = self.places[question]
        nothing = [None] * len(rows)
        picked, answers, printed, categories = (
            self.values[column][rows.start : rows.stop] if column in self.values else nothing
            for column in ("picked", "answer", "printed", "category")
        )
        kinds = self.values["kind" if "kind" in self.values else "variant"]
        known = [options for options in printed if options is not None]
        has_options = (
            "picked" in self.values
            and all(options is not None or self.skipped[row] for row, options in zip(rows, printed, strict=True))
            and max(map(len, known), default=0) <= MAX_OPTIONS
        )
        texts = dict.fromkeys([*(text for options in known for text in options), *filter(None, answers)])
        numbers = {text: number for number, text in enumerate(texts)}
        records = []
        for ordinal, (row, pick, answer, options) in enumerate(zip(rows, picked, answers, printed, strict=True)):
            right, skipped = bool(self.right[row]), bool(self.skipped[row])
            identities: tuple[int, ...] = ()
            correct: int | str = answer or ""
            more: dict[str, Any]
            if has_options:
                identities = tuple(numbers[text] for text in options or ())
                correct = numbers.get(pick if right else answer, _UNKNOWN)
                position = None if pick is None else options.index(pick)
                more = {"picked": numbers.get(pick), "position": position, "ask": LETTER.name}
            else:
                written = pick if "picked" in self.values or skipped else ""
                more = {"written": written, "matches": right, "ask": BOXED.name}
            records.append(
                Record(
                    *(question, len(rows), ordinal, kinds[row], identities, correct),
                    category=categories[ordinal] or "",
                    original=self.original is not None and bool(self.original[row]),
                    skipped=skipped,
                    **more,
                )
            )
        return records

    @property
    def described(self) -> tuple[str, ...]:
        """The columns that describe what was asked, beside question and variant, as far as every row has them."""
        columns = ["original", "answer", "kind", "category"]
        if None not in self.values.get("printed", [None]):
            columns.append("printed")
        return tuple(column for column in columns if column in self.values)

    def asked(self) -> dict[str, str]:
        """For each question a digest of its variants, their options and the right answers."""
        rows = list(zip(self.values["variant"], *(self.values[name] for name in self.described), strict=True))
        return {
            question: sha256(repr(rows[places.start : places.stop]).encode()).hexdigest()[:16]
            for question, places in self.places.items()
        }

    def are_balanced(self) -> bool:
        """Whether each option of each question is printed equally often at each letter."""
        return all(map(self._is_balanced, self.places.values()))

    def _is_balanced(self, places: range) -> bool:
        lists = self.values["printed"][places.start : places.stop] if "printed" in self.values else ()
        found = Counter(pair for printed in lists for pair in enumerate(printed or ()))
        letters = len({place for place, _ in found})
        return len(set(found.values())) == 1 and len(found) == letters**2 <= MAX_OPTIONS**2


def read_answers(data: Any, names: Mapping[str, str | None] | None = None, option: str = "{}=") -> Collected:
    """Read a table or file of answers, one per row."""
    columns = AnswerColumns(data, names, option)
    ids, sizes = _sort(columns)
    values = columns.values
    right, skipped = _right_and_skipped(columns)
    more: dict[str, Any] = {"skipped": skipped}
    kinds = values.get("kind") or (values["variant"] if _are_kinds(values["variant"]) else None)
    if kinds is not None:
        codes = {kind: code for code, kind in enumerate(dict.fromkeys(kinds))}
        more |= {"kinds": tuple(codes), "kind": np.array([codes[kind] for kind in kinds], dtype=np.int64)}
    original = _originals(columns, kinds)
    if original is not None:
        more["original"] = original
    ends = np.cumsum(sizes).tolist()
    places = {question: range(*bounds) for question, bounds in zip(ids, pairwise([0, *ends]), strict=True)}
    if "category" in values:
        _check_categories(columns)
        more["categories"] = tuple(values["category"][rows.start] or "" for rows in places.values())
    if "followed" in values:
        more["followed"] = np.array([nan if mark is None else float(mark) for mark in values["followed"]])
    if "picked" in values:
        more |= _picks(columns, skipped, list(places.values()))
    table = ResponseTable.from_columns(ids, sizes, right, **more)
    begun = table.any_by_question(~table.skipped)
    if not begun.all():
        table = replace(table.where(begun[table.question]), not_begun=int((~begun).sum()))
    inferred = {name for name, known in (("original", original), ("kind", kinds)) if known is not None}
    return Collected(table, frozenset(values) | inferred, values, places, right, skipped, original)


def _are_kinds(variants: Sequence[str]) -> bool:
    """Whether the names of variants are kinds: few different names, not all of them numbers, that questions share."""
    names = set(variants)
    return len(names) <= min(_MOST_KINDS, len(variants) // 2) and not all(map(_is_whole, names))


def _sort(columns: AnswerColumns) -> tuple[list[str], Ints]:
    """Sort the rows by question and variant; return the ids of the questions and their numbers of variants, (N,).

    Sorting makes the table independent of the order of the rows.
    """
    questions, variants = columns.values["question"], columns.values["variant"]
    ids = {question: code for code, question in enumerate(sorted(set(questions)))}
    labels = {label: code for code, label in enumerate(sorted(set(variants), key=_in_order))}
    question = np.array([ids[name] for name in questions], dtype=np.int64)
    variant = np.array([labels[name] for name in variants], dtype=np.int64)
    order = np.lexsort((variant, question))
    same = np.flatnonzero((np.diff(question[order]) == 0) & (np.diff(variant[order]) == 0))
    if len(same):
        first, second = sorted(order[same[0] : same[0] + 2].tolist())
        raise UserError(
            f"{columns.where[second]}: question {questions[second]!r} has a second row with the variant "
            f"{shorten(variants[second])!r}, after {columns.where[first]}. Expected one row per variant: number the "
            "variants of each question. If the column names kinds of variants, call it 'kind'"
        )
    columns.sort(order.tolist())
    return list(ids), np.bincount(question, minlength=len(ids))


def _in_order(label: str) -> tuple[bool, bool, int, str]:
    """Sort key: the original, whole numbers by value, other labels by their text."""
    is_whole = _is_whole(label)
    return (label != ORIGINAL, not is_whole, int(label) if is_whole else 0, label)


def _is_whole(label: str) -> bool:
    digits = label.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def _right_and_skipped(columns: AnswerColumns) -> tuple[Bools, Bools]:
    """(R,) whether each answer is right, and (R,) whether it was skipped."""
    picked, answer, correct = (columns.values.get(name) for name in ("picked", "answer", "correct"))
    by_pick = None
    if picked is not None and answer is not None:
        if None in answer:
            raise columns.error(answer.index(None), "answer", "a text or a number")
        by_pick = [pick is not None and pick == right for pick, right in zip(picked, answer, strict=True)]
    if correct is None:
        return np.array(by_pick, dtype=np.bool_), np.zeros(len(by_pick or ()), dtype=np.bool_)
    for row, (is_right, pick) in enumerate(zip(correct, picked or [], strict=False)):
        if by_pick and is_right not in (None, by_pick[row]):
            raise columns.error(row, "correct", f"{by_pick[row]}, because of the columns 'picked' and 'answer'")
        if pick is None and is_right:
            raise columns.error(row, "picked", "a pick, because the answer is correct")
        if pick is not None and is_right is None:
            raise columns.error(row, "correct", "True or False, because there is a pick")
    return np.array([is_right is True for is_right in correct]), np.array([is_right is None for is_right in correct])


def _originals(columns: AnswerColumns, kinds: Sequence[str] | None) -> Bools | None:
    """(R,) whether each row is the original of its question; None if unknown.

    Without a column `original`, the kind or else the variant of that name is the original.
    """
    marks, questions = columns.values.get("original"), columns.values["question"]
    if marks is None:
        named = next((names for names in (kinds or (), columns.values["variant"]) if ORIGINAL in names), None)
        return None if named is None else np.array([name == ORIGINAL for name in named])
    marked = [row for row, mark in enumerate(marks) if mark]
    for first, second in pairwise(marked):
        if questions[first] == questions[second]:
            place = f"False, because question {questions[first]!r} already has an original, {columns.where[first]}"
            raise columns.error(second, "original", place)
    columns.values["original"] = [bool(mark) for mark in marks]
    return np.array(columns.values["original"])


def _check_categories(columns: AnswerColumns) -> None:
    """Check that each question has one category."""
    rows = list(zip(columns.values["question"], columns.values["category"], strict=True))
    for place, ((question, category), (same, another)) in enumerate(pairwise(rows), start=1):
        if question == same and category != another:
            raise columns.error(place, "category", f"{category!r}, the category of question {question!r} before")


def _picks(columns: AnswerColumns, skipped: Bools, questions: Sequence[range]) -> dict[str, Any]:
    """The columns of a table that depend on the picks.

    If all rows of a question have `printed`, its options get numbers. Otherwise the picks are compared as texts, and
    all pairs of variants are comparable.
    """
    picked = columns.values["picked"]
    total = len(picked)
    lists = columns.values.get("printed", [None] * total)
    picks, position = np.full(total, NO_PICK, dtype=np.int64), np.full(total, INVALID, dtype=np.int64)
    printed, options = np.zeros(total, dtype=np.uint64), np.zeros(total, dtype=np.int64)
    written = np.zeros(total, dtype=np.bool_)
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for rows in questions:
        if any(lists[row] is None and not skipped[row] for row in rows):
            written[rows.start : rows.stop] = ~skipped[rows.start : rows.stop]
            same: dict[str, list[int]] = {}
            for row in rows:
                if picked[row] is not None:
                    same.setdefault(picked[row], []).append(row)
            pairs += [np.array(equal)[_pairs(len(equal))] for equal in same.values() if len(equal) > 1]
            continue
        numbers = _numbers(columns, rows, lists)
        for row in rows:
            shown, pick = lists[row] or (), picked[row]
            printed[row] = sum({1 << numbers[text] for text in shown})
            options[row] = len(shown)
            if pick is not None:
                picks[row], position[row] = numbers[pick], shown.index(pick)
            elif not skipped[row]:
                picks[row] = INVALID
    return {
        "picked": picks,
        "position": position,
        "printed": printed,
        "options": options,
        "written": written,
        "invalid": np.array([pick is None for pick in picked]) & ~skipped,
        "pairs": np.concatenate(pairs),
    }


def _numbers(columns: AnswerColumns, rows: range, lists: Sequence[tuple[str, ...] | None]) -> dict[str, int]:
    """The number of each option of a question."""
    for row in rows:
        pick, shown = columns.values["picked"][row], lists[row] or ()
        if pick is not None and pick not in shown:
            options = shorten(repr(list(shown)), 200)
            raise columns.error(row, "picked", f"one of the printed options {options}, or a missing value if invalid")
    texts = dict.fromkeys(text for row in rows for text in lists[row] or ())
    if len(texts) > IDENTITIES:
        raise UserError(
            f"{columns.where[rows.start]}: the question has {len(texts)} different options, expected at most "
            f"{IDENTITIES}. Leave out the column {columns.names['printed']!r} if all variants print the same options"
        )
    return {text: number for number, text in enumerate(texts)}


@lru_cache
def _pairs(count: int) -> Ints:
    return np.stack(np.triu_indices(count, k=1), axis=1)


# ---- metrics


@metric(facts_of(metrics.sc).meaning, needs=("picked", "original"))
def sc(table: ResponseTable) -> Estimate:
    """Share of the most frequent pick among the variants that print the options of the original."""
    part = _like_the_original(table)
    most = np.ones(len(part.sizes), dtype=np.int64)
    np.maximum.at(most, part.question, part.alike)
    return mean_of(most / part.sizes, between=(1 / part.sizes.max(initial=1), 1.0))


@metric(facts_of(metrics.acc_h).meaning, needs=("picked", "original"))
def acc_h(table: ResponseTable) -> Estimate:
    """Share of questions that are right in all variants that print the options of the original."""
    return metrics.bmca(_like_the_original(table), level=1.0)


def _like_the_original(table: ResponseTable) -> ResponseTable:
    printed = table.printed[table.original]
    return table.where(table.printed == printed[table.question])


def _entry(
    name: str, function: Callable[..., Estimate] | None = None, *, higher_is_better: bool | None = True, **more: float
) -> Entry:
    direction = {} if higher_is_better is None else {"higher_is_better": higher_is_better}
    return {"metric": name, "aggregation": function or getattr(metrics, name), **more, **direction}


ENTRIES: tuple[Entry, ...] = (
    *map(_entry, ("acc", "mcqa", "mcqa_plus", "mcqa_plus_diff", "mv")),
    *(_entry(f"bmca@{level}", metrics.bmca, level=level) for level in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    *map(_entry, ("ci", "cora", "core", "consistency_rate")),
    _entry("sc", sc),
    _entry("acc_h", acc_h),
    *map(_entry, ("acc_mean", "acc_min", "acc_max")),
    *(_entry(name, higher_is_better=None) for name in ("acc_range", "acc_range_by_chance", "acc_range_p")),
    *map(_entry, ("macro_acc", "all_equal")),
    _entry("equal@0.8", metrics.equal_at, level=0.8),
    _entry("invalid", higher_is_better=False),
    _entry("followed"),
)
"""The metrics that can be computed from a table of answers, as entries of a `metric_list`."""


def compute_collected(entry: Entry, table: ResponseTable) -> Estimate:
    """Compute a metric of answers that were collected without the harness.

    With skipped variants, the metrics that look only at right and wrong answers are defined if all possible answers to
    these variants give the same value. The others are undefined.
    """
    function: Callable[[ResponseTable], Estimate] = partial(entry["aggregation"], **parameters_of(entry))
    if table.is_whole:
        return function(table)
    needs = set(facts_of(entry["aggregation"]).needs)
    return UNDEFINED if needs - {"original"} else despite_skipped(function, table, of_originals="original" in needs)


def undefined_metrics(table: ResponseTable, known: Collection[str]) -> dict[str, str]:
    """The metrics that the columns do not define, and the reason for each."""
    columns = ("original", "picked", "kind", "category", "followed")  # a metric names the first one that is missing
    reasons = {column: f"needs the column {column!r}" for column in columns if column not in known}
    if "original" in reasons:
        reasons["original"] += f", which marks the original of each question, or a variant or kind named {ORIGINAL!r}"
    elif table.original_correct is None and len(table.sizes):
        counts = table.sum_by_question(table.original)
        place = int((counts != 1).argmax())
        question = f"question {table.question_ids[place]!r} has {counts[place]:.0f}"
        reasons["original"] = f"needs one original of each question; {question}"
    if "followed" in known and np.isnan(table.followed[~table.skipped]).any():
        reasons["followed"] = "the column 'followed' has missing values"
    undefined = {}
    for entry in ENTRIES:
        needs = facts_of(entry["aggregation"]).needs
        if lacking := [column for column in columns if column in needs and column in reasons]:
            undefined[entry["metric"]] = reasons[lacking[0]]
    return undefined


def notes_of(answers: Collected) -> list[str]:
    """Notes for the user: the readers, skipped variants, questions that are left out, and small categories."""
    table = answers.table
    notes = [f"responses read by: {', '.join(answers.readers)}"] if answers.readers else []
    if not table.is_whole:
        notes.append(f"{int(table.skipped.sum()):,} of {len(table.skipped):,} variants were skipped")
    notes += left_out(table)
    if "category" in answers.known and (note := note_on_small_categories(table)):
        notes.append(note)
    return notes


def left_out(table: ResponseTable) -> list[str]:
    """Notes on the questions that a table leaves out."""
    total = len(table.sizes) + table.incomplete + table.not_begun
    reasons = {"variants are missing": table.incomplete, "all their variants were skipped": table.not_begun}
    return [f"left out {count:,} of {total:,} questions because {reason}" for reason, count in reasons.items() if count]
