"""How many questions to ask: all of them, as many as a budget pays for, or until an error is small enough.

Each way is a generator: it yields the questions of a round, is sent what has been found out in all rounds so far, and
ends when enough has been asked. It knows nothing of models or ranks, so that all ranks come to the same decisions.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, sqrt
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.consistency import influence_on_cora
from lm_eval_cora.options import OptionError

FIRST_LOOK = 100
"""After so many questions it is first looked at how large the error is."""

_GROWTH = 1.25
"""Each look has so many times the questions of the one before."""

_CAUTION = 4
"""So many questions of each outcome are added to what was found before it is decided that the error is small."""

_LEAST_GAIN = 0.05
"""A budget's rest is left when it would pay for fewer than one in twenty questions more: each round has short waves."""


class Planned(NamedTuple):
    """A question that may be asked.

    Attributes:
        task: Name of its task.
        question: Its id.
        requests: What all of its variants cost.
    """

    task: str
    question: str
    requests: int


class Outcomes(NamedTuple):
    """How many questions of a task came out how: CoRA and its error depend on nothing else.

    Attributes:
        always: Right in all variants.
        once: Right in the original, but not in all variants.
        never: Wrong in the original.
    """

    always: int = 0
    once: int = 0
    never: int = 0


@dataclass(frozen=True)
class Observed:
    """What has been asked and found out in all rounds so far, on all ranks together.

    Attributes:
        requests: Number of requests asked.
        outcomes: By task.
    """

    requests: int = 0
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)


Rounds = Generator[Sequence[Planned], Observed, None]


def everything(agenda: Sequence[Planned]) -> Rounds:
    """All questions in one round.

    Example:
        >>> [len(batch) for batch in everything([Planned("t", "q1", 26), Planned("t", "q2", 26)])]
        [2]
    """
    yield agenda


def within_budget(agenda: Sequence[Planned], budget: int) -> Rounds:
    """Whole questions, in the order of the agenda, for at most so many requests.

    A round has as many questions as the rest of the budget would pay for if all their variants were asked. Where
    fewer are, because questions are settled early, the rest pays for another round.

    Args:
        agenda: The questions in a random order: those at its beginning are the sample.
        budget: Number of requests, never exceeded.

    Raises:
        OptionError: Before the first round, if it does not pay for one question.

    Example:
        >>> agenda = [Planned("t", f"q{n}", 10) for n in range(9)]
        >>> rounds = within_budget(agenda, 40)
        >>> [question for _, question, _ in next(rounds)]
        ['q0', 'q1', 'q2', 'q3']
        >>> [question for _, question, _ in rounds.send(Observed(requests=15))]
        ['q4', 'q5']
    """
    place = spent = 0
    while place < len(agenda):
        end, worst = place, spent
        while end < len(agenda) and worst + agenda[end].requests <= budget:
            worst += agenda[end].requests
            end += 1
        if not end:
            raise OptionError(
                f"--budget: {budget:,} requests do not pay for a single question: {agenda[0].task} asks "
                f"{agenda[0].requests} of its first one"
            )
        if end - place < max(1, _LEAST_GAIN * place):
            return
        tally = yield agenda[place:end]
        place, spent = end, tally.requests


def until_precise(agenda: Sequence[Planned], target: float) -> Rounds:
    """Whole questions, in the order of the agenda, until CoRA's standard error is below a target in each task.

    It is looked at on a fixed schedule: after 100 questions, and after each further quarter. So the run is over at one
    of a few dozen looks at most, and the error of a sample that happens to be small early has little chance to end it.

    Args:
        agenda: The questions of all tasks, those of each in a random order.
        target: The standard error to get below, above 0.

    Example:
        >>> agenda = [Planned("t", f"q{n}", 26) for n in range(1000)]
        >>> rounds = until_precise(agenda, 0.02)
        >>> len(next(rounds)), len(rounds.send(Observed(2600, {"t": Outcomes(30, 30, 40)})))
        (100, 25)
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
    """The numbers of questions after which the error is looked at; the last is all of them.

    Example:
        >>> list(looks(200))
        [100, 125, 157, 197, 200]
    """
    count = FIRST_LOOK
    while count < questions:
        yield count
        count = ceil(count * _GROWTH)
    yield questions


def _is_precise(outcomes: Outcomes, target: float) -> bool:
    """Whether the error is below the target, and would be with some more questions of each outcome.

    Where an outcome is rare its share is estimated from a handful of questions, and looks smaller than it is just when
    the run would end; where all questions came out the same the error is 0, which says nothing.
    """
    cautious = Outcomes(*(count + _CAUTION for count in outcomes))
    return max(cora_error(outcomes), cora_error(cautious)) < target


def cora_error(outcomes: Outcomes) -> float:
    """The standard error of CoRA, clustered by question, from the number of questions of each outcome.

    Returns:
        What `metrics.cora` has for the same questions; infinite for fewer than two.

    Example:
        >>> round(cora_error(Outcomes(25, 25, 50)), 4)
        0.0308
    """
    count = sum(outcomes)
    if count < 2:
        return inf
    original, full, numbers = np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.array(outcomes)
    m, b = float(numbers @ original) / count, float(numbers @ full) / count
    squares = numbers @ influence_on_cora(original, full, m, b) ** 2
    return sqrt(float(squares) / (count - 1) / count)
