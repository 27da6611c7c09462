"""Plans of comparisons: the questions and requests with which a difference between two models is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.decide.sample_size import (
    LEVEL,
    POWER,
    Contrast,
    correlation_of,
    questions_needed,
    smallest_difference,
    with_another,
)
from lm_eval_cora.decide.typical import CORRELATION, METRICS, QUESTIONS, chosen, estimate_of
from lm_eval_cora.discovery.task_files import published_questions
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.entries import is_known_early
from lm_eval_cora.metrics.estimate import UNDEFINED, for_json
from lm_eval_cora.metrics.intervals import IN_95_PERCENT
from lm_eval_cora.metrics.responses import Ints
from lm_eval_cora.metrics.stopping import requests_until_wrong, saves_requests
from lm_eval_cora.questions.messages import counted, did_you_mean, first_few
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.report.content import Cell, Table
from lm_eval_cora.report.headline import lead_of
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.model_run import Run

_FEW_IN_A_RUN = 200
"""Runs with fewer questions get a note about the precision of their plan."""

_FEW_NEEDED = 100
"""Plans with fewer questions get a note, because intervals of few questions are not normal."""

_FEWEST = 30
"""Plans have at least so many questions, because the intervals of fewer are not reliable."""

NOTE = (
    "questions: how many both models answer. requests: for one model, with all variants of these questions; exact: "
    "with --stop exact. correlation: of the two models' results, question by question. available: all questions of the "
    "benchmark; they find: the smallest difference that these find with the same probability."
)


class Goal(NamedTuple):
    """What a comparison should find.

    Attributes:
        difference: The true difference between two models.
        power: Probability that the interval of the difference excludes 0.
        level: Confidence level of the interval.
        metric: The metric; empty for the one that leads the task's report.
        correlation: Correlation of the models; None if it is not given.
    """

    difference: float
    power: float = POWER
    level: float = LEVEL
    metric: str = ""
    correlation: float | None = None


@dataclass(frozen=True)
class Plan:
    """The plan of a comparison of two models on a task.

    Attributes:
        task: Name of the task, or of a typical model.
        models: The models whose answers the plan comes from.
        metric: The metric.
        spread: Standard deviation of the difference that a question contributes.
        correlation: Correlation of the two models.
        is_measured: Whether the correlation was measured.
        questions: Number of questions needed.
        per_question: Mean number of requests for a question.
        per_question_exact: The same with `--stop exact`; nan if it does not apply.
        available: Number of questions of the benchmark; None if it is unknown.
        reach: The difference that all questions of the benchmark find; nan if their number is unknown.
        is_typical: Whether the plan comes from a table, not from a run.
    """

    task: str
    models: tuple[str, ...]
    metric: str
    spread: float
    correlation: float
    is_measured: bool
    questions: int
    per_question: float
    per_question_exact: float
    available: int | None = None
    reach: float = nan
    is_typical: bool = False

    @property
    def requests(self) -> int:
        """Requests of a full run of one model."""
        return ceil(self.questions * self.per_question)

    @property
    def requests_exact(self) -> int | None:
        """Requests of a run with `--stop exact` of one model; None if it does not apply."""
        return None if isnan(self.per_question_exact) else ceil(self.questions * self.per_question_exact)


def plan_typical(goal: Goal) -> list[Plan]:
    """Plan a comparison of models like those of the CoRA paper."""
    metric = goal.metric or "cora"
    if metric not in METRICS:
        raise UserError(
            f"--metric {metric}: typical values exist for {', '.join(METRICS)} only.{did_you_mean(metric, METRICS)} "
            "Pass a run with --from OUT for another metric"
        )
    correlation = CORRELATION if goal.correlation is None else goal.correlation
    plans = []
    for word, model in chosen(metric):
        contrast = with_another(estimate_of(model, metric), QUESTIONS, goal.difference, correlation)
        name = f"{word}: {model.name} on {model.benchmark}"
        needed = _needed(contrast, goal)
        plans.append(
            Plan(
                name,
                (model.name,),
                metric,
                contrast.spread,
                correlation,
                is_measured=False,
                questions=needed,
                per_question=model.variants,
                per_question_exact=model.requests,
                is_typical=True,
            )
        )
    return plans


def plan_runs(runs: Sequence[Run], goal: Goal) -> tuple[list[Plan], list[str]]:
    """Plan comparisons from the runs of one model, or of two models on the same questions."""
    models = list(dict.fromkeys(run.model for run in runs))
    if len(models) > 2:
        raise UserError(
            f"--from: expected the runs of one or two models, got {len(models)}: {first_few(map(shorten, models))}"
        )
    names = " and ".join(map(shorten, models))
    if len(models) == 2 and goal.correlation is not None:
        raise UserError(
            f"--correlation {goal.correlation:g}: expected one model, got {names}, whose correlation is "
            "measured. Leave --correlation out, or pass one --from"
        )
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    groups = [group for group in by_task.values() if len(group) == len(models)]
    if not groups:
        raise UserError(f"--from: {names} have no task in common")
    _check_metric(goal.metric, groups)
    alone = [group[0] for group in by_task.values() if len(group) < len(models)]
    notes = [f"{run.task}: left out, because only {shorten(run.model)} has it" for run in alone]
    plans = []
    for group in groups:
        metric = goal.metric or lead_of(group)
        if why := _cannot_plan(group, metric):
            notes.append(f"{group[0].task}: left out, because {why}")
            continue
        plans.append(_plan(group, metric, goal))
        questions = len(group[0].table.sizes)
        if questions < _FEW_IN_A_RUN:
            off = IN_95_PERCENT * sqrt(2 / questions)
            notes.append(
                f"{group[0].task}: {counted(questions, 'question')} in the run, so the numbers may be off by about "
                f"{off:.0%}"
            )
    if not plans:
        raise UserError(f"--from: nothing can be planned. {'. '.join(notes)}")
    return plans, notes


def _check_metric(metric: str, groups: Sequence[Sequence[Run]]) -> None:
    known = list(dict.fromkeys(name for group in groups for run in group for name in run.estimates))
    if metric and metric not in known:
        raise UserError(
            f"--metric {metric}: there is no such metric.{did_you_mean(metric, known)} The metrics are "
            f"{', '.join(known)}"
        )


def _cannot_plan(group: Sequence[Run], metric: str) -> str:
    """Reason why the runs of a task give no plan; empty if they do."""
    if any(run.is_two_phase for run in group):
        return "a run with --target does not show how much single questions vary. Use a run without it"
    if len(group) == 2 and (reason := not_comparable(*group)):
        return f"the two runs cannot be compared: {reason}"
    for run in group:
        estimate = run.estimates.get(metric, UNDEFINED)
        if estimate.influence is None or isnan(estimate.stderr):
            return (
                f"{metric or 'its metric'} has no standard error in closed form in {shorten(run.model)}. Use --metric"
            )
        if not estimate.stderr:
            return f"{metric} cannot vary"
        if len(group) == 1 and estimate.farthest:
            return f"one run does not show how much {metric} of two models differs. Pass two: --from A --from B"
    return ""


def _needed(contrast: Contrast, goal: Goal) -> int:
    found = questions_needed(contrast, goal.difference, 0.0, goal.power, goal.level)
    if found is None:
        raise UserError(f"--difference {goal.difference:g}: no number of questions finds it. Choose a larger one")
    return max(_FEWEST, found)


def _contrast(group: Sequence[Run], metric: str, goal: Goal) -> tuple[Contrast, float]:
    """The contrast of the models, and the correlation: measured for two runs."""
    first, *others = sorted((run.estimates[metric] for run in group), key=lambda estimate: estimate.value)
    questions = len(group[0].table.sizes)
    if others:
        return Contrast.of(first, others[0]), correlation_of(first, others[0])
    correlation = CORRELATION if goal.correlation is None else goal.correlation
    return with_another(first, questions, goal.difference, correlation), correlation


def _plan(group: Sequence[Run], metric: str, goal: Goal) -> Plan:
    contrast, correlation = _contrast(group, metric, goal)
    full, exact = zip(*(_requests(run, metric) for run in group), strict=True)
    available = published_questions(group[0].name)
    return Plan(
        group[0].task,
        tuple(run.model for run in group),
        metric,
        contrast.spread,
        correlation,
        len(group) == 2,
        _needed(contrast, goal),
        sum(full) / len(full),
        sum(exact) / len(exact),
        available,
        smallest_difference(contrast, available, goal.power, goal.level) if available else nan,
    )


def _requests(run: Run, metric: str) -> tuple[float, float]:
    """Mean requests for a question in a full run, and with `--stop exact`: nan if that does not give the metric."""
    costs = _costs(run)
    full = float(costs.sum() / len(run.table.sizes))
    entry = next(entry for entry in run.entries if entry["metric"] == metric)
    if not (is_known_early(entry) and saves_requests(run.entries)):
        return full, nan
    return full, float(requests_until_wrong(run.table, run.probe.hardest_first, costs).mean())


def _costs(run: Run) -> Ints:
    """(R,) number of requests for each variant: one, or one for each scored answer."""
    if run.form != "loglikelihood":
        return np.ones(len(run.table.correct), dtype=np.int64)
    asked = [len(FORMATS[how.ask].scored({"printed": how.printed})) for how in run.records.parts]
    return np.array(asked, dtype=np.int64)[np.asarray(run.records.codes[1])[run.rows]]


def as_table(plans: Sequence[Plan], goal: Goal) -> Table:
    """The plans as a table."""
    rows: list[list[Cell]] = []
    for plan in plans:
        source = "measured" if plan.is_measured else "assumed"
        rows.append(
            [
                plan.task,
                plan.metric,
                "n/a" if isnan(plan.correlation) else f"{plan.correlation:.2f} ({source})",
                plan.questions,
                plan.requests,
                "n/a" if plan.requests_exact is None else plan.requests_exact,
                "unknown" if plan.available is None else plan.available,
                "" if isnan(plan.reach) else f"{plan.reach:.3f}",
            ]
        )
    title = (
        f"Questions that find a difference of {goal.difference:g} with a probability of {goal.power:g} "
        f"({100 * goal.level:g}% intervals)"
    )
    columns = ["task", "metric", "correlation", "questions", "requests", "exact", "available", "they find"]
    return Table(title, columns, rows, NOTE)


def remarks(plans: Sequence[Plan], goal: Goal) -> list[str]:
    """Sentences about plans: too few questions in the benchmark, and assumptions."""
    told = []
    for plan in plans:
        if plan.available is not None and plan.questions > plan.available:
            told.append(
                f"{plan.task}: the benchmark has {counted(plan.available, 'question')}, too few. All of them find a "
                f"difference of {plan.reach:.3f} with a probability of {goal.power:g}"
            )
        if plan.questions < _FEW_NEEDED:
            told.append(f"{plan.task}: with fewer than {_FEW_NEEDED} questions the numbers are rough")
    if any(plan.is_typical for plan in plans):
        told.append(
            "The rows are the models of the CoRA paper's tables that need the fewest, a middle number of, and the most "
            "questions. A run of a few hundred questions gives your own: --from OUT"
        )
    if any(not plan.is_measured for plan in plans):
        told.append(
            "The correlation is assumed, and the questions are proportional to 1 - correlation. Two runs on the same "
            "questions measure it: --from A --from B"
        )
    return told


def as_json(plans: Sequence[Plan], goal: Goal, notes: Sequence[str]) -> dict[str, Any]:
    """The plans with all digits, undefined numbers as null."""
    return {
        "difference": goal.difference,
        "power": goal.power,
        "level": goal.level,
        "notes": list(notes),
        "plans": [
            {
                "task": plan.task,
                "models": list(plan.models),
                "metric": plan.metric,
                "spread": plan.spread,
                "correlation": for_json(plan.correlation),
                "correlation_measured": plan.is_measured,
                "questions": plan.questions,
                "requests": plan.requests,
                "requests_exact": plan.requests_exact,
                "requests_per_question": plan.per_question,
                "requests_per_question_exact": for_json(plan.per_question_exact),
                "benchmark_questions": plan.available,
                "enough": None if plan.available is None else plan.questions <= plan.available,
                "smallest_difference": for_json(plan.reach),
            }
            for plan in plans
        ],
    }
