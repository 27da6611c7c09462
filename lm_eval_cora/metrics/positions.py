"""Whether a model prefers a letter: its picks by position against an even share."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, bootstrap, ratio_of
from lm_eval_cora.question import LETTERS
from lm_eval_cora.responses import Floats, ResponseTable


def picks_by_letter(table: ResponseTable) -> dict[str, dict[str, Any]]:
    """How often each letter was picked, and how often it would be if the picks were even.

    Over the orders of a probe the right option stands at every position equally often, so a model without a preference
    picks each letter as often as it is printed, once in as many options. Invalid answers pick none.

    Args:
        table: N questions.

    Returns:
        For each letter that was printed where something was picked `share`, its picks as a share of all picks; `even`,
        what that would be; and `picks`, their number. Empty without a pick.

    Example:
        >>> picks_by_letter(ResponseTable.from_hits([[1, 1], [1, 0]]))["A"]["share"].value
        0.75

    Source: SCORE, section 3.2 ("a preference for certain answer options").
    """
    observed, expected = _picks(table)
    picks = observed.sum(axis=1)
    if not picks.any():
        return {}
    even = expected.sum(axis=0) / picks.sum()
    return {
        LETTERS[place]: {
            "share": ratio_of(observed[:, place], picks),
            "even": float(even[place]),
            "picks": int(observed[:, place].sum()),
        }
        for place in range(observed.shape[1])
    }


def position_chi_square(table: ResponseTable, *, clustered: bool = False) -> Estimate:
    """Chi-square statistic of the picks by letter against even ones, with as many degrees of freedom as letters - 1.

    Pearson's sum (O - E)^2 / E takes every pick as an observation of its own, so it grows with the number of variants
    of a question. Clustered is Wald's D' V^-1 D of the differences D = O - E, with the covariance V of their sums over
    questions: that one may be compared with the chi-square distribution.

    Args:
        table: N questions.
        clustered: Whether the question is the unit.

    Returns:
        A value from 0, without a standard error; nan without a pick, and clustered where the questions do not differ
        enough to tell how much of it is chance: fewer of them than letters, or all with the same picks.

    Example:
        >>> position_chi_square(ResponseTable.from_hits([[1, 1], [1, 0]])).value
        1.0
    """
    observed, expected = _picks(table)
    difference = (observed - expected).sum(axis=0)

    def statistic(weights: Floats) -> Floats:
        expected_in_all = weights @ expected
        with np.errstate(invalid="ignore"):  # of a letter that is not printed in a sample
            parts = (weights @ observed - expected_in_all) ** 2 / expected_in_all
        total: Floats = np.nansum(parts, axis=1, keepdims=True)
        return total

    if not observed.any():
        return UNDEFINED
    if not clustered:
        (value,) = statistic(np.ones((1, len(observed))))[:, 0].tolist()
        replicates = bootstrap(statistic, len(observed))[:, 0] if len(observed) > 1 else None
        return Estimate(value, nan, replicates=replicates)
    size = max(len(observed), 2)  # of one question the covariance is 0
    deviations = observed - expected - difference / size
    covariance = deviations.T @ deviations * (size / (size - 1))
    if np.linalg.matrix_rank(covariance, hermitian=True) < len(difference) - 1:
        return UNDEFINED
    return Estimate(float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference), nan)


def _picks(table: ResponseTable) -> tuple[Floats, Floats]:
    """(N, letters) number of picks of each letter, and the number that even picks would have."""
    valid = table.position >= 0
    letters = int(table.options[valid].max(initial=0))
    shape = (len(table.sizes), letters)
    cell = table.question[valid] * letters + table.position[valid]
    observed = np.bincount(cell, minlength=shape[0] * letters).reshape(shape).astype(np.float64)
    expected = np.zeros(shape)
    for options in np.unique(table.options[valid]).tolist():
        picks = table.sum_by_question(valid & (table.options == options))
        expected[:, :options] += picks[:, None] / options
    return observed, expected
