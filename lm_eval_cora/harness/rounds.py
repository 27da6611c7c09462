"""The number of questions to ask: all, as many as a budget allows, or until the standard error is small enough.

Each strategy is a generator: it yields the questions of a round, receives the results of all rounds so far, and ends
when no more questions are needed. It does not depend on models or ranks, so all ranks make the same decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Literal, NamedTuple

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.consistency import OUTCOMES
from lm_eval_cora.metrics.estimate import product_of

FIRST_LOOK = 100
"""Number of questions before the error is tested for the first time."""

_GROWTH = 1.25
"""Factor by which the number of questions grows between two tests."""

_CAUTION = 4
"""Pseudo-count added to each outcome before testing the target."""

_REST = 0.02
"""Share of a budget that is not worth a further round, because each round ends with short waves."""


Part = Literal["all", "original"]
"""Which variants of a question to ask: all that remain, or only the original."""


class Planned(NamedTuple):
    """A question of the agenda.

    Attributes:
        task: Name of its task.
        question: Its id.
        requests: Number of requests for all of its variants.
        part: The variants to ask.
    """

    task: str
    question: str
    requests: int
    part: Part = "all"

    @property
    def key(self) -> tuple[str, str]:
        """The task and the id."""
        return self.task, self.question


class Outcomes(NamedTuple):
    """Number of questions of a task by outcome. CoRA and its standard error depend only on these numbers.

    Attributes:
        always: Right in all variants.
        once: Right in the original, but not in all variants.
        never: Wrong in the original.
    """

    always: int = 0
    once: int = 0
    never: int = 0


class Answered(NamedTuple):
    """Results of a question.

    Attributes:
        right: Whether its original is right.
        always: Whether all its variants are asked and right.
        requests: Number of requests sent for it.
    """

    right: bool = False
    always: bool = False
    requests: int = 0


@dataclass(frozen=True)
class Observed:
    """Results of all rounds so far, on all ranks together.

    Attributes:
        requests: Number of requests sent.
        outcomes: Outcomes by task.
        answered: Results of each question that was asked, by task and id.
    """

    requests: int = 0
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    answered: Mapping[tuple[str, str], Answered] = field(default_factory=dict)


Rounds = Generator[Sequence[Planned], Observed, None]


def everything(agenda: Sequence[Planned]) -> Rounds:
    """All questions in one round."""
    yield agenda


def send(rounds: Rounds, observed: Observed) -> Sequence[Planned] | None:
    """Pass on the results so far; return the next round, None after the last.

    Example:
        >>> rounds = everything([Planned("t", "q1", 26)])
        >>> send(rounds, next(rounds) and Observed(requests=26)) is None
        True
    """
    try:
        return rounds.send(observed)
    except StopIteration:
        return None


def in_turn(agendas: Sequence[Sequence[Planned]]) -> list[Planned]:
    """Merge the questions of several tasks: the first one of each task, then the second one of each, and so on.

    With a budget, each task gets the same number of questions until it has no more.
    """
    placed = [(place, number) for number, agenda in enumerate(agendas) for place in range(len(agenda))]
    return [agendas[number][place] for place, number in sorted(placed)]


def shares_of_budget(agenda: Sequence[Planned], budget: int) -> dict[str, int]:
    """The number of questions of each task that a budget pays for, even if all their variants are asked."""
    counts = Counter(planned.task for planned in next(within_budget(agenda, budget)))
    return {task: counts[task] for task in dict.fromkeys(planned.task for planned in agenda)}


def within_budget(agenda: Sequence[Planned], budget: int) -> Rounds:
    """Ask whole questions, in the order of the agenda, with a limited number of requests.

    A round has as many questions as the remaining budget allows if all their variants are asked. If early stopping
    saves requests, they are used in another round.
    """
    place = spent = 0
    while place < len(agenda):
        end, worst = place, spent
        while end < len(agenda) and worst + agenda[end].requests <= budget:
            worst += agenda[end].requests
            end += 1
        if not end:
            raise UserError(
                f"--budget: expected at least {agenda[0].requests:,} requests, the cost of the first question of "
                f"{agenda[0].task}; got {budget:,}"
            )
        if end == place or budget - spent < _REST * budget:
            return
        tally = yield agenda[place:end]
        place, spent = end, tally.requests


def until_precise(agenda: Sequence[Planned], target: float) -> Rounds:
    """Ask whole questions, in the order of the agenda, until CoRA's standard error is below a target in each task.

    The error is tested on a fixed schedule: after 100 questions, and whenever their number has grown by a quarter. With
    a few dozen tests at most, an error that is small by chance rarely ends a run too early.
    """
    of_task: dict[str, list[Planned]] = {}
    for planned in agenda:
        of_task.setdefault(planned.task, []).append(planned)
    schedules = {task: looks(len(questions)) for task, questions in of_task.items()}
    asked = dict.fromkeys(of_task, 0)
    running = list(of_task)
    while running:
        batch: list[Planned] = []
        for task in running:
            until = next(schedules[task])
            batch += of_task[task][asked[task] : until]
            asked[task] = until
        tally = yield batch
        running = [
            task
            for task in running
            if asked[task] < len(of_task[task]) and not _is_precise(tally.outcomes.get(task, Outcomes()), target)
        ]


def looks(questions: int) -> Iterator[int]:
    """The numbers of questions after which the error is tested. The last one is the number of all questions."""
    count = FIRST_LOOK
    while count < questions:
        yield count
        count = ceil(count * _GROWTH)
    yield questions


def _is_precise(outcomes: Outcomes, target: float) -> bool:
    """Whether the error is below the target, and also with a pseudo-count added to each outcome.

    The share of a rare outcome is estimated from few questions, and a run would end just when the estimate is too
    small. If all questions have the same outcome, the estimated error is 0, whatever the true error is.
    """
    cautious = Outcomes(*(count + _CAUTION for count in outcomes))
    return max(cora_error(outcomes), cora_error(cautious)) < target


def cora_error(outcomes: Outcomes) -> float:
    """The standard error of CoRA, clustered by question, from the number of questions of each outcome."""
    if sum(outcomes) < 2:
        return inf
    first, second = np.repeat(OUTCOMES, outcomes, axis=0).T
    return product_of(first, second).stderr
