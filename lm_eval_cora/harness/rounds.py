"""Which questions of a run are asked, in rounds, and which of their variants, in waves.

A round has the next questions of each task. After it, requirements are tested again and the rest of a budget is known.
A wave has the next variants of each open question of a round. Nothing here depends on models or ranks, so all ranks
make the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from math import inf
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from lm_eval.api.instance import Instance

from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.variants.variant import place_in_asking

_REST = 0.02  # share of a budget that is not worth a further round, because each round ends with short waves
Key = tuple[str, str]
"""The name of a task and the id of one of its questions."""

Requests = tuple[Instance, ...]
"""The requests of a variant: one if the answer is written, one per letter if letters are scored."""

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


Outcomes = Mapping[Key, QuestionOutcome]
"""The results of all questions so far, on all ranks together."""


# ---- rounds of questions
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
    asked = {task: list[Planned]() for task in of_each_task(agenda)}
    if not _next_round(agenda, asked, dict.fromkeys(asked, inf), budget):
        raise UserError(
            "--budget: expected at least "
            f"{agenda[0].requests:,} requests, the cost of the first question of {agenda[0].task}; got {budget:,}"
        )
    return {task: len(questions) for task, questions in asked.items()}


def rounds_of(
    agenda: Sequence[Planned],
    outcomes: Outcomes,
    budget: float = inf,
    *,
    is_settled: Callable[[str, Sequence[Planned], Outcomes], bool] = lambda task, asked, outcomes: False,
    next_look: Callable[[int], float] = lambda asked: inf,
) -> Iterator[list[Planned]]:
    """Yield the questions of each round, in the order of the agenda, until all tasks are settled or a budget is spent.

    The caller puts the results of a round into `outcomes` before the next one. If so many questions of a task are
    asked, `next_look` is the number after which it is looked at again.
    """
    # A round has as many questions as the remaining budget allows if all their variants are asked. If early stopping
    # saves requests, they are used in another round.
    left, spent, settled = list(agenda), 0, set[str]()
    asked = {task: list[Planned]() for task in of_each_task(agenda)}
    while left and budget - spent >= _REST * budget:
        looks = {task: next_look(len(questions)) for task, questions in asked.items()}
        if not (batch := _next_round(left, asked, looks, budget - spent)):
            return
        yield batch
        spent, done = sum(outcome.requests for outcome in outcomes.values()), {planned.key for planned in batch}
        settled |= {task for task in of_each_task(batch) if is_settled(task, asked[task], outcomes)}
        left = [planned for planned in left if planned.key not in done and planned.task not in settled]


def _next_round(
    agenda: Sequence[Planned], asked: Mapping[str, list[Planned]], looks: Mapping[str, float], budget: float
) -> list[Planned]:
    """The questions up to the next look of each task, if the budget pays for all their variants; add them to `asked`.

    The questions of a passage are in one round.
    """
    batch: list[Planned] = []
    for planned in agenda:
        of_task = asked[planned.task]
        is_begun = bool(of_task) and of_task[-1].unit == planned.unit
        if len(of_task) >= looks[planned.task] and not is_begun:
            continue
        budget -= planned.requests
        if budget < 0:
            break
        of_task.append(planned)
        batch.append(planned)
    return batch


# ---- waves of variants
@dataclass
class QuestionState:
    """A question on this rank: the variants still to ask, and those that were asked, with their results."""

    task: StoppableTask
    stops: bool = False  # whether it ends with its first wrong answer
    is_scored: bool = False  # whether its answers are scored during the run; else they have no result, None
    waiting: list[Requests] = field(default_factory=list)
    results: list[tuple[Requests, bool | None]] = field(default_factory=list)

    def next(self) -> list[Requests]:
        """The variants to ask now: all of them, or with early stopping the next one until an answer is wrong."""
        if not self.stops:
            return self.waiting
        return [] if any(right is False for _, right in self.results) else self.waiting[:1]

    def take(self, variant: Requests, right: bool | None) -> None:
        """Record the result of a variant."""
        self.waiting = [other for other in self.waiting if other is not variant]
        self.results.append((variant, right))

    @property
    def left(self) -> int:
        """The number of requests that may still be needed."""
        return sum(map(len, self.waiting)) if self.next() else 0

    @property
    def requests(self) -> int:
        """The number of requests that were sent."""
        return sum(len(variant) for variant, _ in self.results)

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers on this rank, in the order of `QuestionOutcome`."""
        results = [right for _, right in self.results]
        original = [right for variant, right in self.results if variant[0].doc["original"] and right is not None]
        hits, unscored = results.count(True), results.count(None)
        others = len(self.waiting) + len(results) - hits
        return self.requests, len(original), sum(original), hits, others, unscored


def by_question(requests: Iterable[Instance], *, stop: bool, score: bool) -> dict[Key, QuestionState]:
    """Group requests by question, with the variants in the order of asking."""
    variants = grouped_by(requests, lambda request: (request.task_name, request.doc_id))
    questions: dict[Key, QuestionState] = {}
    for members in variants.values():
        task, key = members[0].owner, (members[0].owner.task_name, members[0].doc["question_id"])
        stops = stop and task.can_stop
        question = questions.setdefault(key, QuestionState(task, stops, stops or score))
        question.waiting.append(tuple(sorted(members, key=lambda request: request.idx)))
    for question in questions.values():
        question.waiting.sort(key=lambda variant: place_in_asking(variant[0].doc, question.task.hardest_first))
    return questions


def ask_in_waves(
    questions: Sequence[QuestionState], send: Callable[[list[Instance]], list[Any]]
) -> Iterator[tuple[int, dict[int, Any]]]:
    """Ask the next variants of all open questions, until none is open; yield each wave.

    Yields:
        The number of open questions, and the responses by id of the request.
    """
    while wave := [(question, variant) for question in questions for variant in question.next()]:
        requests = [request for _, variant in wave for request in variant]
        responses = dict(zip(map(id, requests), send(requests), strict=True))
        _take(wave, responses)
        yield len({id(question) for question, _ in wave}), responses


def _take(wave: Sequence[tuple[QuestionState, Requests]], responses: Mapping[int, Any]) -> None:
    """Pass the results of a wave to its questions. The answers of a task are scored together, if it is needed."""
    of_task = grouped_by(wave, lambda asked: asked[0].is_scored and asked[0].task.task_name)
    for is_scored, members in of_task.items():
        verdicts: Sequence[bool | None] = [None] * len(members)
        if is_scored:
            answered = [(variant, [responses[id(request)] for request in variant]) for _, variant in members]
            verdicts = members[0][0].task.score_early(answered)
        for (question, variant), right in zip(members, verdicts, strict=True):
            question.take(variant, right)


def collect(
    agenda: Sequence[Planned], questions: Mapping[Key, QuestionState], summed: Callable[[list[int]], list[int]]
) -> Outcomes:
    """Collect the results of all ranks, whose numbers `summed` adds. The variants of a question may be on several."""
    nothing = (0,) * len(QuestionOutcome._fields)
    own = [questions[planned.key].counts if planned.key in questions else nothing for planned in agenda]
    rows = np.reshape(summed([*chain.from_iterable(own)]), (-1, len(nothing))).tolist()
    return {
        planned.key: QuestionOutcome(requests, scored > 0, right > 0, *variants)
        for planned, (requests, scored, right, *variants) in zip(agenda, rows, strict=True)
    }
