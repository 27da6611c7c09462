"""Compare two or more models on the same questions, or on the same documents of other tasks of the harness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.paired import Compared
from lm_eval_cora.metrics.several import Pair, pairwise
from lm_eval_cora.questions.messages import check_metric, counted, did_you_mean
from lm_eval_cora.report.compare import (
    as_json,
    as_table,
    compared_metrics,
    is_statistic,
    matched,
    matched_documents,
    metrics_as_json,
    run_as_json,
)
from lm_eval_cora.report.content import Cell, Number, Table
from lm_eval_cora.report.headline import lead_of
from lm_eval_cora.report.kinds import NOTE as NOTE_ON_KINDS
from lm_eval_cora.report.kinds import by_kind, kinds_as_json, kinds_table
from lm_eval_cora.report.pictures import pairs_table
from lm_eval_cora.report.scores import score_table
from lm_eval_cora.runs.comparable import not_comparable, sent_apart, told_apart
from lm_eval_cora.runs.documents import DocumentRun, documents_differ
from lm_eval_cora.runs.grouping import Contestant, read_contestants
from lm_eval_cora.runs.model_run import Run

NOTE = (
    "Differences are new minus old, paired by question: the second run minus the first, or the other run minus the "
    "baseline. For metrics that are a share of all questions, `lost : gained` counts the questions that changed, and p "
    "is McNemar's mid-p test. Metrics computed only on the questions that a model answered correctly or wrongly may "
    "use different questions in each run. They then have no test."
)

NOTE_ON_SEVERAL = (
    "Differences are new minus old, paired by question: a run minus one before it, or minus the baseline. The 95% "
    "intervals hold for all pairs of a table together, and p (Holm) is corrected for their number. `lost : gained` "
    "counts the questions that changed; p is then McNemar's mid-p test."
)


class _Compares(Protocol):
    """What a comparison needs of a run."""

    @property
    def model(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def estimates(self) -> Mapping[str, Estimate]: ...


R = TypeVar("R", bound=_Compares)


def _pair(runs: Sequence[R], other: R) -> str:
    """Which two runs a note is about: the task alone if there are only two."""
    return runs[0].task if len(runs) == 2 else f"{runs[0].task}, {runs[0].model} and {other.model}"


@dataclass
class Comparisons:
    """The comparisons of all tasks.

    Attributes:
        tables: The tables of each task.
        values: The comparison of each task for JSON, with all digits.
        notes: Messages about the runs.
        refused: Reasons why runs cannot be compared.
        explanation: What the columns mean; empty without a table.
    """

    tables: list[Table] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    explanation: str = ""


def compare_models(
    paths: Sequence[Path],
    *,
    reader: Reader | None = None,
    labels: Mapping[Path, str] | None = None,
    baseline: str | None = None,
    metrics: Sequence[str] = (),
) -> Comparisons:
    """Compare the models of some paths, task by task."""
    contestants = read_contestants(paths, reader, labels)
    order = _with_baseline_first(contestants, baseline)
    groups, alone = matched([contestant.runs for contestant in order])
    others, also_alone = matched_documents([contestant.documents for contestant in order])
    if not groups and not others:
        tasks = [f"{c.name} has {', '.join(c.tasks)}" for c in contestants]
        raise UserError(f"there is no task in common: {'; '.join(tasks)}")
    all_groups: list[Sequence[_Compares]] = [*groups, *others]
    known = [name for group in all_groups for run in group for name in run.estimates]
    for metric in metrics:
        check_metric(metric, known)
    found = Comparisons()
    for group in _with(order[0], groups, found, baseline):
        found.notes += [f"{run.model}, {run.task}: {note}" for run in group for note in run.warnings]
        for runs in _comparable(group, not_comparable, found, one_pair=baseline is not None):
            found.notes += [f"{_pair(runs, run)}: {note}" for run in runs[1:] for note in told_apart(runs[0], run)]
            _compare_runs(runs, found, baseline, metrics)
    for documents in _with(order[0], others, found, baseline):
        found.notes += [f"{run.model}, {run.task}: {note}" for run in documents for note in run.notes]
        for runs_of_documents in _comparable(documents, documents_differ, found, one_pair=baseline is not None):
            first, *rest = runs_of_documents
            for run in rest:
                which = _pair(runs_of_documents, run)
                found.notes += [f"{which}: {note}" for note in sent_apart(first.sent, run.sent)]
            _compare_documents(runs_of_documents, found, baseline, metrics)
    if alone or also_alone:
        found.notes.append(f"not compared, because only one model has it: {', '.join([*alone, *also_alone])}")
    return found


def _with_baseline_first(contestants: Sequence[Contestant], baseline: str | None) -> list[Contestant]:
    if baseline is None:
        return list(contestants)
    chosen = [c for c in contestants if baseline in (c.name, str(c.path)) or Path(baseline) == c.path]
    if len(chosen) != 1:
        names = [c.name for c in contestants]
        found = f"{len(chosen)} models" if chosen else "none"
        raise UserError(
            f"--baseline {baseline}: expected the path or name of one model, got {found}."
            f"{did_you_mean(baseline, names)} The models are {', '.join(names)}"
        )
    return [*chosen, *(c for c in contestants if c is not chosen[0])]


def _with(
    first: Contestant, groups: Sequence[Sequence[R]], found: Comparisons, baseline: str | None
) -> Iterator[Sequence[R]]:
    """Yield the groups that have the baseline; all of them without a baseline."""
    for group in groups:
        if baseline is None or group[0].model == first.name:
            yield group
        else:
            found.notes.append(f"{group[0].task}: not compared, because the baseline {first.name} does not have it")


def _comparable(
    group: Sequence[R], differ: Callable[[R, R], str], found: Comparisons, *, one_pair: bool
) -> Iterator[list[R]]:
    """Yield the runs of a task that can be compared with each other; record why others cannot."""
    left = list(group)
    while len(left) > 1:
        first, *others = left
        reasons = {run.model: differ(first, run) for run in others}
        alike = [first, *(run for run in others if not reasons[run.model])]
        left = [run for run in others if reasons[run.model]]
        for run in left:
            whose = f" {first.model} and {run.model}" if len(group) > 2 else " the two runs"
            found.refused.append(f"{first.task}:{whose} cannot be compared: {reasons[run.model]}")
        if len(alike) > 1:
            yield alike
        if one_pair:
            return


def _compare_runs(runs: Sequence[Run], found: Comparisons, baseline: str | None, metrics: Sequence[str]) -> None:
    questions = len(runs[0].table.sizes)
    if len(runs) == 2:
        before, after = runs
        rows = _chosen(compared_metrics(before.estimates, after.estimates), metrics)
        kinds = by_kind(before, after)
        title = f"{before.task}: {counted(questions, 'question')}"
        found.tables += filter(None, [as_table(title, (before.model, after.model), rows), kinds_table(before, kinds)])
        found.values.append({**as_json(before, after, rows), "kinds": kinds_as_json(kinds)})
        found.explanation = f"{NOTE} {NOTE_ON_KINDS}"
        return
    main = dict.fromkeys((lead_of(runs), "mcqa", "bmca@1.0"))
    table = score_table(runs, alike=True)
    found.tables.append(Table(f"{runs[0].task}: {counted(questions, 'question')}", table.columns, table.rows))
    told = {
        "questions": questions,
        "runs": [run_as_json(run) for run in runs],
        "notes": [f"{run.model}: {note}" for run in runs for note in run.warnings],
    }
    _compare_pairs(runs, found, baseline, metrics or tuple(main), told)


def _compare_documents(
    runs: Sequence[DocumentRun], found: Comparisons, baseline: str | None, metrics: Sequence[str]
) -> None:
    questions = runs[0].questions
    title = f"{runs[0].task}: {counted(questions, 'document')}"
    if not any(run.estimates for run in runs):
        found.refused.append(f"{runs[0].task}: no metric is a mean over documents, so there is nothing to compare")
        return
    if len(runs) == 2:
        before, after = runs
        rows = _chosen(compared_metrics(before.estimates, after.estimates), metrics)
        found.tables.append(as_table(title, (before.model, after.model), rows))
        found.values.append(
            {
                "task": before.task,
                "before": {"model": before.model},
                "after": {"model": after.model},
                "documents": questions,
                "metrics": metrics_as_json(rows),
            }
        )
        found.explanation = found.explanation or NOTE
        return
    names = list(dict.fromkeys(name for run in runs for name in run.estimates))
    cells: list[list[Cell]] = [
        [name, *(Number.of(run.estimates.get(name, UNDEFINED)) for run in runs)] for name in names
    ]
    found.tables.append(Table(title, ["metric", *(run.model for run in runs)], cells))
    _compare_pairs(runs, found, baseline, metrics or names, {"documents": questions})


def _chosen(rows: dict[str, Compared], metrics: Sequence[str]) -> dict[str, Compared]:
    """The rows of the chosen metrics; all rows if none is chosen."""
    return {name: row for name, row in rows.items() if not metrics or name in metrics}


def _compare_pairs(
    runs: Sequence[_Compares],
    found: Comparisons,
    baseline: str | None,
    metrics: Sequence[str],
    told: Mapping[str, Any],
) -> None:
    """Add a table of all pairs, or of those with the baseline, for each metric; JSON has all metrics."""
    names = dict.fromkeys(name for run in runs for name in run.estimates)
    estimates = {name: [run.estimates.get(name, UNDEFINED) for run in runs] for name in names}
    has_errors = any(_has_error(found) for found in estimates.values())
    all_pairs = {
        name: pairwise(found, None if baseline is None else 0)
        for name, found in estimates.items()
        if _has_error(found) or not (has_errors and any(map(is_statistic, found)))
    }
    for name in metrics:
        if pairs := [pair for pair in all_pairs.get(name, ()) if not isnan(pair.change.value)]:
            rows = [f"{runs[pair.after].model} - {runs[pair.before].model}" for pair in pairs]
            found.tables.append(pairs_table(f"{runs[0].task}: differences in {name}", rows, pairs))
    found.values.append(
        {
            "task": runs[0].task,
            "models": [run.model for run in runs],
            **told,
            "metrics": {
                name: {
                    "values": {run.model: for_json(run.estimates.get(name, UNDEFINED)) for run in runs},
                    "pairs": [_pair_as_json(pair, runs) for pair in pairs],
                }
                for name, pairs in all_pairs.items()
            },
        }
    )
    found.explanation = NOTE_ON_SEVERAL


def _has_error(estimates: Sequence[Estimate]) -> bool:
    return any(not isnan(estimate.stderr) for estimate in estimates)


def _pair_as_json(pair: Pair, runs: Sequence[_Compares]) -> dict[str, Any]:
    return {
        "before": runs[pair.before].model,
        "after": runs[pair.after].model,
        "difference": for_json(pair.change._asdict()),
        "mcnemar": None if pair.test is None else pair.test._asdict(),
        "p_value": for_json(pair.p_value),
        "p_holm": for_json(pair.adjusted),
    }
