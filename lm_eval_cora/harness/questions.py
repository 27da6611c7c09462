"""State of each question during a run: results so far, and requests still to send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lm_eval.api.instance import Instance

from lm_eval_cora.harness.rounds import Answered, Observed, Outcomes, Part, Planned
from lm_eval_cora.metrics.stopping import Moments, place_of
from lm_eval_cora.variants.probes import Probe

Requests = tuple[Instance, ...]
"""The requests of a variant: one if the answer is written, one per letter if letters are scored."""


class StoppableTask(Protocol):
    """Interface of a lm-eval-cora task for `AskingLM`. Requests refer to their task as `owner`."""

    @property
    def task_name(self) -> str:
        """Name of the task."""

    @property
    def probe(self) -> Probe:
        """The probe that makes the variants."""

    @property
    def can_stop(self) -> bool:
        """Whether a question may end with its first wrong answer."""

    def agenda(self) -> list[Planned]:
        """The questions of all ranks in random order: the first n are a sample of size n."""

    def is_settled(self, request: Instance, response: str) -> bool:
        """Whether more text after a response could not change its answer."""

    def score_early(self, answered: Sequence[tuple[Requests, Sequence[Any]]]) -> list[bool | None]:
        """Whether each variant was answered correctly, as in the final score; None if unknown."""


@dataclass
class QuestionState:
    """State of a question on this rank: its results so far, and the variants still to ask."""

    task: StoppableTask
    stops: bool
    size: int
    waiting: list[Requests] = field(default_factory=list)
    original: bool | None = None
    right: int = 0
    wrong: int = 0
    requests: int = 0
    unscored: int = 0

    def next(self, part: Part = "all") -> list[Requests]:
        """The variants to ask now: all of them, or with early stopping the next one until an answer is wrong."""
        if part == "original":
            return [variant for variant in self.waiting if variant[0].doc["original"]]
        if not self.stops:
            return self.waiting
        return [] if self.wrong else self.waiting[:1]

    def take(self, variant: Requests, right: bool | None) -> None:
        """Record the result of a variant. None (not scored) counts as neither right nor wrong."""
        self.waiting = [other for other in self.waiting if other is not variant]
        self.requests += len(variant)
        self.right += right is True
        self.wrong += right is False
        self.unscored += right is None
        if variant[0].doc["original"]:
            self.original = right

    @property
    def not_right(self) -> int:
        """Number of its variants on this rank that are not answered correctly, including those not asked."""
        return len(self.waiting) + self.wrong + self.unscored

    @property
    def outcome(self) -> str:
        """Name of its field in `Outcomes`; empty if the original has no result yet."""
        if self.original is None:
            return ""
        if not self.original:
            return "never"
        return "always" if self.right == self.size else "once"


def task_of(request: Instance) -> StoppableTask | None:
    """The lm-eval-cora task of a request, None if it belongs to another task."""
    task: StoppableTask | None = getattr(request, "owner", None)
    return task


def by_question(requests: Iterable[Instance], *, stop: bool) -> dict[tuple[str, str], QuestionState]:
    """Group requests by question, with the variants in the order of asking."""
    variants: dict[tuple[str, Any], list[Instance]] = {}
    for request in requests:
        variants.setdefault((request.task_name, request.doc_id), []).append(request)
    questions: dict[tuple[str, str], QuestionState] = {}
    for members in variants.values():
        task, doc = members[0].owner, members[0].doc
        key = task.task_name, doc["question_id"]
        if key not in questions:
            questions[key] = QuestionState(task, stop and task.can_stop, doc["variants"])
        questions[key].waiting.append(tuple(sorted(members, key=lambda request: request.idx)))
    for question in questions.values():
        question.waiting.sort(key=lambda variant: place_of(variant[0].doc, question.task.probe.hardest_first))
    return questions


def still_open(questions: Iterable[QuestionState]) -> tuple[int, int]:
    """Number of questions that are not settled, and the maximum number of requests that they still need."""
    waiting = [question.waiting for question in questions if question.next()]
    return len(waiting), sum(len(variant) for variants in waiting for variant in variants)


Summed = Callable[[list[int]], list[int]]
"""Function that sums each number of a list over all ranks."""

States = Mapping[tuple[str, str], QuestionState]
"""The questions of this rank, by task and id."""


def tally(tasks: Sequence[str], questions: Iterable[QuestionState], summed: Summed) -> Observed:
    """Count requests and outcomes."""
    requests = 0
    counts: Counter[tuple[str, str]] = Counter()
    for question in questions:
        requests += question.requests
        counts[question.task.task_name, question.outcome] += 1
    own = [requests, *(counts[task, outcome] for task in tasks for outcome in Outcomes._fields)]
    spent, *numbers = summed(own)
    size = len(Outcomes._fields)
    by_task = {task: Outcomes(*numbers[size * place : size * (place + 1)]) for place, task in enumerate(tasks)}
    return Observed(spent, by_task)


def answered(batch: Sequence[Planned], questions: States, summed: Summed) -> dict[tuple[str, str], Answered]:
    """Collect the results of each question of a round. The variants of a question may be on several ranks."""
    own: list[int] = []
    for planned in batch:
        question = questions.get(planned.key)
        own += (0, 0, 0) if question is None else (question.original is True, question.not_right, question.requests)
    numbers = summed([int(number) for number in own])
    return {
        planned.key: Answered(right > 0, not_right == 0, requests)
        for planned, right, not_right, requests in zip(batch, numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    }


def moments(tasks: Sequence[str], questions: Iterable[QuestionState], summed: Summed) -> dict[str, Moments]:
    """Sums over the questions of each task from which the bias of a budget follows."""
    sums = {task: [0] * len(Moments._fields) for task in tasks}
    for question in questions:
        if question.requests:
            right, always, cost = question.original is True, question.outcome == "always", question.requests
            row = (1, cost, right, cost * right, always, cost * always)
            sums[question.task.task_name] = [sum(pair) for pair in zip(sums[question.task.task_name], row, strict=True)]
    numbers = summed([number for row in sums.values() for number in row])
    size = len(Moments._fields)
    return {task: Moments(*numbers[size * place : size * (place + 1)]) for place, task in enumerate(tasks)}
