"""Differences by kind of variant between two runs, or to the originals, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

from lm_eval_cora.metrics.estimate import for_json, ratio_of
from lm_eval_cora.metrics.kinds import means_by_question, original_kinds
from lm_eval_cora.metrics.paired import Difference
from lm_eval_cora.metrics.several import differences_together
from lm_eval_cora.report.content import Cell, Table, difference_and_interval
from lm_eval_cora.report.tables import kinds_of
from lm_eval_cora.runs.model_run import Run

NOTE = (
    "The intervals by kind hold for all kinds together in 95% of the samples. So look here, and not at acc_min or "
    "acc_max, to see where the models differ."
)


def by_kind(before: Run, after: Run) -> dict[str, Difference]:
    """Difference of the accuracy of each kind of variant that both runs have, paired by question.

    Empty if variants were skipped by early stopping, because the remaining answers were selected for being right.
    """
    if not (before.table.is_whole and after.table.is_whole):
        return {}
    one, other = kinds_of(before), kinds_of(after)
    names = [kind for kind in one if kind in other]
    found = differences_together(*([parts[kind]["accuracy"] for kind in names] for parts in (one, other)))
    return dict(zip(names, found, strict=True))


def changes_by_kind(run: Run) -> dict[str, Difference]:
    """Difference of the accuracy of each kind of variant to that of the originals of the same questions.

    Only the questions that have a kind count for its difference, because these may be harder than the others. Empty if
    variants were skipped by early stopping, and if the originals are not a kind of their own.
    """
    original, alone = run.table.original_correct, original_kinds(run.table)
    if not run.table.is_whole or original is None or not alone:
        return {}
    right, present = means_by_question(run.table, run.table.correct)
    codes = {kind: code for code, kind in enumerate(run.table.kinds) if kind not in alone}
    found = differences_together(
        [ratio_of(original * present[:, code], present[:, code]) for code in codes.values()],
        [ratio_of(right[:, code], present[:, code]) for code in codes.values()],
    )
    return {kind: change for kind, change in zip(codes, found, strict=True) if not isnan(change.low)}


def kinds_table(run: Run, changes: Mapping[str, Difference]) -> Table | None:
    """The differences by kind between two runs of a task as a table; None with fewer than two kinds."""
    if len(changes) < 2:
        return None
    rows: list[list[Cell]] = [[name, *difference_and_interval(change)] for name, change in changes.items()]
    title = f"{run.task}: accuracy by {run.probe.one}"
    return Table(title, [run.probe.one, "new minus old", "95%, all together"], rows)


def kinds_as_json(changes: Mapping[str, Difference]) -> dict[str, Any]:
    """The differences by kind with all digits, undefined numbers as null."""
    return {name: for_json(change._asdict()) for name, change in changes.items()}
