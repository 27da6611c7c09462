"""Compare two or more models on the same questions, or on the same documents of other tasks of the harness."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.paired import Compared, compared, pairwise
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.report.changed import WhatChanged, what_changed
from lm_eval_cora.report.content import Cell, Number, Table
from lm_eval_cora.report.headline import lead_of
from lm_eval_cora.report.pictures import NOTE_ON_KINDS, kinds_table, pairs_table, tested
from lm_eval_cora.report.result_tables import score_table
from lm_eval_cora.report.text import identity_of
from lm_eval_cora.runs.by_kind import kinds_compared
from lm_eval_cora.runs.documents import DocumentRun, documents_differ
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.grouping import Contestant, read_contestants
from lm_eval_cora.runs.model_run import Run, check_metric, not_comparable, setting_differences

NOTE = (
    "Differences are new minus old, paired by question: the second run minus the first, or the other run minus the "
    "baseline. For metrics that are a share of all questions, `lost : gained` counts the questions that changed, and p "
    "is McNemar's mid-p test. Metrics computed only on the questions that a model answered correctly or wrongly may "
    "use different questions in each run. They then have no test."
)
NOTE_ON_PASSAGES = "If questions share passages, p is instead that of a t test of the passages' sums."
NOTE_ON_SEVERAL = (
    "Differences are new minus old, paired by question: a run minus one before it, or minus the baseline. The 95% "
    "intervals hold for all pairs of a table together, and so does the last p: an interval excludes 0 if it is below "
    "0.05. The other p is that of a pair alone. `lost : gained` counts the questions that changed; p is then McNemar's "
    "mid-p test."
)
# Ways in which the data of two runs of a task can match, the strictest first.
_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # the same questions in a renamed file
    lambda one, other: not (one.digest and other.digest),
)


@dataclass
class Comparisons:
    """The comparisons of all tasks."""

    tables: list[Table] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)  # for JSON, with all digits
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # reasons why runs cannot be compared
    explanation: str = ""  # what the columns mean; empty without a table
    changed: list[WhatChanged] = field(default_factory=list)  # only if it was asked for


def compare_models(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    changed: bool = False,
) -> Comparisons:
    """Compare the models of some paths, task by task; or find the answers that changed between two."""
    contestants = read_contestants(paths, reader, labels)
    if changed and len(contestants) != 2:
        raise UserError(f"--changed: expected two models, got {len(contestants)}. Pass one path for each")
    order = _with_baseline_first(contestants, baseline)
    groups, alone = matched([contestant.runs for contestant in order])
    documents, also_alone = matched_documents([contestant.documents for contestant in order])
    all_groups: list[Sequence[Run | DocumentRun]] = [*groups, *documents]
    if not all_groups:
        tasks = [f"{c.name} has {', '.join(c.tasks)}" for c in contestants]
        raise UserError(f"there is no task in common: {'; '.join(tasks)}")
    for metric in metrics:
        check_metric(metric, (name for group in all_groups for run in group for name in run.estimates))
    found = Comparisons()
    for group in all_groups:
        task = group[0].task
        if baseline is not None and group[0].model != order[0].name:
            found.notes.append(f"{task}: not compared, because the baseline {order[0].name} does not have it")
            continue
        for run in group:
            found.notes += [f"{run.model}, {task}: {note}" for note in run.warnings]
        for runs in _comparable(group, found, one_pair=baseline is not None):
            for run in runs[1:]:
                pair = task if len(runs) == 2 else f"{task}, {runs[0].model} and {run.model}"
                found.notes += [f"{pair}: {note}" for note in setting_differences(runs[0], run)]
            if not any(run.estimates for run in runs):
                if task not in {own[0].task for own in groups}:  # there its responses are compared
                    found.refused.append(f"{task}: no metric is a mean over documents, so there is nothing to compare")
            elif changed:
                own = [metric for metric in metrics if metric in runs[0].estimates]
                if own or not metrics:
                    found.changed.append(what_changed(runs[0], runs[1], *own[:1]))
            elif len(runs) == 2:
                _compare_two(runs[0], runs[1], found, metrics)
            else:
                _compare_several(runs, found, baseline, metrics)
    if alone or also_alone:
        found.notes.append(f"not compared, because only one model has it: {', '.join([*alone, *also_alone])}")
    return found


def _with_baseline_first(contestants: Sequence[Contestant], baseline: str | None) -> list[Contestant]:
    if baseline is None:
        return list(contestants)
    chosen = [c for c in contestants if baseline == c.name or Path(baseline) == c.path]
    if len(chosen) != 1:
        names, found = [c.name for c in contestants], f"{len(chosen)} models" if chosen else "none"
        raise UserError(
            f"--baseline {baseline}: expected the path or name of one model, got "
            f"{found}.{did_you_mean(baseline, names)} The models are {', '.join(names)}"
        )
    return [*chosen, *(c for c in contestants if c is not chosen[0])]


def _comparable(
    group: Sequence[Run | DocumentRun], found: Comparisons, *, one_pair: bool
) -> Iterator[list[Run | DocumentRun]]:
    """Yield the runs of a task that can be compared with each other; record why others cannot."""
    differ: Callable[[Any, Any], str] = not_comparable if isinstance(group[0], Run) else documents_differ
    left = list(group)
    while len(left) > 1:
        first, *others = left
        reasons = {run.model: differ(first, run) for run in others}
        comparable = [first, *(run for run in others if not reasons[run.model])]
        left = [run for run in others if reasons[run.model]]
        for run in left:
            whose = f" {first.model} and {run.model}" if len(group) > 2 else " the two runs"
            found.refused.append(f"{first.task}:{whose} cannot be compared: {reasons[run.model]}")
        if len(comparable) > 1:
            yield comparable
        if one_pair:
            return


def _compare_two(
    before: Run | DocumentRun, after: Run | DocumentRun, found: Comparisons, metrics: Sequence[str]
) -> None:
    rows = compared_metrics(before.estimates, after.estimates)
    rows = {name: row for name, row in rows.items() if not metrics or name in metrics}
    found.tables.append(_table_of_two(f"{before.task}: {before.size}", (before.model, after.model), rows))
    found.explanation = found.explanation or NOTE
    differences = {
        name: {"before": row.before, "after": row.after, "difference": row.change, "mcnemar": row.test}
        | ({"p_value": row.p_value} if row.before.units else {})
        for name, row in rows.items()
    }
    one, other = (identity_of(run) if isinstance(run, Run) else {"model": run.model} for run in (before, after))
    value: dict[str, Any] = {"task": before.task, "before": one, "after": other, before.units: len(before.ids)}
    if isinstance(before, Run) and isinstance(after, Run):
        kinds = kinds_compared(before, after)
        found.tables += filter(None, [kinds_table(before, kinds)])
        of_passages = "" if before.table.cluster is None else f" {NOTE_ON_PASSAGES}"
        found.explanation = f"{NOTE}{of_passages} {NOTE_ON_KINDS}"
        notes = [f"{run.model}: {note}" for run in (before, after) for note in run.warnings]
        value |= {"notes": notes + setting_differences(before, after), "metrics": differences, "kinds": kinds}
    else:
        value["metrics"] = differences
    found.values.append(for_json(value))


def _compare_several(
    runs: Sequence[Run | DocumentRun], found: Comparisons, baseline: str | None, metrics: Sequence[str]
) -> None:
    """Add a table of values, and for each metric one of all pairs, or of those with the baseline; JSON has all."""
    task, title = runs[0].task, f"{runs[0].task}: {runs[0].size}"
    names = dict.fromkeys(name for run in runs for name in run.estimates)
    estimates = {name: [run.estimates.get(name, UNDEFINED) for run in runs] for name in names}
    value: dict[str, Any] = {"task": task, "models": [run.model for run in runs], runs[0].units: len(runs[0].ids)}
    if of_cora := [run for run in runs if isinstance(run, Run)]:
        table = score_table(of_cora, comparable=True)
        found.tables.append(Table(title, table.columns, table.rows))
        metrics = metrics or list(dict.fromkeys((lead_of(of_cora), "mcqa", "bmca@1.0")))
        value["runs"] = list(map(identity_of, of_cora))
        value["notes"] = [f"{run.model}: {note}" for run in of_cora for note in run.warnings]
    else:
        cells: list[list[Cell]] = [[name, *map(Number.of, row)] for name, row in estimates.items()]
        found.tables.append(Table(title, ["metric", *(run.model for run in runs)], cells))
        metrics = metrics or list(estimates)
    has_errors = any(map(_has_error, estimates.values()))
    all_pairs = {
        name: pairwise(row, None if baseline is None else 0)
        for name, row in estimates.items()
        if _has_error(row) or not (has_errors and any(map(_is_statistic, row)))
    }
    for name in metrics:
        if pairs := [pair for pair in all_pairs.get(name, ()) if not isnan(pair.change.value)]:
            found.tables.append(pairs_table(f"{task}: differences in {name}", value["models"], pairs))
    keys = ("before", "after", "difference", "mcnemar", "p_value", "p_together")
    value["metrics"] = {
        name: {
            "values": dict(zip(value["models"], estimates[name], strict=True)),
            "pairs": [
                dict(zip(keys, (runs[pair.before].model, runs[pair.after].model, *pair[2:]), strict=True))
                for pair in pairs
            ],
        }
        for name, pairs in all_pairs.items()
    }
    found.values.append(for_json(value))
    has_passages = any(run.table.cluster is not None for run in of_cora)
    found.explanation = f"{NOTE_ON_SEVERAL} {NOTE_ON_PASSAGES}" if has_passages else NOTE_ON_SEVERAL


def compared_metrics(before: Mapping[str, Estimate], after: Mapping[str, Estimate]) -> dict[str, Compared]:
    """Compute the difference of every metric between two sets of estimates, paired by question."""
    both = {name: own for name, own in before.items() if name in after}
    skipped = _is_statistic if _has_error(list(both.values())) else lambda own: False
    return {name: compared(own, after[name]) for name, own in both.items() if not skipped(own)}


def _has_error(estimates: Sequence[Estimate]) -> bool:
    return any(not isnan(estimate.stderr) for estimate in estimates)


def _is_statistic(estimate: Estimate) -> bool:
    """Whether an estimate is defined but has no standard error, such as a p-value or a range."""
    return not isnan(estimate.value) and isnan(estimate.stderr)


def _table_of_two(title: str, names: Sequence[str], comparison: Mapping[str, Compared]) -> Table:
    rows = [
        [name, Number.of(row.before), Number.of(row.after), *tested(row.change, row.test, row.p_value)]
        for name, row in comparison.items()
    ]
    return Table(title, ["metric", *names, "new minus old", "95%", "lost : gained", "p"], rows)


def matched(contestants: Sequence[Sequence[Run]]) -> tuple[list[list[Run]], list[str]]:
    """Group the runs of the same task and questions, at most one per contestant."""
    # Two single runs of a task on different questions are a group, too: the comparison then names both data sets.
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
    """Pairs of runs of the same task and filter, those with the same data first."""

    def of_task(run: Run, runs: Sequence[Run]) -> list[Run]:
        return [other for other in runs if (other.name, other.part) == (run.name, run.part)]

    pairs: dict[Run, Run] = {}
    for matches in _MATCHES:
        for run in before:
            free = [o for o in of_task(run, after) if o not in pairs.values() and matches(run.data, o.data)]
            if run not in pairs and free:
                pairs[run] = free[0]
    for run in before:
        if run not in pairs and len(of_task(run, before)) == len(others := of_task(run, after)) == 1:
            pairs[run] = others[0]
    return [(run, pairs[run]) for run in before if run in pairs]


def matched_documents(contestants: Sequence[Sequence[DocumentRun]]) -> tuple[list[list[DocumentRun]], list[str]]:
    """Group the runs of the same task and filter of the harness; and name those that only one contestant has."""
    groups = grouped_by(chain.from_iterable(contestants), lambda run: (run.name, run.filter)).values()
    return [group for group in groups if len(group) > 1], sorted(group[0].task for group in groups if len(group) == 1)
