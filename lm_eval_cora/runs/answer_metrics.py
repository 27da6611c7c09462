"""The metrics of answers that were collected without the harness, as entries of a `metric_list`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from lm_eval_cora import metrics
from lm_eval_cora.metrics.entries import Entry, parameters_of
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of
from lm_eval_cora.metrics.facts import despite_skipped, facts_of, metric
from lm_eval_cora.metrics.kinds import note_on_small_categories
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.runs.answer_rows import AnswerRows
from lm_eval_cora.variants.alterations import ORIGINAL


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
    """The variants that print the same options as the original of their question."""
    printed = table.printed[table.original]
    return table.where(table.printed == printed[table.question])


def _entry(
    name: str,
    function: Callable[..., Estimate] | None = None,
    *,
    higher_is_better: bool | None = True,
    **parameters: float,
) -> Entry:
    direction = {} if higher_is_better is None else {"higher_is_better": higher_is_better}
    return {"metric": name, "aggregation": function or getattr(metrics, name), **parameters, **direction}


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
"""The metrics that can be computed from a table of answers."""


def that_need(column: str) -> list[str]:
    """The metrics that need a column of the answers."""
    return [entry["metric"] for entry in ENTRIES if column in facts_of(entry["aggregation"]).needs]


def compute_answers(entry: Entry, table: ResponseTable) -> Estimate:
    """Compute a metric of answers that were collected without the harness.

    With skipped variants, the metrics that look only at right and wrong answers are defined if all possible answers to
    these variants give the same value. The others are undefined.
    """
    function = partial(entry["aggregation"], **parameters_of(entry))
    if table.is_whole:
        found: Estimate = function(table)
        return found
    needs = facts_of(entry["aggregation"]).needs
    if set(needs) - {"original"}:  # it looks at more than right and wrong answers
        return UNDEFINED
    return despite_skipped(function, table, of_originals="original" in needs)


def undefined_metrics(table: ResponseTable, known: Collection[str]) -> dict[str, str]:
    """The metrics that the columns do not define, and the reason for each."""
    if "original" not in known:
        original = (
            "needs the column 'original', which marks the original of each question, or a variant or kind named "
            f"{ORIGINAL!r}"
        )
    elif table.original_correct is None and len(table.sizes):
        counts = table.sum_by_question(table.original)
        place = int((counts != 1).argmax())
        original = (
            f"needs one original of each question; question {table.question_ids[place]!r} has {counts[place]:.0f}"
        )
    else:
        original = ""
    columns = ("picked", "kind", "category", "followed")
    reasons = {column: "" if column in known else f"needs the column {column!r}" for column in columns}
    if "followed" in known and np.isnan(table.followed[~table.skipped]).any():
        reasons["followed"] = "the column 'followed' has missing values"
    reasons["original"] = original
    return {name: reason for column, reason in reasons.items() if reason for name in that_need(column)}


def notes_of(rows: AnswerRows) -> list[str]:
    """Notes for the user: the readers, skipped variants, questions that are left out, and small categories.

    Example:
        >>> from lm_eval_cora.runs.answer_rows import read_answers
        >>> notes_of(read_answers([{"question": 1, "variant": n, "correct": n or None} for n in range(2)]))
        ['1 of 2 variants were skipped']
    """
    table = rows.table
    notes = [f"responses read by: {', '.join(rows.readers)}"] if rows.readers else []
    if not table.is_whole:
        notes.append(f"{int(table.skipped.sum()):,} of {len(table.skipped):,} variants were skipped")
    notes += left_out(table)
    if "category" in rows.known and (note := note_on_small_categories(table)):
        notes.append(note)
    return notes


def left_out(table: ResponseTable) -> list[str]:
    """Notes on the questions that a table leaves out."""
    total = len(table.sizes) + table.incomplete + table.not_begun
    reasons = {"variants are missing": table.incomplete, "all their variants were skipped": table.not_begun}
    return [f"left out {count:,} of {total:,} questions because {reason}" for reason, count in reasons.items() if count]
