"""The questions of a run: how many are asked, and the results of each so far.

Each strategy is a generator: it yields the questions of a round, receives the results of all rounds so far, and ends
when no more questions are needed. It does not depend on models or ranks, so all ranks make the same decisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import inf
from typing import Any, NamedTuple, Protocol, TypeVar

from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.files import grouped_by

_REST = 0.02  # share of a budget that is not worth a further round, because each round ends with short waves
Key = tuple[str, str]
"""The name of a task and the id of one of its questions."""


AnsweredVariant = tuple[Sequence[Any], Sequence[Any]]
"""The requests of a variant, and the responses to them."""


class StoppableTask(Protocol):
    """What asking needs to know of a task."""

    task_name: str
    hardest_first: Sequence[str]  # kinds of variants, in the order of asking
    can_stop: bool  # whether a question may end with its first wrong answer

    def agenda(self, *, by_unit: bool = False) -> list[Planned]:
        """The questions of all ranks in random order; those of a passage together if that is asked for."""

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
    unit: str = ""  # its passage, or itself

    @property
    def key(self) -> Key:
        """The task and the id."""
        return self.task, self.question


class QuestionOutcome(NamedTuple):
    """Requests for a question; whether its original has a result, and is right; and numbers of its variants."""

    requests: int
    scored: bool
    right: bool
    hits: int
    others: int
    unscored: int  # of the others: asked, but without a result

    @property
    def always(self) -> bool:
        """Whether all variants are right."""
        return not self.others


@dataclass(frozen=True)
class Observed:
    """Results of all rounds so far, on all ranks together: requests, and results by question."""

    requests: int = 0
    outcomes: Mapping[Key, QuestionOutcome] = field(default_factory=dict)


# ---- strategies
Rounds = Generator[Sequence[Planned], Observed, None]


def send(rounds: Rounds, observed: Observed | None) -> Sequence[Planned] | None:
    """Pass on the results so far, None before the first round; return the next round, None after the last."""
    try:
        return rounds.send(observed)  # type: ignore[arg-type]  # None starts a generator
    except StopIteration:
        return None


T = TypeVar("T")


def in_turn(lists: Sequence[Sequence[T]]) -> list[T]:
    """Merge the questions of several tasks: the first one of each task, then the second one of each, and so on."""
    # With a budget, each task gets the same number of questions until it has no more.
    return [each for turn in zip_longest(*lists) for each in turn if each is not None]


def of_each_task(agenda: Sequence[Planned]) -> dict[str, list[Planned]]:
    """The questions of each task, in the order of the agenda."""
    return grouped_by(agenda, lambda planned: planned.task)


def shares_of_budget(agenda: Sequence[Planned], budget: int) -> dict[str, int]:
    """The number of questions of each task that a budget pays for, even if all their variants are asked."""
    counts = Counter(planned.task for planned in next(within_budget(agenda, budget)))
    return {task: counts[task] for task in of_each_task(agenda)}


def within_budget(agenda: Sequence[Planned], budget: float) -> Rounds:
    """Ask whole questions, in the order of the agenda, with a limited number of requests."""
    return until_settled(agenda, lambda task, asked, observed: False, lambda asked: inf, budget)


def until_settled(
    agenda: Sequence[Planned],
    is_settled: Callable[[str, Sequence[Planned], Observed], bool],
    next_look: Callable[[int], float],
    budget: float = inf,
) -> Rounds:
    """Ask whole questions, in the order of the agenda, until each task is settled or the budget is spent."""
    # A round has as many questions as the remaining budget allows if all their variants are asked. If early stopping
    # saves requests, they are used in another round. The questions of a passage are in one round.
    left, spent, over = list(agenda), 0, set[str]()
    asked = {task: list[Planned]() for task in of_each_task(agenda)}
    while left:
        looks = {task: next_look(len(questions)) for task, questions in asked.items()}
        batch: list[Planned] = []
        cost = spent
        for planned in left:
            questions = asked[planned.task]
            is_begun = bool(questions) and questions[-1].unit == planned.unit
            if len(questions) >= looks[planned.task] and not is_begun:
                continue
            cost += planned.requests
            if cost > budget:
                break
            questions.append(planned)
            batch.append(planned)
        if not batch and not spent:
            raise UserError(
                "--budget: expected at least "
                f"{agenda[0].requests:,} requests, the cost of the first question of {agenda[0].task}; got {budget:,}"
            )
        if not batch or budget - spent < _REST * budget:
            return
        observed = yield batch
        spent, done = observed.requests, {planned.key for planned in batch}
        over |= {task for task in of_each_task(batch) if is_settled(task, asked[task], observed)}
        left = [planned for planned in left if planned.key not in done and planned.task not in over]
