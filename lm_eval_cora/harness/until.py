"""When a run may end: as soon as its requirements are certain, tested on the answers after each round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, isnan
from pathlib import Path
from typing import NamedTuple

from lm_eval_cora.decide.verdicts import Outcome, Requirement, check_bound, no_baseline, parse_until, settled
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.rounds import Outcomes, Planned
from lm_eval_cora.log import logger
from lm_eval_cora.metrics.entries import Entry, compute, course, is_known_early
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.sequences import Course
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.signature import signature_parts

_GROWTH = 0.05  # share of the questions by which their number grows until the next look
_LIMITS = {"limit", "samples", "questions"}  # parts of the signature of a run that has not all questions


Variants = Mapping[tuple[str, str], int]
"""The number of variants of each question and its unit."""


class Open(NamedTuple):
    """A requirement on a task, and how it is tested."""

    requirement: Requirement
    course: Callable[[ResponseTable], Course | None]
    before: float  # the value of the baseline
    higher: bool | None  # whether a higher value is better

    def look(self, table: ResponseTable) -> tuple[Outcome, str]:
        """The verdict after the answers in a table, and what is known, such as `cora 0.41 to 0.52`."""
        known = self.course(table)
        if known is None:
            return "undecided", f"{self.requirement.metric} unknown"
        outcome = settled(known, self.requirement, self.before, self.higher)
        low, high = (end - self.before for end in known.interval(self.requirement.level))
        compared = " minus the baseline" if self.requirement.compares else ""
        return outcome, f"{self.requirement.metric}{compared} {low:.3f} to {high:.3f}"


class Until:
    """The requirements of a run."""

    def __init__(self, texts: Sequence[str], baseline: Path | str | None = None) -> None:
        self.texts, self.baseline = texts, baseline
        self.requirements = [parse_until(text) for text in texts]
        comparing = [text for text, each in zip(texts, self.requirements, strict=True) if each.compares]
        if comparing and baseline is None:
            raise UserError(f"--until {comparing[0]}: expected --baseline OUT, a whole run to compare with")
        if baseline is not None and not comparing:
            raise UserError("--baseline: expected --until 'no-worse METRIC:MARGIN' or 'same METRIC:MARGIN'")
        self._baselines: list[Run] | None = None
        self._open: dict[str, list[Open]] = {}
        self._units: dict[str, dict[str, str]] = {}  # of all questions of each task
        self._last: dict[str, list[tuple[Outcome, str]]] = {}  # of the last look

    def prepare(
        self, task: str, entries: Sequence[Entry], variants: Variants, *, seed: int, stops: bool, signature: str
    ) -> Collection[str]:
        """Check that the requirements on a task can be tested on its answers; return the metrics that can be."""
        if limits := _LIMITS & signature_parts(signature).keys():
            raise UserError(
                f"--until: {task} has only {len(variants):,} of its questions because of {' and '.join(sorted(limits))}"
                ", so the verdict would be about these only. Leave that out; --budget N limits the cost"
            )
        sizes = enumerate(variants.values())
        whole = ResponseTable.from_hits([[True, *[number % 2 == 0] * (size - 1)] for number, size in sizes])
        possible = {entry["metric"]: entry for entry in entries if is_known_early(entry) or not stops}
        possible = {name: entry for name, entry in possible.items() if course(entry, whole, seed) is not None}
        self._open[task], self._units[task] = [], dict(variants.keys())
        for requirement in self.requirements:
            if requirement.task not in ("", task):
                continue
            if (entry := possible.get(requirement.metric)) is None:
                why = " with --stop exact" if stops else ""
                raise UserError(
                    f"--until {requirement}: {task} has no metric {requirement.metric!r} that can be tested at every "
                    f"look{why}.{did_you_mean(requirement.metric, possible)} Those are {', '.join(possible) or 'none'}"
                )
            check_bound(requirement, entry)
            known, value = partial(course, entry, seed=seed), 0.0
            if requirement.compares:
                before = self._counterpart(task, variants, signature)
                known, value = partial(known, before=before.table), compute(entry, before.table).value
                if isnan(value):
                    raise UserError(f"--baseline {self.baseline}: {task} has no metric {requirement.metric!r}")
            self._open[task].append(Open(requirement, known, value, entry.get("higher_is_better")))
        return possible

    def _counterpart(self, task: str, variants: Variants, signature: str) -> Run:
        """The baseline's run of a task: whole, and asked the same."""
        assert self.baseline is not None
        if self._baselines is None:
            self._baselines = read_runs([Path(self.baseline)])
        where = f"--baseline {self.baseline}"
        of_task = [run for run in self._baselines if run.name == task]
        if len(of_task) != 1:
            files = "".join(f"; {run.files[0]}" for run in of_task)
            raise UserError(f"{where}: expected one run of {task}, got {len(of_task)}{files}")
        (before,) = of_task
        if reason := no_baseline(before, signature, variants, len(variants)):
            raise UserError(f"{where}: {task} cannot be compared with it: {reason}")
        return before

    def check(self) -> None:
        """Check that each requirement is about a task of the run, and each task has one."""
        tasks = list(self._open)
        for requirement in self.requirements:
            if requirement.task and requirement.task not in tasks:
                raise UserError(
                    f"--until {requirement.task}:{requirement}: there is no such task in this run."
                    f"{did_you_mean(requirement.task, tasks)} Its tasks are {', '.join(tasks)}"
                )
        if idle := [task for task, known in self._open.items() if not known]:
            raise UserError(f"--until: expected a requirement on each task of this run, got none on {idle[0]}")

    def next_look(self, asked: int, busy: int = 1) -> int:
        """The number of questions after which the requirements are tested again; `busy` fill a server or a batch."""
        return asked + max(busy, ceil(_GROWTH * asked))

    def is_settled(self, task: str, asked: Sequence[Planned], outcomes: Outcomes) -> bool:
        """Whether all requirements on a task are certain after these questions."""
        units = self._units[task]
        begun = {planned.question for planned in asked}
        left = [unit for question, unit in units.items() if question not in begun]
        table = table_of(asked, outcomes, left)
        looks = self._last[task] = [each.look(table) for each in self._open[task]]
        known = "; ".join(text for _, text in looks)
        logger.info("%s: %s after %d of %d questions", task, known, len(asked), len(units))
        return all(outcome != "undecided" for outcome, _ in looks)

    def verdicts(self, task: str) -> list[str]:
        """What is said at the end: each requirement with its outcome and interval."""
        looks = self._last.get(task) or [each.look(ResponseTable.from_hits([])) for each in self._open[task]]
        return [
            f"{each.requirement}: {outcome}; {text}"
            for each, (outcome, text) in zip(self._open[task], looks, strict=True)
        ]


def table_of(asked: Sequence[Planned], outcomes: Outcomes, left: Sequence[str]) -> ResponseTable:
    """The table of right and wrong answers to the questions so far; `left` has the units of the others."""
    rows = []
    known = [outcomes[planned.key] for planned in asked]
    for outcome in known:
        first, hits = [outcome.right] * outcome.scored, outcome.hits - outcome.right  # the original, and the others
        rows.append([*first, *[True] * hits, *[False] * (outcome.others + outcome.right - outcome.scored)])
    has_originals = all(outcome.scored for outcome in known)
    table = ResponseTable.from_hits(rows, original=0 if has_originals else None)
    return replace(
        table,
        question_ids=tuple(each.question for each in asked),
        clusters=tuple("" if each.unit == each.question else each.unit[1:] for each in asked),
        unasked=tuple(left),
        incomplete=sum(outcome.unscored > 0 for outcome in known),
    )
