"""Compare two or more models on the same questions, or on the same documents of other tasks of the harness."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.report.pair_views import Compared, WhatChanged, has_answers, what_changed
from lm_eval_cora.report.score_views import main_of, on_paper
from lm_eval_cora.runs.comparable import not_comparable, pairs_of, setting_differences
from lm_eval_cora.runs.grouping import Contestant, read_contestants
from lm_eval_cora.runs.model_run import Run, Runs, check_metrics
from lm_eval_cora.tables.table import Table

_OTHERS = (
    " First model: values; others: paired differences to it. p holds for all models of a metric together: * 0.05, "
    "** 0.01, *** 0.001."
)


@dataclass
class Comparisons:
    """The comparisons of all tasks, or what changed in them."""

    found: list[Compared] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # reasons why runs cannot be compared
    changed: list[WhatChanged] = field(default_factory=list)  # only if it was asked for

    @property
    def tables(self) -> list[Table]:
        """The tables for a terminal."""
        return [table for each in self.found for table in each.tables]

    def paper_tables(self, metrics: Sequence[str], **layout: Any) -> list[Table]:
        """The values of the first model, and the differences of the others to it, in one table for a paper."""
        chosen = (main_of(each.runs) if has_answers(each.runs) else each.chosen for each in self.found)
        names = list(dict.fromkeys(metrics or chain.from_iterable(chosen)))
        runs = ((each, place, run) for each in self.found for place, run in enumerate(each.runs))
        cells = {run: [each.on_paper(name, place) for name in names] for each, place, run in runs}
        return on_paper(f"Differences to {self.found[0].runs[0].model}", names, cells, _OTHERS, **layout)


def compare_models(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    changed: bool = False,
) -> Comparisons:
    """Compare the models of some paths, task by task; or find what changed. An empty baseline is the first model."""
    contestants = read_contestants(paths, reader, labels)
    if changed and len(contestants) != 2:
        raise UserError(f"--changed: expected two models, got {len(contestants)}. Pass one path for each")
    order = _with_baseline_first(contestants, baseline)
    groups, alone = matched([contestant.runs for contestant in order])
    if not groups:
        tasks = [f"{c.name} has {', '.join(c.tasks)}" for c in contestants]
        raise UserError(f"there is no task in common: {'; '.join(tasks)}")
    check_metrics(metrics, list(chain.from_iterable(groups)))
    found = Comparisons()
    with_responses = {group[0].task for group in groups if not group[0].scores}
    for group in groups:
        task = group[0].task
        if baseline is not None and group[0].model != order[0].name:
            found.notes.append(f"{task}: not compared, because the baseline {order[0].name} does not have it")
            continue
        found.notes += [f"{run.model}, {task}: {note}" for run in group for note in run.warnings]
        for runs in _comparable(group, found, one_pair=baseline is not None):
            found.notes += _differing_settings(runs)
            own = [metric for metric in metrics if metric in runs[0].estimates]
            if not any(run.estimates for run in runs):
                if task not in with_responses:  # they are compared
                    found.refused.append(f"{task}: no metric is a mean over documents, so there is nothing to compare")
            elif not changed:
                found.found.append(Compared.of(runs, metrics, None if baseline is None else 0))
            elif own or not metrics:
                found.changed.append(what_changed(runs[0], runs[1], *own[:1]))
    if alone:
        found.notes.append(f"not compared, because only one model has it: {', '.join(alone)}")
    return found


def _differing_settings(runs: Runs) -> Iterator[str]:
    first, *others = runs
    for run in others:
        pair = first.task if len(runs) == 2 else f"{first.task}, {first.model} and {run.model}"
        yield from (f"{pair}: {note}" for note in setting_differences(first, run))


def _with_baseline_first(contestants: Sequence[Contestant], baseline: str | None) -> list[Contestant]:
    if not baseline:
        return list(contestants)
    chosen = [c for c in contestants if baseline == c.name or Path(baseline) == c.path]
    if len(chosen) != 1:
        names, found = [c.name for c in contestants], f"{len(chosen)} models" if chosen else "none"
        raise UserError(
            f"--baseline {baseline}: expected the path or name of one model, got "
            f"{found}.{did_you_mean(baseline, names)} The models are {', '.join(names)}"
        )
    return [*chosen, *(c for c in contestants if c is not chosen[0])]


def _comparable(group: Runs, found: Comparisons, *, one_pair: bool) -> Iterator[list[Run]]:
    """Yield the runs of a task that can be compared with each other; record why others cannot."""
    left = list(group)
    while len(left) > 1:
        first, *others = left
        reasons = {run.model: not_comparable(first, run) for run in others}
        comparable = [first, *(run for run in others if not reasons[run.model])]
        left = [run for run in others if reasons[run.model]]
        for run in left:
            whose = f" {first.model} and {run.model}" if len(group) > 2 else " the two runs"
            found.refused.append(f"{first.task}:{whose} cannot be compared: {reasons[run.model]}")
        if len(comparable) > 1:
            yield comparable
        if one_pair:
            return


def matched(contestants: Sequence[Runs]) -> tuple[list[list[Run]], list[str]]:
    """Group the runs of the same task and questions, at most one per contestant."""
    # Two single runs of a task on different questions are a group, too: the comparison then names both data sets.
    groups: list[list[Run]] = []
    taken: set[Run] = set()
    for place, own in enumerate(contestants):
        free = [run for run in own if run not in taken]
        found: dict[Run, list[Run]] = {run: [run] for run in free}
        for others in contestants[place + 1 :]:
            for one, other in pairs_of(free, [run for run in others if run not in taken]):
                found[one].append(other)
        for group in found.values():
            if len(group) > 1:
                groups.append(group)
                taken.update(group)
    alone = sorted({run.task for own in contestants for run in own if run not in taken})
    return groups, alone
