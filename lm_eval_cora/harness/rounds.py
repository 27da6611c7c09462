"""The questions of a run: how many are asked, and the results of each so far.

Each strategy is a generator: it yields the questions of a round, receives the results of all rounds so far, and ends
when no more questions are needed. It does not depend on models or ranks, so all ranks make the same decisions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from math import ceil, inf
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.consistency import OUTCOMES
from lm_eval_cora.metrics.estimate import product_of
from lm_eval_cora.metrics.stopping import Moments

FIRST_LOOK = 100
"""Number of questions before the error is tested for the first time."""

CAUTION = 4
"""Pseudo-count added to each outcome before testing a target."""

_REST = 0.02  # share of a budget that is not worth a further round, because each round ends with short waves
Key = tuple[str, str]
"""The name of a task and the id of one of its questions."""

Part = Literal["all", "original"]
"""Which variants of a question to ask: all that remain, or only the original."""


AnsweredVariant = tuple[Sequence[Any], Sequence[Any]]
"""The requests of a variant, and the responses to them."""


class StoppableTask(Protocol):
    """What asking needs to know of a task."""

    task_name: str
    hardest_first: Sequence[str]  # kinds of variants, in the order of asking
    can_stop: bool  # whether a question may end with its first wrong answer

    def agenda(self) -> list[Planned]:
        """The questions of all ranks in random order."""

    def score_early(self, answered: Sequence[AnsweredVariant]) -> list[bool | None]:
        """Whether each variant is right, as in the final score; None if unknown."""

    def is_final(self, request: Any, response: str) -> bool:
        """Whether more text after a response could not change its answer."""


def task_of(request: Any) -> StoppableTask | None:
    """The lm-eval-cora task of a request, None if it belongs to another task."""
    task: StoppableTask | None = getattr(request, "owner", None)
    return task


class Planned(NamedTuple):
    """A question of the agenda, with the number of requests for all of its variants."""

    task: str
    question: str
    requests: int
    part: Part = "all"

    @property
    def key(self) -> Key:
        """The task and the id."""
        return self.task, self.question


class QuestionOutcome(NamedTuple):
    """Requests for a question, and whether its original has a result, is right, and all its variants are."""

    requests: int
    scored: bool
    right: bool
    always: bool


@dataclass(frozen=True)
class Observed:
    """Results of all rounds so far, on all ranks together: requests, sums by task, results by question."""

    requests: int = 0
    sums: Mapping[str, Moments] = field(default_factory=dict)
    outcomes: Mapping[Key, QuestionOutcome] = field(default_factory=dict)


# ---- strategies
Rounds = Generator[Sequence[Planned], Observed, None]


def send(rounds: Rounds, observed: Observed | None) -> Sequence[Planned] | None:
    """Pass on the results so far, None before the first round; return the next round, None after the last."""
    try:
        return rounds.send(observed)  # type: ignore[arg-type]  # None starts a generator
    except StopIteration:
        return None


def everything(agenda: Sequence[Planned]) -> Rounds:
    """All questions in one round."""
    yield agenda


T = TypeVar("T")


def in_turn(lists: Sequence[Sequence[T]]) -> list[T]:
    """Merge the questions of several tasks: the first one of each task, then the second one of each, and so on."""
    # With a budget, each task gets the same number of questions until it has no more.
    return [each for turn in zip_longest(*lists) for each in turn if each is not None]


def of_each_task(agenda: Sequence[Planned]) -> dict[str, list[Planned]]:
    """The questions of each task, in the order of the agenda."""
    of_task: dict[str, list[Planned]] = {}
    for planned in agenda:
        of_task.setdefault(planned.task, []).append(planned)
    return of_task


def shares_of_budget(agenda: Sequence[Planned], budget: int) -> dict[str, int]:
    """The number of questions of each task that a budget pays for, even if all their variants are asked."""
    counts = Counter(planned.task for planned in next(within_budget(agenda, budget)))
    return {task: counts[task] for task in of_each_task(agenda)}


def within_budget(agenda: Sequence[Planned], budget: int) -> Rounds:
    """Ask whole questions, in the order of the agenda, with a limited number of requests."""
    # A round has as many questions as the remaining budget allows if all their variants are asked. If early stopping
    # saves requests, they are used in another round.
    totals = [0, *accumulate(planned.requests for planned in agenda)]
    place = spent = 0
    while place < len(agenda):
        end = max(place, bisect_right(totals, totals[place] + budget - spent) - 1)
        if not end:
            raise UserError(
                "--budget: expected at least "
                f"{agenda[0].requests:,} requests, the cost of the first question of {agenda[0].task}; got {budget:,}"
            )
        if end == place or budget - spent < _REST * budget:
            return
        observed = yield agenda[place:end]
        place, spent = end, observed.requests


def until_precise(agenda: Sequence[Planned], target: float) -> Rounds:
    """Ask whole questions, in the order of the agenda, until CoRA's standard error is below a target in each task."""
    # The error is tested on a fixed schedule: after 100 questions, and whenever their number has grown by a quarter.
    # With a few dozen tests at most, an error that is small by chance rarely ends a run too early.
    of_task = of_each_task(agenda)
    schedules = {task: looks(len(questions)) for task, questions in of_task.items()}
    asked = dict.fromkeys(of_task, 0)
    running = list(of_task)
    while running:
        batch: list[Planned] = []
        for task in running:
            until = next(schedules[task])
            batch += of_task[task][asked[task] : until]
            asked[task] = until
        observed = yield batch
        running = [task for task in running if asked[task] < len(of_task[task])]
        running = [task for task in running if not _is_precise(observed.sums[task], target)]


def looks(questions: int) -> Iterator[int]:
    """The numbers of questions after which the error is tested. The last one is the number of all questions."""
    count = FIRST_LOOK
    while count < questions:
        yield count
        count = ceil(count * 1.25)
    yield questions


def _is_precise(sums: Moments, target: float) -> bool:
    """Whether the error is below the target, and also with a pseudo-count added to each outcome."""
    # The share of a rare outcome is estimated from few questions, and a run would end just when the estimate is too
    # small. If all questions have the same outcome, the estimated error is 0, whatever the true error is.
    always, right, questions = sums.always + CAUTION, sums.right + 2 * CAUTION, sums.questions + 3 * CAUTION
    cautious = Moments(questions, right=right, always=always)
    return max(cora_error(sums), cora_error(cautious)) < target


def cora_error(sums: Moments) -> float:
    """The standard error of CoRA, clustered by question."""
    if sums.questions < 2:
        return inf
    counts = sums.always, sums.right - sums.always, sums.questions - sums.right
    first, second = np.repeat(OUTCOMES, counts, axis=0).T
    return product_of(first, second).stderr
