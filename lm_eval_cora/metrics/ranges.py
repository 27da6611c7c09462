"""The accuracy range: the lowest and the highest accuracy among the groups that a probe compares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, bootstrap_error
from lm_eval_cora.responses import Bools, Floats, ResponseTable


def acc_min(table: ResponseTable) -> Estimate:
    """Lowest accuracy among the kinds of variants.

    The accuracy of a kind is the mean over questions of the mean within the question. The standard error is
    bootstrapped over questions, the lowest kind chosen anew in every sample.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan without questions.

    Example:
        >>> acc_min(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        0.25

    Source: SCORE, section 3.4 (accuracy range), over kinds.
    """
    return _extreme(table, np.nanmin)


def acc_max(table: ResponseTable) -> Estimate:
    """Highest accuracy among the kinds of variants; see `acc_min`.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1; nan without questions.

    Example:
        >>> acc_max(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]])).value
        1.0

    Source: SCORE, section 3.4 (accuracy range), over kinds.
    """
    return _extreme(table, np.nanmax)


def accuracy_by_kind(table: ResponseTable) -> dict[str, float]:
    """Accuracy of each kind of variant: the mean over questions of the mean within the question.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions.

    Example:
        >>> accuracy_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 1.0, 'variant': 0.25}
    """
    return _by_kind(table, table.correct)


def invalid_by_kind(table: ResponseTable) -> dict[str, float]:
    """Share of invalid answers to each kind of variant: the mean over questions of the mean within the question.

    Args:
        table: N questions.

    Returns:
        A share from 0 to 1 for each kind; empty without questions.

    Example:
        >>> invalid_by_kind(ResponseTable.from_hits([[1, 1, 0], [1, 0, 0]]))
        {'original': 0.0, 'variant': 0.0}
    """
    return _by_kind(table, table.invalid)


def _by_kind(table: ResponseTable, values: Bools) -> dict[str, float]:
    means, present = _means_by_question(table, values)
    return dict(zip(table.kinds, (means.sum(axis=0) / present.sum(axis=0)).tolist(), strict=True))


def _means_by_question(table: ResponseTable, values: Bools) -> tuple[Floats, Floats]:
    """(N, kinds) mean of a value within question and kind, 0 where absent; and 1 where present."""
    shape = (len(table.sizes), len(table.kinds))
    cell = table.question * shape[1] + table.kind
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    return sums / np.maximum(counts, 1), (counts > 0).astype(np.float64)


def _extreme(table: ResponseTable, pick: Callable[..., Floats]) -> Estimate:
    if not len(table.sizes):
        return UNDEFINED
    means, present = _means_by_question(table, table.correct)

    def statistic(weights: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # a kind that no drawn question has is nan, and left out
            return pick((weights @ means) / (weights @ present), axis=1)

    everyone = np.ones((1, len(table.sizes)))
    return Estimate(float(statistic(everyone)[0]), bootstrap_error(statistic, len(table.sizes)))
