"""Tables of scores: the models of a task, all metrics, and all runs of a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

from lm_eval_cora import metrics
from lm_eval_cora.metrics.entries import is_in_table
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.report.content import Cell, Number, Table, difference_and_interval
from lm_eval_cora.report.tables import with_intervals
from lm_eval_cora.runs.model_run import Run

MAIN = ("mcqa", "bmca@1.0", "consistency_rate", "acc", "invalid")
"""Metrics of the table of models, after the one that leads."""

_FIRST = (
    "cora",
    "mcqa",
    "bmca@1.0",
    "ci",
    "mcqa_plus",
    "mv",
    "consistency_rate",
    "acc_mean",
    "acc_min",
    "acc_max",
    "invalid",
    "followed",
)
"""Metrics at the top of the score table."""

_OF_OWN_QUESTIONS = ("tf_", "confidence_", "multi_share", "recall_", "replaced_acc", "nota_acc_always_right")
"""Metrics on the questions that the model answered correctly, or wrongly. These questions differ between models."""

_UNMARKED = ("ci",)
"""Metrics whose highest value does not make a model better: a model that is always wrong has the highest CI."""


def score_table(runs: Sequence[Run], *, alike: bool) -> Table:
    """Make the table of all scores: a metric per row; for each model the value with its error, and the interval."""
    entries = {entry["metric"]: entry for run in runs for entry in run.entries if is_in_table(entry)}
    rows: list[list[Cell]] = []
    for name in (*(name for name in _FIRST if name in entries), *(name for name in entries if name not in _FIRST)):
        numbers = _marked(runs, name, entries[name].get("higher_is_better") if alike else None)
        rows.append([name, *(cell for number in numbers for cell in (number, number.interval))])
        if name == "consistency_rate" and not runs[0].table.written.any():
            chance = [Number(metrics.chance_consistency_rate(run.table) if run.table.is_whole else nan) for run in runs]
            rows.append(["consistency_rate by chance", *(cell for number in chance for cell in (number, ""))])
        if name == "recall_spread":
            chance = [Number.of(run.estimates.get("recall_spread_by_chance", UNDEFINED)) for run in runs]
            rows.append(["recall_spread by chance", *(cell for number in chance for cell in (number, ""))])
    rows.append(["questions", *(cell for run in runs for cell in (len(run.table.sizes), ""))])
    rows.append(["answers", *(cell for run in runs for cell in (run.table.answers, ""))])
    marks = f"{_MARKS}{_NO_MARK}" if _mark(rows) else ""
    note = f"Value ± standard error and 95% interval; the question is the unit of both.{marks}"
    return Table("All scores", with_intervals("metric", runs), rows, note, explained=True)


def number_of_questions(runs: Sequence[Run]) -> str:
    """The number of questions as text; the smallest and the largest number if runs differ."""
    counts = sorted({len(run.table.sizes) for run in runs})
    numbers = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{numbers} question{'' if counts == [1] else 's'}"


def model_table(runs: Sequence[Run], lead: str, *, alike: bool) -> Table:
    """Make the table of the main scores: a model per row, the best first."""
    ordered = sorted(runs, key=lambda run: -run.estimates[lead].value)
    entries = {entry["metric"]: entry for entry in runs[0].entries}
    names = [name for name in dict.fromkeys((lead, *MAIN)) if all(name in run.estimates for run in runs)]
    columns = [_marked(ordered, name, entries[name].get("higher_is_better") if alike else None) for name in names]
    rows: list[list[Cell]] = []
    for run, numbers in zip(ordered, zip(*columns, strict=True), strict=True):
        first, *others = numbers
        rows.append([run.model, first, first.interval, *others])
    note = f"Value ± standard error; the question is its unit.{_MARKS if _mark(rows) else ''}"
    return Table("Models", ["model", names[0], f"95% of {names[0]}", *names[1:]], rows, note, sortable=True)


_MARKS = (
    " Bold: the best model, and all models that cannot be told apart from it. The differences are paired by question, "
    "and their intervals hold for all pairs of models together."
)


_NO_MARK = " ci has no mark, because it is also high for a model that answers few originals correctly."


def _mark(rows: Sequence[Sequence[Cell]]) -> bool:
    return any(isinstance(cell, Number) and cell.best for row in rows for cell in row)


def _marked(runs: Sequence[Run], name: str, higher: bool | None) -> list[Number]:
    """The numbers of a metric, with marks if there are several models and a better direction."""
    estimates = [run.estimates.get(name, UNDEFINED) for run in runs]
    has_marks = (
        len(runs) > 1 and higher is not None and name not in _UNMARKED and not name.startswith(_OF_OWN_QUESTIONS)
    )
    best = metrics.leading(estimates, higher=bool(higher)) if has_marks else set()
    return [Number.of(one, best=place in best) for place, one in enumerate(estimates)]


def overviews(by_task: Mapping[str, Sequence[Run]]) -> list[Table]:
    """Make a table per probe, with a row per run. Scores of different probes cannot be compared."""
    by_probe: dict[str, list[Run]] = {}
    for runs in by_task.values():
        for run in runs:
            by_probe.setdefault(run.probe.name, []).append(run)
    tables = []
    for probe, runs in by_probe.items():
        names = [name for name in (*runs[0].probe.leads, *MAIN) if any(name in run.estimates for run in runs)]
        names = list(dict.fromkeys(names))
        rows: list[list[Cell]] = [
            [run.task, run.model, *(Number.of(run.estimates.get(name, UNDEFINED)) for name in names)] for run in runs
        ]
        note = f"{runs[0].probe.summary[:1].upper()}{runs[0].probe.summary[1:]}."
        tables.append(Table(f"All runs of the probe {probe}", ["task", "model", *names], rows, note, sortable=True))
    return tables


def differences(runs: Sequence[Run]) -> Table:
    """Tabulate the differences of the other models to the first one, paired by question."""
    first, *others = runs
    rows: list[list[Cell]] = []
    for name, estimate in first.estimates.items():
        changes = [difference(estimate, run.estimates.get(name, UNDEFINED)) for run in others]
        rows.append([name, *(cell for change in changes for cell in difference_and_interval(change))])
    return Table(
        f"Differences to {first.model}, new minus old",
        with_intervals("metric", others),
        rows,
        f"Each other model minus {first.model}, paired by question: difference ± standard error, and 95% interval of "
        "this difference alone. The command lm-eval-cora compare adds tests. Metrics computed only on the questions "
        "that a model answered correctly or wrongly may use different questions for each model.",
    )
