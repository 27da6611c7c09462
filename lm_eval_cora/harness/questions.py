"""State of each question during a run: results so far, and requests still to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lm_eval.api.instance import Instance

from lm_eval_cora.probes import Probe
from lm_eval_cora.stopping.rounds import Part, Planned
from lm_eval_cora.stopping.rule import place_of

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
