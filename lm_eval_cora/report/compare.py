"""Compare two runs on the same questions: the difference of each metric, its interval and a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

from lm_eval_cora.metrics.estimate import Estimate, for_json
from lm_eval_cora.metrics.paired import Compared, compared
from lm_eval_cora.questions.data import Data
from lm_eval_cora.report.content import Cell, Number, Table, difference_and_interval
from lm_eval_cora.runs.comparable import told_apart
from lm_eval_cora.runs.documents import DocumentRun
from lm_eval_cora.runs.model_run import Run


def compared_metrics(before: Mapping[str, Estimate], after: Mapping[str, Estimate]) -> dict[str, Compared]:
    """Compute the difference of every metric between two sets of estimates, paired by question."""
    both = [name for name in before if name in after]
    has_errors = any(not isnan(before[name].stderr) for name in both)
    return {
        name: compared(before[name], after[name]) for name in both if not (has_errors and is_statistic(before[name]))
    }


def is_statistic(estimate: Estimate) -> bool:
    """Whether an estimate is defined but has no standard error, such as a p-value or a range.

    Example:
        >>> from math import nan
        >>> is_statistic(Estimate(0.04, nan)), is_statistic(Estimate(0.04, 0.01))
        (True, False)
    """
    return not isnan(estimate.value) and isnan(estimate.stderr)


def as_table(title: str, models: tuple[str, str], comparison: Mapping[str, Compared]) -> Table:
    """A comparison as a table."""
    rows: list[list[Cell]] = []
    for name, row in comparison.items():
        test = ["", ""] if row.test is None else [f"{row.test.lost} : {row.test.gained}", f"{row.test.p_value:.3g}"]
        values = Number.of(row.before), Number.of(row.after)
        rows.append([name, *values, *difference_and_interval(row.change), *test])
    return Table(title, ["metric", *models, "new minus old", "95%", "lost : gained", "p"], rows)


def as_json(before: Run, after: Run, comparison: Mapping[str, Compared]) -> dict[str, Any]:
    """A comparison with all digits, undefined numbers as null."""
    return {
        "task": before.task,
        "before": run_as_json(before),
        "after": run_as_json(after),
        "questions": len(before.table.sizes),
        "notes": [f"{run.model}: {note}" for run in (before, after) for note in run.warnings]
        + told_apart(before, after),
        "metrics": metrics_as_json(comparison),
    }


def metrics_as_json(comparison: Mapping[str, Compared]) -> dict[str, Any]:
    """The comparison of each metric with all digits, undefined numbers as null."""
    return {
        name: {
            "before": for_json(row.before),
            "after": for_json(row.after),
            "difference": for_json(row.change._asdict()),
            "mcnemar": None if row.test is None else row.test._asdict(),
        }
        for name, row in comparison.items()
    }


def run_as_json(run: Run) -> dict[str, Any]:
    """What identifies a run: model, reader, data and signature."""
    return {
        "model": run.model,
        "reader": run.reader,
        "benchmark": run.data.name or None,
        "data": run.data.digest or None,
        "signature": run.signature or None,
    }


_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # the same questions in a renamed file
    lambda one, other: not (one.digest and other.digest),
)
"""Ways in which the data of two runs of a task can match, the strictest first."""


def matched(contestants: Sequence[Sequence[Run]]) -> tuple[list[list[Run]], list[str]]:
    """Group the runs of the same task and the same questions, at most one per contestant.

    If two contestants have a single run of a task, but on different questions, the two are in one group as well. The
    comparison then names both data sets.
    """
    groups: list[list[Run]] = []
    taken: set[Run] = set()
    for place, own in enumerate(contestants):
        free = [run for run in own if run not in taken]
        found: dict[Run, list[Run]] = {run: [run] for run in free}
        for others in contestants[place + 1 :]:
            for one, other in _pairs(free, [run for run in others if run not in taken]):
                found[one].append(other)
        for group in found.values():
            if len(group) > 1:
                groups.append(group)
                taken.update(group)
    alone = sorted({run.task for own in contestants for run in own if run not in taken})
    return groups, alone


def _pairs(before: Sequence[Run], after: Sequence[Run]) -> list[tuple[Run, Run]]:
    found: dict[Run, Run] = {}
    for matches in _MATCHES:
        for one in before:
            free = [other for other in _of_its_task(one, after) if other not in found.values()]
            other = next((other for other in free if matches(one.data, other.data)), None)
            if one not in found and other is not None:
                found[one] = other
    for one in before:
        own, others = _of_its_task(one, before), _of_its_task(one, after)
        if one not in found and len(own) == len(others) == 1:
            found[one] = others[0]
    return [(one, found[one]) for one in before if one in found]


def _of_its_task(run: Run, runs: Sequence[Run]) -> list[Run]:
    """The runs of the same task and the same filter."""
    return [other for other in runs if (other.name, other.part) == (run.name, run.part)]


def matched_documents(contestants: Sequence[Sequence[DocumentRun]]) -> tuple[list[list[DocumentRun]], list[str]]:
    """Group the runs of the same task and filter of the harness; and name those that only one contestant has."""
    groups: dict[tuple[str, str], list[DocumentRun]] = {}
    for own in contestants:
        for run in own:
            groups.setdefault((run.name, run.filter), []).append(run)
    several = [group for group in groups.values() if len(group) > 1]
    return several, sorted(group[0].task for group in groups.values() if len(group) == 1)
