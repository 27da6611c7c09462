"""Verdicts about requirements: pass, fail or undecided, by the 95% intervals of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from lm_eval_cora.decide.requirements import NoWorse, Policy, Requirement
from lm_eval_cora.decide.sample_size import POWER, Contrast, Level, Sample, questions_needed
from lm_eval_cora.discovery.task_files import published_questions
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.paired import Difference, difference
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.signature import is_two_phase

Outcome = Literal["pass", "fail", "undecided"]

EXIT_STATUS: dict[Outcome, int] = {"pass": 0, "fail": 1, "undecided": 2}
"""Exit status of `gate`."""

_SAME = 1e-9
"""A value that is nearer to its bound equals it, except for rounding."""


@dataclass(frozen=True)
class Verdict:
    """The verdict about a requirement on a task.

    Attributes:
        requirement: The requirement as text.
        task: Name of the task.
        metric: Name of the metric.
        outcome: Whether it passes, fails, or is undecided.
        value: The value, or the difference to the baseline.
        stderr: Its standard error.
        low: Lower end of its 95% interval.
        high: Upper end of its 95% interval.
        questions: Number of questions.
        needed: Number of questions that decide it with a probability of 0.8 if the value is the true one. None if it is
            decided, if the value equals the bound, or if the run estimates the value of the full benchmark (--target).
        available: Number of questions of the benchmark, if the requirement is undecided and the number is known.
        is_difference: Whether the value is a difference to the baseline.
        signature: Signature of the run's scores.
    """

    requirement: str
    task: str
    metric: str
    outcome: Outcome
    value: float
    stderr: float
    low: float
    high: float
    questions: int
    needed: int | None
    available: int | None
    is_difference: bool
    signature: str

    @property
    def reason(self) -> str:
        """Why the requirement does not pass; empty if it does."""
        what = f"the difference to the baseline, {self.value:+.4f}," if self.is_difference else f"{self.value:.4f}"
        if self.outcome == "pass":
            return ""
        if isnan(self.value):
            return f"{self.metric} is undefined in this run"
        if isnan(self.low):
            return f"{what} has no interval"
        interval = f"{what} with the 95% interval {self.low:.4f} to {self.high:.4f}"
        if self.outcome == "fail":
            return interval
        if is_two_phase(self.signature):
            return f"{interval}; a run with a smaller E of --target whole:E decides"
        if not self.needed:
            return interval
        has = "" if self.available is None else f" (the benchmark has {self.available:,})"
        return f"{interval}; {self.needed:,} questions{has} would decide it with a probability of {POWER:g}"


def remarks(verdicts: Iterable[Verdict]) -> list[str]:
    """A message for each requirement that the benchmark has too few questions to decide."""
    return [
        f"{found.task}: {found.requirement} needs {found.needed:,} questions to be decided, but the benchmark has "
        f"{found.available:,}"
        for found in verdicts
        if found.needed and found.available is not None and found.needed > found.available
    ]


def overall(verdicts: Iterable[Verdict]) -> Outcome:
    """The outcome of a gate: fail if a requirement fails, else undecided if one is, else pass."""
    outcomes = {verdict.outcome for verdict in verdicts}
    order: tuple[Outcome, ...] = ("fail", "undecided", "pass")
    return next((outcome for outcome in order if outcome in outcomes), "pass")


def decide(low: float, high: float, bound: float) -> Outcome:
    """Decide whether a value is at least a bound, by its interval."""
    if low >= bound:
        return "pass"
    return "fail" if high < bound else "undecided"


def verdicts_of(runs: Sequence[Run], baseline: Sequence[Run], policy: Policy) -> list[Verdict]:
    """Compare the runs of a model with requirements.

    A requirement without a task holds for every task of the run.
    """
    verdicts = [_value(run, bound) for bound in policy.require for run in _of_task(runs, bound)]
    for limit in policy.no_worse:
        verdicts += [_loss(run, _counterpart(run, runs, baseline, limit), limit) for run in _of_task(runs, limit)]
    return verdicts


def _of_task(runs: Sequence[Run], requirement: Requirement | NoWorse) -> Iterator[Run]:
    """The runs of the requirement's task, all of which have its metric."""
    own = [run for run in runs if requirement.task in ("", run.task, run.name)]
    if not own:
        names = [run.task for run in runs]
        raise UserError(
            f"{requirement.task}:{requirement}: there is no such task in the run."
            f"{did_you_mean(requirement.task, names)} The tasks are {', '.join(names)}"
        )
    for run in own:
        if requirement.metric not in run.estimates:
            why = " The run stopped early, so it has few metrics." if not run.table.is_whole else ""
            elsewhere = any(requirement.metric in other.estimates for other in own)
            hint = f" Name the task that has it: 'TASK:{requirement.metric}...'." if elsewhere else ""
            raise UserError(
                f"{requirement}: {run.task} has no metric {requirement.metric!r}."
                f"{did_you_mean(requirement.metric, run.estimates)}{why}{hint} Its metrics are "
                f"{', '.join(run.estimates) or 'undefined'}"
            )
        yield run


def _value(run: Run, requirement: Requirement) -> Verdict:
    entry = next(entry for entry in run.entries if entry["metric"] == requirement.metric)
    lowest, highest = facts_of(entry["aggregation"]).bounds
    if not lowest <= requirement.bound <= highest:
        raise UserError(f"{requirement}: expected a bound from {lowest:g} to {highest:g}, the range of the metric")
    estimate = run.estimates[requirement.metric]
    level, questions = Level(estimate, len(run.table.sizes)), len(run.table.sizes)
    low, high = level.interval(estimate.value, questions)
    if requirement.direction == ">=":
        outcome = decide(low, high, requirement.bound)
    else:
        outcome = decide(-high, -low, -requirement.bound)
    numbers = Difference(estimate.value, estimate.stderr, low, high)
    return _verdict(run, requirement, outcome, numbers, level, requirement.bound)


def _loss(run: Run, before: Run, limit: NoWorse) -> Verdict:
    """The verdict about the paired difference to the baseline: is the loss at most the margin?"""
    entry = next(entry for entry in run.entries if entry["metric"] == limit.metric)
    higher = entry.get("higher_is_better")
    if higher is None:
        raise UserError(f"{limit}: neither a high nor a low {limit.metric} is better, so it cannot be worse")
    one, other = before.estimates.get(limit.metric, UNDEFINED), run.estimates[limit.metric]
    change = difference(one, other)
    if higher:
        outcome = decide(change.low, change.high, -limit.margin)
    else:
        outcome = decide(-change.high, -change.low, -limit.margin)
    contrast = None if isnan(change.stderr) else Contrast.of(one, other)
    return _verdict(run, limit, outcome, change, contrast, -limit.margin if higher else limit.margin)


def _verdict(
    run: Run,
    requirement: Requirement | NoWorse,
    outcome: Outcome,
    numbers: Difference,
    sample: Sample | None,
    bound: float,
) -> Verdict:
    questions, is_open = len(run.table.sizes), outcome == "undecided"
    needed = None
    if is_open and sample is not None and not run.is_two_phase and abs(numbers.value - bound) > _SAME:
        needed = questions_needed(sample, numbers.value, bound)
    return Verdict(
        str(requirement),
        run.task,
        requirement.metric,
        outcome,
        *numbers,
        questions=questions,
        needed=max(questions + 1, needed) if needed else None,
        available=published_questions(run.name) if is_open else None,
        is_difference=isinstance(requirement, NoWorse),
        signature=run.signature,
    )


def _counterpart(run: Run, runs: Sequence[Run], baseline: Sequence[Run], limit: NoWorse) -> Run:
    """The baseline's run of a task."""
    found = [other for other in baseline if other.task == run.task]
    if not found:  # the same questions in a file of another name
        same = [other for other in baseline if (other.name, other.part) == (run.name, run.part)]
        own = [other for other in runs if (other.name, other.part) == (run.name, run.part)]
        found = same if len(same) == len(own) == 1 else []
    if not found:
        raise UserError(
            f"{limit}: the baseline does not have {run.task}. Its tasks are "
            f"{', '.join(other.task for other in baseline)}"
        )
    before = found[0]
    if reason := not_comparable(before, run):
        raise UserError(f"{limit}: {run.task} cannot be compared with the baseline, the first run: {reason}")
    if limit.metric not in before.estimates:
        raise UserError(f"{limit}: the baseline has no metric {limit.metric!r} in {before.task}")
    return before
