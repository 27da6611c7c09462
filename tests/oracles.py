"""Slow and obvious versions of every metric: plain loops over Records, straight from the definitions.

They share no code with the package. Questions are assumed complete, the first variant is the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from statistics import mean

from lm_eval_cora.responses import Record

Questions = Sequence[Sequence[Record]]


def _rc(records: Sequence[Record]) -> Fraction:
    return Fraction(sum(record.picked == record.answer for record in records), len(records))


def acc(questions: Questions) -> float:
    pooled = [record.picked == record.answer for records in questions for record in records]
    return mean(map(float, pooled))


def mcqa(questions: Questions) -> float:
    return mean(float(records[0].picked == records[0].answer) for records in questions)


def mcqa_plus(questions: Questions) -> float:
    return float(mean(_rc(records) for records in questions))


def mv(questions: Questions) -> float:
    return mean(float(_rc(records) > Fraction(1, 2)) for records in questions)


def bmca(questions: Questions, tenths: int) -> float:
    return mean(float(_rc(records) >= Fraction(tenths, 10)) for records in questions)


def ci(questions: Questions) -> float:
    return 1 - (mcqa(questions) - bmca(questions, 10))


def cora(questions: Questions) -> float:
    return mcqa(questions) * ci(questions)


def core(questions: Questions) -> float:
    curve = [bmca(questions, tenths) for tenths in range(11)]
    area = sum((left + right) / 2 * 0.1 for left, right in pairwise(curve))
    return area * mean(curve[1:])


def consistency_rate(questions: Questions) -> float | None:
    shares = []
    for records in questions:
        outcomes = []
        for one, other in combinations(records, 2):
            if one.picked is None or other.picked is None:
                outcomes.append(False)
            elif one.picked in other.printed and other.picked in one.printed:
                outcomes.append(one.picked == other.picked)
        if outcomes:
            shares.append(mean(map(float, outcomes)))
    return mean(shares) if shares else None


def kind_accuracies(questions: Questions) -> list[float]:
    kinds = {record.kind for records in questions for record in records}
    accuracies = []
    for kind in kinds:
        within = []
        for records in questions:
            hits = [float(record.picked == record.answer) for record in records if record.kind == kind]
            if hits:
                within.append(mean(hits))
        accuracies.append(mean(within))
    return accuracies


def acc_min(questions: Questions) -> float:
    return min(kind_accuracies(questions))


def acc_max(questions: Questions) -> float:
    return max(kind_accuracies(questions))


def invalid(questions: Questions) -> float:
    return mean(float(record.picked is None) for records in questions for record in records)


def ties(questions: Questions) -> float:
    return mean(float(record.tied) for records in questions for record in records)


def all_metrics(questions: Questions) -> dict[str, float | None]:
    """Every metric of the divergent probe under the name of the task files."""
    plain = (acc, cora, ci, mcqa, mcqa_plus, mv, core, consistency_rate, acc_min, acc_max, invalid, ties)
    values: dict[str, float | None] = {metric.__name__: metric(questions) for metric in plain}
    return values | {f"bmca@{tenths / 10}": bmca(questions, tenths) for tenths in range(5, 11)}
