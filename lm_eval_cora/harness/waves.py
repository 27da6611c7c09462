"""Waves of requests: each has the next variants of every open question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from lm_eval.api.instance import Instance

from lm_eval_cora.harness.rounds import Key, Observed, Planned, QuestionOutcome, StoppableTask
from lm_eval_cora.metrics.stopping import Moments, place_of
from lm_eval_cora.runs.files import grouped_by

_NOTHING = (0,) * len(QuestionOutcome._fields)
Requests = tuple[Instance, ...]
"""The requests of a variant: one if the answer is written, one per letter if letters are scored."""


@dataclass
class QuestionState:
    """State of a question on this rank: its results so far, and the variants still to ask."""

    task: StoppableTask
    stops: bool = False  # whether it ends with its first wrong answer
    is_scored: bool = False  # whether its answers are scored during the run
    waiting: list[Requests] = field(default_factory=list)
    original: bool | None = None  # whether the original is right; None if unknown
    hits: int = 0
    wrong: int = 0
    unscored: int = 0
    requests: int = 0

    def next(self) -> list[Requests]:
        """The variants to ask now: all of them, or with early stopping the next one until an answer is wrong."""
        if not self.stops:
            return self.waiting
        return [] if self.wrong else self.waiting[:1]

    def take(self, variant: Requests, right: bool | None) -> None:
        """Record the result of a variant. None (not scored) counts as neither right nor wrong."""
        self.waiting = [other for other in self.waiting if other is not variant]
        self.requests += len(variant)
        self.hits += right is True
        self.wrong += right is False
        self.unscored += right is None
        if variant[0].doc["original"]:
            self.original = right

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers on this rank, in the order of `QuestionOutcome`."""
        others = len(self.waiting) + self.wrong + self.unscored
        return self.requests, self.original is not None, self.original is True, self.hits, others, self.unscored


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
        question.waiting.sort(key=lambda variant: place_of(variant[0].doc, question.task.hardest_first))
    return questions


def ask_in_waves(
    questions: Sequence[QuestionState], send: Callable[[list[Instance]], list[Any]]
) -> Iterator[tuple[int, dict[int, Any]]]:
    """Ask the next variants of all open questions, until none is open; yield each wave.

    Yields:
        The number of open questions, and the responses by id of the request.
    """
    while pending := [(question, variants) for question in questions if (variants := question.next())]:
        asked = [(question, variant) for question, variants in pending for variant in variants]
        requests = [request for _, variant in asked for request in variant]
        responses = dict(zip(map(id, requests), send(requests), strict=True))
        _take(asked, responses)
        yield len(pending), responses


def _take(asked: Sequence[tuple[QuestionState, Requests]], responses: Mapping[int, Any]) -> None:
    """Pass the results of a wave to its questions. The answers of a task are scored together, if it is needed."""
    of_task: dict[str, list[tuple[QuestionState, Requests]]] = {}
    for question, variant in asked:
        if question.is_scored:
            of_task.setdefault(question.task.task_name, []).append((question, variant))
        else:
            question.take(variant, None)
    for members in of_task.values():
        answered = [(variant, [responses[id(request)] for request in variant]) for _, variant in members]
        verdicts = members[0][0].task.score_early(answered)
        for (question, variant), right in zip(members, verdicts, strict=True):
            question.take(variant, right)


def collect(
    agenda: Sequence[Planned], questions: Mapping[Key, QuestionState], summed: Callable[[list[int]], list[int]]
) -> Observed:
    """Collect the results of all ranks, whose numbers `summed` adds. The variants of a question may be on several."""
    own = [questions[planned.key].counts if planned.key in questions else _NOTHING for planned in agenda]
    rows = np.reshape(summed([*chain.from_iterable(own)]), (-1, len(_NOTHING))).tolist()
    outcomes = {
        planned.key: QuestionOutcome(requests, scored > 0, right > 0, *variants)
        for planned, (requests, scored, right, *variants) in zip(agenda, rows, strict=True)
    }
    return Observed(sum(outcome.requests for outcome in outcomes.values()), outcomes)


def moments_of(outcomes: Iterable[QuestionOutcome]) -> Moments:
    """The sums over the questions whose original has a result."""
    known = [outcome for outcome in outcomes if outcome.scored]
    right, always = [outcome for outcome in known if outcome.right], [outcome for outcome in known if outcome.always]
    sums = ((len(group), sum(outcome.requests for outcome in group)) for group in (known, right, always))
    return Moments(*chain.from_iterable(sums))
