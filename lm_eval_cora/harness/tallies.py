"""Counts of requests and results over all ranks, from which each rank makes the same decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from lm_eval_cora.harness.questions import QuestionState
from lm_eval_cora.stopping.bias import Moments
from lm_eval_cora.stopping.rounds import Answered, Observed, Outcomes, Planned

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
