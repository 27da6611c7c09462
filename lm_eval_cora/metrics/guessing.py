"""What can be guessed from the options alone: chance, above_chance, acc_longest."""

from __future__ import annotations

from math import nan

import numpy as np

from lm_eval_cora.metrics.estimate import SHARES, Estimate
from lm_eval_cora.metrics.facts import metric
from lm_eval_cora.metrics.responses import Floats, ResponseTable, bits_of

__all__ = ["above_chance", "acc_longest", "chance"]


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


def _chances(table: ResponseTable) -> Floats:
    """(N,) probability that a random pick among the options of a question is right; nan without options."""
    counts = bits_of(table.printed[table.starts]).sum(axis=1)
    chances: Floats = 1 / np.where(counts, counts, nan)
    return chances
