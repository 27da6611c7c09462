"""A value with its standard error, and the ways in which one is estimated from values per question."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.responses import Floats

_REPLICATES = 1_000
_DRAWS_AT_A_TIME = 2_000_000


class Estimate(NamedTuple):
    """A metric's value and its standard error, clustered by question; nan where they are undefined."""

    value: float
    stderr: float


UNDEFINED = Estimate(nan, nan)


def mean_of(values: Floats) -> Estimate:
    """Mean of one value per question, with standard error sd / sqrt(N) (sd with ddof 1).

    Example:
        >>> mean_of(np.array([1.0, 0.0, 1.0, 0.0])).value
        0.5
        >>> mean_of(np.array([]))
        Estimate(value=nan, stderr=nan)
    """
    if not len(values):
        return UNDEFINED
    return Estimate(float(values.mean()), standard_error(values))


def ratio_of(parts: Floats, wholes: Floats, members: Floats | None = None) -> Estimate:
    """Pooled share R = sum k_i / sum m_i, a ratio of two sums over questions.

    Its standard error is sqrt(N / (N - 1) * sum (k_i - R m_i)^2) / sum m_i, by the delta method; nan where fewer than
    two questions are in the subset.

    Args:
        parts: (N,) k_i.
        wholes: (N,) m_i; 0 where a question is outside the subset.
        members: (N,) whether a question is in the subset, if that is not the same as m_i > 0.

    Returns:
        The share; undefined if all wholes are 0, or so small that it is no number.

    Example:
        >>> ratio_of(np.array([1.0, 3.0]), np.array([4.0, 4.0])).value
        0.5
    """
    total = wholes.sum()
    if not total:
        return UNDEFINED
    with np.errstate(over="ignore"):
        share = parts.sum() / total
    if not np.isfinite(share):
        return UNDEFINED
    if np.count_nonzero(wholes if members is None else members) < 2:
        return Estimate(float(share), nan)
    return Estimate(float(share), standard_error((parts - share * wholes) * (len(wholes) / total)))


def standard_error(influence: Floats) -> float:
    """Standard error of a statistic from each question's influence on it: sd / sqrt(N), nan for N < 2.

    For a mean the influence is the value itself; for a function of means it is the value times the gradient.

    Example:
        >>> standard_error(np.array([0.0, 2.0]))
        1.0
    """
    if len(influence) < 2:
        return nan
    return float(influence.std(ddof=1) / np.sqrt(len(influence)))


def bootstrap_error(statistics: Callable[[Floats], Floats], questions: int) -> Floats | float:
    """Standard deviations (ddof 1) of some statistics over 1,000 bootstrap samples of the questions, seeded.

    Only for statistics without a closed form, such as a minimum. Drawing takes most of the time, so what is about the
    same questions is bootstrapped together.

    Args:
        statistics: Takes (B, N) weights, how often each question was drawn in each sample, and returns (B, K) values.
        questions: N.

    Returns:
        (K,) standard errors; nan for N < 2.

    Example:
        >>> values = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> (error,) = bootstrap_error(lambda weights: weights @ values / 4, questions=4)
        >>> bool(0.2 < error < 0.3)
        True
    """
    if questions < 2:
        return nan
    generator = np.random.default_rng(0)
    step = max(1, _DRAWS_AT_A_TIME // questions)
    values = []
    for start in range(0, _REPLICATES, step):
        size = min(step, _REPLICATES - start)
        drawn = generator.integers(0, questions, size=(size, questions))
        drawn += np.arange(size)[:, None] * questions
        weights = np.bincount(drawn.ravel(), minlength=size * questions).reshape(size, questions)
        values.append(statistics(weights.astype(np.float64)))
    errors: Floats = np.concatenate(values).std(axis=0, ddof=1)
    return errors
