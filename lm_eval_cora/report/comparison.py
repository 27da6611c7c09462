"""Compare two or more models on the same questions, or on the same documents of other tasks of the harness."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.consistency import CORA_FALLS, cora_falls
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.paired import METHODS, Pair, pairs_by_metric
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.report.changed import WhatChanged, what_changed
from lm_eval_cora.report.markdown import identity_of
from lm_eval_cora.report.pictures import NOTE_ON_KINDS, TESTED, kinds_table, pairs_table, tested
from lm_eval_cora.report.result_tables import score_table
from lm_eval_cora.runs.by_kind import kinds_compared
from lm_eval_cora.runs.comparable import not_comparable, setting_differences
from lm_eval_cora.runs.grouping import Contestant, read_contestants
from lm_eval_cora.runs.model_run import Run, Runs, check_metrics, lead_of
from lm_eval_cora.runs.task_files import printed_name
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import CellRows, Table

_NEW_MINUS_OLD = "Differences are new minus old, paired by question: a run minus one before it, or minus the baseline."
_ALONE = "The 95% interval excludes 0 exactly if p is below 0.05."
_TOGETHER = (
    "The 95% intervals and p-values hold for all pairs of a table together (max-t): an interval excludes 0 exactly if "
    "its p is below 0.05."
)
_RANKS = "* ranks the models."
_SENTENCES = (_NEW_MINUS_OLD, _ALONE, _TOGETHER, *METHODS.values(), CORA_FALLS, NOTE_ON_KINDS, _RANKS)
# Ways in which the data of two runs of a task can match, the strictest first.
_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # the same questions in a renamed file
    lambda one, other: not (one.digest and other.digest),
)


@dataclass
class Comparisons:
    """The comparisons of all tasks."""

    tables: list[Table] = field(default_factory=list)  # their notes have a sentence per line
    values: list[dict[str, Any]] = field(default_factory=list)  # for JSON, with all digits
    rows: list[dict[str, Any]] = field(default_factory=list)  # for CSV: a pair of models in a metric of the tables
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # reasons why runs cannot be compared
    changed: list[WhatChanged] = field(default_factory=list)  # only if it was asked for

    @property
    def explanation(self) -> str:
        """What the columns of the tables mean; empty without a table."""
        needed = {line for table in self.tables for line in table.note.splitlines()}
        return " ".join(sentence for sentence in _SENTENCES if sentence in needed)


def compare_models(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    changed: bool = False,
    paper: bool = False,
) -> Comparisons:
    """Compare the models of some paths, task by task, with tables for a terminal or a paper; or find what changed."""
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
    for group in groups:
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
                if task not in {own[0].task for own in groups if not own[0].scores}:  # there its responses are compared
                    found.refused.append(f"{task}: no metric is a mean over documents, so there is nothing to compare")
            elif changed:
                own = [metric for metric in metrics if metric in runs[0].estimates]
                if own or not metrics:
                    found.changed.append(what_changed(runs[0], runs[1], *own[:1]))
            else:
                _add(runs, found, None if baseline is None else 0, metrics, paper)
    if alone:
        found.notes.append(f"not compared, because only one model has it: {', '.join(alone)}")
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


def _add(runs: Runs, found: Comparisons, baseline: int | None, metrics: Sequence[str], paper: bool) -> None:
    """Add the differences of comparable runs: a table of metrics for two, and tables of pairs for more."""
    of_cora = [run for run in runs if not run.scores]
    lead = lead_of(runs)
    pairs = compared_metrics([run.estimates for run in runs], baseline)
    task, size, models, several = runs[0].task, runs[0].size, [run.model for run in runs], len(runs) > 2
    if not metrics and several and of_cora:
        metrics = list(dict.fromkeys((lead, "mcqa", "bmca@1.0")))
    chosen = {name: pairs[name] for name in metrics or pairs if name in pairs}
    rights = [[run.estimates.get(name, UNDEFINED).value for name in ("mcqa", "bmca@1.0")] for run in of_cora]

    def named(name: str) -> str:
        return printed_name(name) if paper else f"{name} *" if name == lead else name

    def add(table: Table, names: Collection[str]) -> None:
        methods = {pair.method for name in names for pair in chosen[name].values()}
        texts = {
            f"{size}.": paper,
            _NEW_MINUS_OLD: True,
            _TOGETHER if several else _ALONE: True,
            **{reason: method in methods for method, reason in METHODS.items()},
            CORA_FALLS: "cora" in names and any(cora_falls(*each) for each in rights),
            _RANKS: not (paper or several) and lead in names,
        }
        shown = table.without("lost : gained") if paper else table
        found.tables.append(replace(shown, note="\n".join(text for text, is_needed in texts.items() if is_needed)))

    value: dict[str, Any] = {"task": task, runs[0].units: len(runs[0].ids)}
    identities = [identity_of(run) if of_cora else {"model": run.model} for run in runs]
    notes = [f"{run.model}: {note}" for run in of_cora for note in run.warnings]
    if several:
        if not paper:
            found.tables.append(replace(_values(runs, of_cora, named), note=_RANKS if lead else ""))
        for name, own in chosen.items():
            if known := {places: pair for places, pair in own.items() if not isnan(pair.value)}:
                title = f"{task}: differences in {printed_name(name) if paper else name}"
                add(pairs_table(title, models, known), [name])
        value |= {"models": models, "metrics": {name: _several_as_json(runs, name, own) for name, own in pairs.items()}}
        value |= {"runs": identities, "notes": notes} if of_cora else {}
    else:
        rows: CellRows = [
            [named(name), Number.of(pair.before), Number.of(pair.after), *tested(pair)]
            for name, own in chosen.items()
            for pair in own.values()
        ]
        title = f"{task}: {'differences' if paper else size}"
        add(Table(title, ["metric", *models, *TESTED], rows), chosen)
        value |= dict(zip(("before", "after"), identities, strict=True))
        value["metrics"] = {name: _two_as_json(*own.values()) for name, own in chosen.items()}
        if of_cora:
            kinds = kinds_compared(*of_cora)
            if table := kinds_table(of_cora[0], kinds):
                found.tables.append(replace(table, note=NOTE_ON_KINDS))
            value |= {"notes": notes + setting_differences(*of_cora), "kinds": kinds}
    found.values.append(for_json(value))
    found.rows += [
        {"task": task, "metric": name, "first": models[old], "second": models[new], **pair.numbers}
        for name, own in chosen.items()
        for (old, new), pair in own.items()
    ]


def _values(runs: Runs, of_cora: Runs, named: Callable[[str], str]) -> Table:
    """The table of the values of several models."""
    names = dict.fromkeys(name for run in runs for name in run.estimates)
    values: CellRows = [[name, *(Number.of(run.estimates.get(name, UNDEFINED)) for run in runs)] for name in names]
    table = Table("", ["metric", *(run.model for run in runs)], values)
    if of_cora:
        table = score_table(of_cora, comparable=True)
    rows = [[named(str(name)), *cells] for name, *cells in table.rows]
    return Table(f"{runs[0].task}: {runs[0].size}", table.columns, rows)


def _two_as_json(pair: Pair) -> dict[str, Any]:
    estimates = {"before": pair.before, "after": pair.after, "difference": pair.change, "mcnemar": pair.test}
    return estimates | {"p_value": pair.p_value, "method": pair.method}


def _several_as_json(runs: Runs, metric: str, pairs: Mapping[tuple[int, int], Pair]) -> dict[str, Any]:
    return {
        "values": {run.model: run.estimates.get(metric, UNDEFINED) for run in runs},
        "pairs": [
            {
                **_two_as_json(pair),
                "before": runs[old].model,
                "after": runs[new].model,
                "difference": pair.together,
                "alone": pair.change,
                "p_together": pair.p_together,
            }
            for (old, new), pair in pairs.items()
        ],
    }


def compared_metrics(
    models: Sequence[Mapping[str, Estimate]], baseline: int | None = None
) -> dict[str, dict[tuple[int, int], Pair]]:
    """The pairs of models in each metric; statistics without errors are left out if other metrics have one."""
    pairs = pairs_by_metric(models, baseline)
    estimates = {name: [own[name] for own in models if name in own] for name in pairs}
    has_errors = any(map(_has_error, estimates.values()))
    return {
        name: own
        for name, own in pairs.items()
        if _has_error(estimates[name]) or not (has_errors and any(map(_is_statistic, estimates[name])))
    }


def _has_error(estimates: Sequence[Estimate]) -> bool:
    return any(not isnan(estimate.stderr) for estimate in estimates)


def _is_statistic(estimate: Estimate) -> bool:
    """Whether an estimate is defined but has no standard error, such as a p-value or a range."""
    return not isnan(estimate.value) and isnan(estimate.stderr)


def matched(contestants: Sequence[Runs]) -> tuple[list[list[Run]], list[str]]:
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


def _pairs(before: Runs, after: Runs) -> list[tuple[Run, Run]]:
    """Pairs of runs of the same task and filter, those with the same data first."""

    def of_task(run: Run, runs: Runs) -> list[Run]:
        same = [other for other in runs if _called(other) == _called(run)]
        return same or [other for other in runs if run.collected and other.data == run.data]  # logs of any name

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


def _called(run: Run) -> tuple[str, str, str]:
    """What the runs of a task have in common; other tasks of the harness may have any filters."""
    return run.units, run.name, run.filter if run.scores else run.part
