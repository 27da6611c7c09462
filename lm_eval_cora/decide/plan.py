"""Plans of comparisons: the questions and requests with which a difference between two models is found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import ceil, isnan, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.decide.sample_size import (
    LEVEL,
    POWER,
    Contrast,
    correlation_of,
    questions_for_same,
    questions_needed,
    smallest_found,
    with_another,
)
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics import bmca, ci, cora, mcqa
from lm_eval_cora.metrics.accuracy import ALL_RIGHT
from lm_eval_cora.metrics.entries import is_known_early, saves_requests
from lm_eval_cora.metrics.estimate import FEW, IN_95_PERCENT, UNDEFINED, Estimate, for_json
from lm_eval_cora.metrics.responses import Bools, Ints, ResponseTable
from lm_eval_cora.questions.messages import counted, did_you_mean, first_few
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.model_run import Run, by_task, check_metric, lead_of
from lm_eval_cora.runs.task_files import published_questions
from lm_eval_cora.tables.table import Cell, CellRows, Table
from lm_eval_cora.variants.variant import place_in_asking

# Correlation of two models if it is not measured: the lowest that was found for frontier models on popular benchmarks,
# 0.3 to 0.7 (Miller 2024, arXiv:2411.00640, in Anthropic's summary). A lower correlation needs more questions.
CORRELATION = 0.3
_FEW_IN_A_RUN = 200  # runs with fewer questions get a note about the precision of their plan
_FEW_NEEDED = 100  # plans with fewer questions get a note, because intervals of few questions are not normal
_QUESTIONS = 1_000  # of which a typical model's answers consist; its shares have two or three digits


class Goal(NamedTuple):
    """What a comparison should find with this power: an interval of this level that excludes 0."""

    difference: float  # or the margin that contains the interval, if models should be shown to be the same
    power: float = POWER
    level: float = LEVEL
    metric: str = ""  # the one that leads the task's report
    correlation: float | None = None
    same: bool = False

    @property
    def finds(self) -> str:
        """What is found, in words."""
        return "show that equal models differ by less than" if self.same else "find a difference of"


@dataclass(frozen=True)
class Plan:
    """The plan of a comparison of two models on a task, or of a model like a typical one."""

    task: str
    models: tuple[str, ...]
    metric: str
    spread: float  # standard deviation of the difference that a question contributes
    correlation: float
    correlation_measured: bool
    questions: int
    requests: int  # of a full run of one model
    requests_exact: int | None  # of one with `--stop exact`, if that applies
    requests_per_question: float
    requests_per_question_exact: float
    benchmark_questions: int | None
    enough: bool | None
    smallest_difference: float  # that all questions of the benchmark find; nan if their number is unknown


def make_plans(runs: Sequence[Run], goal: Goal) -> tuple[list[Plan], list[str]]:
    """Plan comparisons of one or two models from their runs; without runs, of models like those of the CoRA paper."""
    plans, notes = _from_runs(runs, goal) if runs else (_typical(goal), [])
    for plan in plans:
        if plan.enough is False:
            notes.append(
                f"{plan.task}: the benchmark has {counted(plan.benchmark_questions or 0, 'question')}, too few. All of "
                f"them {goal.finds} {plan.smallest_difference:.3f} with a probability of {goal.power:g}"
            )
        if plan.questions < _FEW_NEEDED:
            notes.append(f"{plan.task}: with fewer than {_FEW_NEEDED} questions the numbers are rough")
    if not runs:
        notes.append(
            "The rows are the models of the CoRA paper's tables that need the fewest, a middle number of, and the most "
            "questions. A run of a few hundred questions gives your own: --from OUT"
        )
    if not all(plan.correlation_measured for plan in plans):
        notes.append(
            "The correlation is assumed, and the questions are proportional to 1 - correlation. Two runs on the same "
            "questions measure it: --from A --from B"
        )
    return plans, notes


def _from_runs(runs: Sequence[Run], goal: Goal) -> tuple[list[Plan], list[str]]:
    models = tuple(dict.fromkeys(run.model for run in runs))
    names = " and ".join(map(shorten, models))
    if (count := len(models)) > 2:
        raise UserError(
            f"--from: expected the runs of one or two models, got {count}: {first_few(map(shorten, models))}"
        )
    if count == 2 and goal.correlation is not None:
        raise UserError(
            f"--correlation {goal.correlation:g}: expected one model, got {names}, whose correlation is "
            "measured. Leave --correlation out, or pass one --from"
        )
    all_groups = by_task(runs).values()
    groups = [group for group in all_groups if len(group) == count]
    if not groups:
        raise UserError(f"--from: {names} have no task in common")
    if goal.metric:
        check_metric(goal.metric, (name for group in groups for run in group for name in run.estimates))
    alone = [group[0] for group in all_groups if len(group) < count]
    notes = [f"{run.task}: left out, because only {shorten(run.model)} has it" for run in alone]
    plans = []
    for group in groups:
        metric, task, table = goal.metric or lead_of(group), group[0].task, group[0].table
        if why := _cannot_plan(group, metric):
            notes.append(f"{task}: left out, because {why}")
            continue
        estimates, requests = [run.estimates[metric] for run in group], [_requests(run, metric) for run in group]
        means = [sum(each) / count for each in zip(*requests, strict=True)]
        available, per_unit = published_questions(group[0].name), len(table.sizes) / table.units
        case = _Case(task, models, metric, estimates, means, table.units, per_unit, available)
        plans.append(_plan(case, goal))
        if (units := table.effective) < _FEW_IN_A_RUN:
            notes.append(
                f"{task}: {table.size} in the run, so the numbers may be off by about "
                f"{IN_95_PERCENT * sqrt(2 / units):.0%}"
            )
    if not plans:
        raise UserError(f"--from: nothing can be planned. {'. '.join(notes)}")
    return plans, notes


def _cannot_plan(group: Sequence[Run], metric: str) -> str:
    """Reason why the runs of a task give no plan; empty if they do."""
    if any(run.is_stopped for run in group):
        return "a run with --until stopped because of its answers. Use a run without it"
    if len(group) == 2 and (reason := not_comparable(*group)):
        return f"the two runs cannot be compared: {reason}"
    for run in group:
        estimate = run.estimates.get(metric, UNDEFINED)
        if estimate.influence is None or isnan(estimate.stderr):
            name = metric or "its metric"
            return f"{name} has no standard error in closed form in {shorten(run.model)}. Use --metric"
        if not estimate.stderr:
            return f"{metric} cannot vary"
        if len(group) == 1 and estimate.largest_deviation:
            return f"one run does not show how much {metric} of two models differs. Pass two: --from A --from B"
    return ""


def _requests(run: Run, metric: str) -> tuple[float, float]:
    """Mean requests for a question in a full run, and with `--stop exact`: nan if that does not give the metric."""
    costs: Ints = np.ones(len(run.table.correct), dtype=np.int64)  # of each variant
    if run.form == "loglikelihood" and "|letters:next" not in run.signature:  # a request for each scored answer
        scored = [len(FORMATS[how.ask].scored({"printed": how.printed})) for how in run.source.records.parts]
        costs = np.array(scored, dtype=np.int64)[run.source.records.codes[1][run.rows]]
    full = float(costs.sum() / len(run.table.sizes))
    entry = next(entry for entry in run.entries if entry["metric"] == metric)
    if is_known_early(entry) and saves_requests(run.entries):
        return full, float(_requests_until_wrong(run.table, run.probe.hardest_first, costs).mean())
    return full, nan


def _requests_until_wrong(table: ResponseTable, hardest_first: Sequence[str], costs: Ints) -> Ints:
    """Number of requests for each question if it ends with its first wrong answer, before all skipped variants."""
    docs = [{"kind": kind, "original": False, "ordinal": 0} for kind in table.kinds]
    places = np.array([place_in_asking(doc, hardest_first)[1] for doc in docs], dtype=np.int64)
    order = np.lexsort((places[table.kind], ~table.original, table.question))  # a stable sort keeps the ordinals
    wrong = ~table.correct[order]
    before: Ints = np.cumsum(wrong) - wrong
    is_asked: Bools = before == before[table.starts][table.question[order]]
    return np.bincount(table.question[order][is_asked], costs[order][is_asked], len(table.sizes)).astype(int)


class _Case(NamedTuple):
    """What a plan is about: one model, or two models on the same questions."""

    task: str
    models: tuple[str, ...]
    metric: str
    estimates: Sequence[Estimate]
    requests: Sequence[float]  # for a question in a full run, and with `--stop exact`
    units: int  # the questions, or the passages that they share
    per_unit: float = 1.0  # questions
    available: int | None = None  # questions of the benchmark

    def contrast(self, goal: Goal) -> tuple[Contrast, float]:
        """The contrast of the two models, or of the model and one like it; and their correlation."""
        first, *others = sorted(self.estimates, key=lambda estimate: estimate.value)
        if others:
            return Contrast.of(first, others[0]), correlation_of(first, others[0])
        correlation = CORRELATION if goal.correlation is None else goal.correlation
        difference = 0.0 if goal.same else goal.difference
        return with_another(first, self.units, difference, correlation), correlation


def _plan(case: _Case, goal: Goal) -> Plan:
    contrast, correlation = case.contrast(goal)
    find = questions_for_same if goal.same else questions_needed
    if (units_needed := find(contrast, goal.difference, 0.0, goal.power, goal.level)) is None:
        option = "same" if goal.same else "difference"
        raise UserError(f"--{option} {goal.difference:g}: no number of questions finds it. Choose a larger one")
    needed, (full, exact) = ceil(max(FEW, units_needed) * case.per_unit), case.requests
    available = case.available
    units = available and round(available / case.per_unit)
    return Plan(
        case.task,
        case.models,
        case.metric,
        contrast.spread,
        correlation,
        correlation_measured=len(case.estimates) > 1,
        questions=needed,
        requests=ceil(needed * full),
        requests_exact=None if isnan(exact) else ceil(needed * exact),
        requests_per_question=full,
        requests_per_question_exact=exact,
        benchmark_questions=available,
        enough=None if available is None else needed <= available,
        smallest_difference=smallest_found(contrast, units, goal.power, goal.level, same=goal.same) if units else nan,
    )


class Model(NamedTuple):
    """A model of the CoRA paper on one of its benchmarks."""

    name: str
    benchmark: str
    options: int
    mcqa: float
    bmca: float
    requests: float  # mean for a question with `--stop exact`


MODELS = [Model(**row) for row in yaml.safe_load(Path(__file__).with_name("models.yaml").read_text("utf-8"))]

_Metric = Callable[[ResponseTable], Estimate]
METRICS: Mapping[str, _Metric] = {"cora": cora, "mcqa": mcqa, "ci": ci, ALL_RIGHT: partial(bmca, level=1.0)}
"""The metrics that follow from MCQA and BMCA(1.0)."""


def estimate_of(model: Model, metric: str) -> Estimate:
    """The metric of a typical model."""
    hits = np.arange(_QUESTIONS)[:, None] < [round(share * _QUESTIONS) for share in (model.mcqa, model.bmca)]
    return METRICS[metric](ResponseTable.from_hits(hits))


def chosen(metric: str) -> list[tuple[str, Model]]:
    """The models that need the fewest, a middle number of, and the most questions for a metric, with these words."""
    ordered = sorted(MODELS, key=lambda model: estimate_of(model, metric).stderr)
    return [("few", ordered[0]), ("middle", ordered[len(ordered) // 2 - 1]), ("many", ordered[-1])]


def _typical(goal: Goal) -> list[Plan]:
    metric = goal.metric or "cora"
    if metric not in METRICS:
        raise UserError(
            f"--metric {metric}: typical values exist for {', '.join(METRICS)} "
            f"only.{did_you_mean(metric, METRICS)} Pass a run with --from OUT for another metric"
        )
    plans = []
    for word, model in chosen(metric):
        variants = 2 + 6 * (model.options - 1)  # of the divergent probe
        task, requests = f"{word}: {model.name} on {model.benchmark}", [variants, model.requests]
        case = _Case(task, (model.name,), metric, [estimate_of(model, metric)], requests, _QUESTIONS)
        plans.append(_plan(case, goal))
    return plans


def as_table(plans: Sequence[Plan], goal: Goal) -> Table:
    """The plans as a table."""
    rows: CellRows = []
    for plan in plans:
        source = "measured" if plan.correlation_measured else "assumed"
        correlation = "n/a" if isnan(plan.correlation) else f"{plan.correlation:.2f} ({source})"
        exact: Cell = "n/a" if plan.requests_exact is None else plan.requests_exact
        available: Cell = "unknown" if plan.benchmark_questions is None else plan.benchmark_questions
        smallest = "" if isnan(plan.smallest_difference) else f"{plan.smallest_difference:.3f}"
        rows.append(
            [plan.task, f"{plan.metric} *", correlation, plan.questions, plan.requests, exact, available, smallest]
        )
    title = (
        f"Questions that {goal.finds} {goal.difference:g} with a probability of {goal.power:g} "
        f"({100 * goal.level:g}% intervals)"
    )
    columns = ["task", "metric", "correlation", "questions", "requests", "exact", "available", "they find"]
    reach = "margin" if goal.same else "difference"
    note = (
        "questions: how many both models answer. requests: for one model, with all variants of these questions; exact: "
        "with --stop exact. correlation: of the two models' results, question by question. available: all questions of "
        f"the benchmark; they find: the smallest {reach} that these find with the same probability. * decides."
    )
    return Table(title, columns, rows, note)


def as_json(plans: Sequence[Plan], goal: Goal, notes: Sequence[str]) -> dict[str, Any]:
    """The plans with all digits, undefined numbers as null."""
    numbers = {name: getattr(goal, name) for name in ("difference", "same", "power", "level")}
    return {**numbers, "notes": list(notes), "plans": [for_json(asdict(plan)) for plan in plans]}
