"""Accuracy of each kind of variant in a run, and its differences to another run and to the originals."""

from math import isnan
from typing import Any

from lm_eval_cora import metrics
from lm_eval_cora.metrics.kinds import means_by_question, original_kinds
from lm_eval_cora.metrics.paired import Difference, differences_together
from lm_eval_cora.runs.model_run import Run


def kinds_of(run: Run) -> dict[str, dict[str, Any]]:
    """Compute the metrics of each kind of variant, with positions adjusted for the questions that have them."""
    kinds = metrics.each_kind(run.table, positions=run.probe.by_position)
    return {kind: {**part, "accuracy": part.get("adjusted", part["accuracy"])} for kind, part in kinds.items()}


def kinds_compared(before: Run, after: Run) -> dict[str, Difference]:
    """Difference of the accuracy of each kind of variant that both runs have, paired by question."""
    # Empty if variants were skipped by early stopping, because the remaining answers were selected for being right.
    if not (before.table.is_whole and after.table.is_whole):
        return {}
    old, new = kinds_of(before), kinds_of(after)
    names = [kind for kind in old if kind in new]
    differences = differences_together(*([parts[kind]["accuracy"] for kind in names] for parts in (old, new)))
    return dict(zip(names, differences, strict=True))


def changes_by_kind(run: Run) -> dict[str, Difference]:
    """Difference of the accuracy of each kind of variant to that of the originals of the questions that have it."""
    # Empty if variants were skipped by early stopping, and if the originals are not a kind of their own.
    original, alone = run.table.original_correct, original_kinds(run.table)
    if not run.table.is_whole or original is None or not alone:
        return {}
    right, present = means_by_question(run.table, run.table.correct)
    codes = {kind: code for code, kind in enumerate(run.table.kinds) if kind not in alone}
    before, after = (
        [run.table.ratio(hits[:, code], present[:, code]) for code in codes.values()]
        for hits in (original[:, None] * present, right)
    )
    differences = differences_together(before, after)
    return {kind: change for kind, change in zip(codes, differences, strict=True) if not isnan(change.low)}
