"""What is known of each question while a model is being asked, and what is still to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lm_eval.api.instance import Instance

from lm_eval_cora.probes import Probe
from lm_eval_cora.stopping.rounds import Planned
from lm_eval_cora.stopping.rule import place_of

Requests = tuple[Instance, ...]
"""The requests of a variant: one where an answer is written, one per letter where letters are scored."""


class StoppableTask(Protocol):
    """What a task of ours tells the model that asks its requests. They name it as `owner`."""

    @property
    def task_name(self) -> str:
        """Its name."""

    @property
    def probe(self) -> Probe:
        """What makes its variants."""

    @property
    def can_stop(self) -> bool:
        """Whether its metrics allow a question to end with the first wrong answer."""

    def agenda(self) -> list[Planned]:
        """The questions on all ranks together, in the order in which a sample takes them."""

    def is_settled(self, request: Instance, response: str) -> bool:
        """Whether more text after a response would leave its answer as it is."""

    def score_early(self, answered: Sequence[tuple[Requests, Sequence[Any]]]) -> list[bool | None]:
        """Whether variants were answered right, as they will be scored; None where that cannot be said."""


@dataclass
class QuestionState:
    """A question while it is asked: what is known of it on this rank, and what is still to be asked."""

    task: StoppableTask
    stops: bool
    size: int
    waiting: list[Requests] = field(default_factory=list)
    original: bool | None = None
    right: int = 0
    wrong: int = 0
    requests: int = 0

    def next(self) -> list[Requests]:
        """The variants to ask now: all of them, or with early stopping the next one until an answer is wrong."""
        if not self.stops:
            return self.waiting
        return [] if self.wrong else self.waiting[:1]

    def take(self, variant: Requests, right: bool | None) -> None:
        """Note how a variant came out; what cannot be scored settles nothing."""
        self.waiting = [other for other in self.waiting if other is not variant]
        self.requests += len(variant)
        self.right += right is True
        self.wrong += right is False
        if variant[0].doc["original"]:
            self.original = right

    @property
    def outcome(self) -> str:
        """Which of the Outcomes it has; empty if none, because the question is not begun."""
        if self.original is None:
            return ""
        if not self.original:
            return "never"
        return "always" if self.right == self.size else "once"


def task_of(request: Instance) -> StoppableTask | None:
    """The task of ours that a request belongs to, None if it is another's."""
    task: StoppableTask | None = getattr(request, "owner", None)
    return task


def by_question(requests: Iterable[Instance], *, stop: bool) -> dict[tuple[str, str], QuestionState]:
    """The questions of some requests, with their variants in the order of asking."""
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
    """How many questions are not settled, and how many requests they may still take."""
    waiting = [question.waiting for question in questions if question.next()]
    return len(waiting), sum(len(variant) for variants in waiting for variant in variants)
