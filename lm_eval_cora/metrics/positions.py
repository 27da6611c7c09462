"""Letter preference: the picks of each letter compared with equal shares."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from lm_eval_cora.metrics.bootstrap import bootstrap
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, ratio_of
from lm_eval_cora.question import LETTERS
from lm_eval_cora.responses import Floats, ResponseTable


def picks_by_letter(table: ResponseTable) -> dict[str, dict[str, Any]]:
    """Share of picks of each letter, and the share expected if letters were picked equally often.

    With the options in `cyclic` or `all` orders, each option is printed at each letter equally often. A model that
    prefers no letter then picks each of n printed letters in 1 / n of the cases. Swapped orders move only the right
    option, so a wrong option that the model prefers raises the share of its letter, too. Invalid answers pick no
    letter.

    Args:
        table: Answers to N questions.

    Returns:
        For each letter: `share`, its share of all picks, from 0 to 1; `even`, the expected share; `picks`, the number
        of its picks. Letters are included up to the last one printed in a variant with a pick. Empty without a pick.

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
    """Chi-square statistic of the picks by letter, compared with equal shares.

    The default is Pearson's statistic, sum (O - E)^2 / E over letters, where O is the number of picks of a letter and E
    the number expected with equal shares. It treats every pick as independent, so it grows with the number of variants
    per question. With `clustered` it is Wald's statistic D' V^-1 D, where D = O - E and V is the covariance of D over
    questions. Compare this one with the chi-square distribution with (number of letters - 1) degrees of freedom.

    Args:
        table: Answers to N questions.
        clustered: Whether the question is the unit instead of the pick.

    Returns:
        A value of at least 0, without a standard error; nan without a pick. With `clustered` it is also nan if V has
        too low a rank: if there are fewer questions than letters, or if all questions have the same picks.

    Example:
        >>> position_chi_square(ResponseTable.from_hits([[1, 1], [1, 0]])).value
        1.0

    Source: Pearson's and Wald's tests; ours for the picks by letter.
    """
    observed, expected = _picks(table)
    difference = (observed - expected).sum(axis=0)

    def statistic(weights: Floats) -> Floats:
        expected_in_all = weights @ expected
        with np.errstate(invalid="ignore"):  # 0 / 0 for a letter that no question of a sample prints
            parts = (weights @ observed - expected_in_all) ** 2 / expected_in_all
        total: Floats = np.nansum(parts, axis=1, keepdims=True)
        return total

    if not observed.any():
        return UNDEFINED
    if not clustered:
        (value,) = statistic(np.ones((1, len(observed))))[:, 0].tolist()
        replicates = bootstrap(statistic, len(observed))[:, 0] if len(observed) > 1 else None
        return Estimate(value, nan, replicates=replicates)
    size = max(len(observed), 2)  # avoids a division by 0; the covariance of one question is 0
    deviations = observed - expected - difference / size
    covariance = deviations.T @ deviations * (size / (size - 1))
    if np.linalg.matrix_rank(covariance, hermitian=True) < len(difference) - 1:
        return UNDEFINED
    return Estimate(float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference), nan)


def _picks(table: ResponseTable) -> tuple[Floats, Floats]:
    """(N, letters) number of picks of each letter, and the number expected with equal shares."""
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
