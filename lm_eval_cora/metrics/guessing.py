"""What can be guessed from the options alone, and whether a model says "I don't know" instead of guessing.

Symbols of the latter: x_i is 1 if the original of question i is answered correctly. Asked again with "I don't know" as
a further option, r_i is 1 if question i is answered correctly, and a_i is 1 if the model abstains: it picks this
option. An invalid answer is a wrong one, as in all accuracies, and not an abstention. The entries of a `metric_list`
leave out the variants with, or without, the sentence that a wrong answer costs a point.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np

from lm_eval_cora.metrics.estimate import SHARES, Estimate
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.responses import Floats, ResponseTable, bits_of
from lm_eval_cora.questions.question import ABSTAIN
from lm_eval_cora.variants.abstain import NAME, WARNED

__all__ = ["above_chance", "abstained", "acc_answered", "acc_longest", "answered", "chance", "penalised"]
_FACTS: dict[str, Any] = {"needs": ("picked", "printed", "original"), "kinds": (NAME, WARNED)}


@metric(
    "Expected accuracy of random picks: mean over questions of 1 / number of options.",
    needs=("printed",),
    of_one_answer=True,
)
def chance(table: ResponseTable) -> Estimate:
    """Expected accuracy of random picks: mean over questions of 1 / A_i, where question i prints A_i options.

    Equal options count as one. The standard error is 0 if all questions have as many options.
    Range: 0 to 1; nan without questions, or if one has no options. Source: ours.

    Example:
        >>> chance(ResponseTable.from_hits([[1, 1], [0, 1]]))
        Estimate(value=0.5, stderr=0.0)
    """
    chances = _chances(table)
    known = set(chances.tolist())
    return table.mean(chances, between=(*known, *known) if len(known) == 1 else SHARES)


@metric(
    "Accuracy above that of random picks, paired by question.",
    bounds=(-1.0, 1.0),
    needs=("printed",),
    of_one_answer=True,
)
def above_chance(table: ResponseTable) -> Estimate:
    """Accuracy above that of random picks: mean over questions of RC(i) - 1 / A_i, with A_i of `chance`.

    RC(i) is the share of the variants of question i that are answered correctly.
    Range: -1 to 1; nan without questions. Source: ours.

    Example:
        >>> above_chance(ResponseTable.from_hits([[1, 1], [0, 1]])).value
        0.25
    """
    return table.mean(table.hits / table.sizes - _chances(table), between=(-1.0, 1.0))


@metric("Accuracy of always picking the longest option, in characters.", needs=("longest",), of_one_answer=True)
def acc_longest(table: ResponseTable) -> Estimate:
    """Accuracy of always picking the longest option, in characters.

    If t options of a question have this length, it counts 1/t if the right one is among them, else 0. Equal options
    count as one.
    Range: 0 to 1; nan without questions, or if the lengths are unknown. Source: ours.

    Example:
        >>> acc_longest(ResponseTable.from_hits([[1], [0]], longest=np.array([1.0, 0.5]))).value
        0.75
    """
    return table.mean(table.longest[table.starts])


@metric(
    "Share of questions that the model answers if it may say “I don't know”; warned: a wrong answer costs a point.",
    higher_is_better=None,
    **_FACTS,
)
def answered(table: ResponseTable) -> Estimate:
    """Share of questions that the model answers if it may say "I don't know": the mean of 1 - a_i.

    Range: 0 to 1; nan if no question was asked in this way. Source: ours.

    Example:
        >>> printed = np.array([3, 3 + 2**53] * 2, dtype=np.uint64)  # option 53 is "I don't know"
        >>> table = ResponseTable.from_hits([[1, 1], [0, 0]], picked=np.array([0, 0, 1, 53]), printed=printed)
        >>> [one(table).value for one in (answered, acc_answered, penalised)]
        [0.5, 1.0, 0.5]
        >>> abstained(table, right=False).value, abstained(table, right=True).value
        (1.0, 0.0)
    """
    asked, answers, _ = _counts(table)
    return table.ratio(answers, asked)


@metric(
    "Accuracy on the questions that the model answers if it may say “I don't know” (warned: see answered).",
    ranks_models=False,
    **_FACTS,
)
def acc_answered(table: ResponseTable) -> Estimate:
    """Accuracy on the questions that the model answers if it may say "I don't know": sum r_i / sum (1 - a_i).

    Range: 0 to 1; nan if the model answers no question. Source: ours.
    """
    _, answers, right = _counts(table)
    return table.ratio(right, answers)


@metric(
    "Share of abstentions among the questions that the model answers wrongly (when_wrong) or correctly (when_right) "
    "without the option.",
    special={("right", True): {"higher_is_better": False}},
    ranks_models=False,
    **_FACTS,
)
def abstained(table: ResponseTable, *, right: bool) -> Estimate:
    """Share of abstentions among the questions that the model answers wrongly, or correctly, without the option.

    Args:
        table: Answers to N questions.
        right: True for `abstained_when_right`, sum a_i x_i / sum x_i; False for `abstained_when_wrong`, sum a_i
            (1 - x_i) / sum (1 - x_i).

    Range: 0 to 1; nan if the model answers no question in this way. Source: ours.
    """
    asked, answers, _ = _counts(table)
    inside: Any = table.original_correct == right
    return table.ratio((asked - answers) * inside, asked * inside)


@metric(
    "Score if a wrong answer has a cost and “I don't know” has none (warned: see answered).",
    bounds=(-inf, 1.0),
    **_FACTS,
)
def penalised(table: ResponseTable, *, cost: float = 1.0) -> Estimate:
    """Score if a wrong answer has a cost and "I don't know" has none: the mean of r_i - cost (1 - a_i - r_i).

    To answer pays off for answers that are right with a probability above cost / (1 + cost).

    Args:
        table: Answers to N questions.
        cost: What a wrong answer costs; a right one gains 1. The prompts with a warning say that the cost is 1.

    Range: -cost to 1; nan as `answered`. Source: ours, after exams with negative marking.
    """
    asked, answers, right = _counts(table)
    return table.ratio(right - cost * (answers - right), asked, between=(-cost, 1.0))


def _counts(table: ResponseTable) -> list[Floats]:
    """(N,) each: number of variants with the option, of those that are answered, and of right answers to them."""
    asked = (table.printed & np.uint64(1 << ABSTAIN)) > 0
    answers = asked & (table.picked != ABSTAIN)
    return [*map(table.sum_by_question, (asked, answers, answers & table.correct))]


def _chances(table: ResponseTable) -> Floats:
    """(N,) probability that a random pick among the options of a question is right; nan without options."""
    counts = bits_of(table.printed[table.starts]).sum(axis=1)
    chances: Floats = 1 / np.where(counts, counts, nan)
    return chances
