"""The number of questions with which an interval excludes a value, in closed form."""

from __future__ import annotations

from math import ceil, isnan, nan, sqrt
from statistics import NormalDist

from lm_eval_cora.metrics.estimate import Estimate

POWER = 0.8
"""The usual probability of finding a difference that exists."""

LEVEL = 0.95
"""The usual confidence level of an interval."""


def spread_of(stderr: float, questions: int) -> float:
    """Standard deviation of what a question contributes to a value: stderr * sqrt(N).

    It is 1/sqrt(N) times the standard error that other samples of N questions would have.

    Args:
        stderr: Standard error of a value or of a paired difference from N questions.
        questions: N.

    Example:
        >>> spread_of(0.02, 400)
        0.4
    """
    return stderr * sqrt(questions)


def spread_of_difference(spread: float, correlation: float) -> float:
    """Spread of the paired difference of two models with the same spread s: s * sqrt(2 (1 - correlation)).

    Args:
        spread: s, as in `spread_of`.
        correlation: Correlation of the contributions of a question to the values of both models, below 1.

    Example:
        >>> round(spread_of_difference(0.4, 0.5), 9)
        0.4
    """
    return spread * sqrt(2 * (1 - correlation))


def questions_needed(spread: float, difference: float, power: float = POWER, level: float = LEVEL) -> int:
    """Number of questions with which the interval of a difference excludes 0 with a given probability.

    N = ((z_level + z_power) s / d)^2, rounded up, with the spread s, the true difference d, and the quantiles of the
    normal distribution z_level (two-sided) and z_power. The interval is taken as normal, as it is for many questions.
    The probability that it lies on the wrong side of 0 is ignored.

    Args:
        spread: s, as in `spread_of`; of the paired difference if two models are compared.
        difference: d, above 0; or the distance between a value and the bound that its interval must exclude.
        power: The probability, from 0.5 to below 1.
        level: Confidence level of the interval.

    Returns:
        N, at least 2.

    Example:
        >>> questions_needed(0.4, 0.02)
        3140

    Source: the textbook formula, as in Miller 2024 (arXiv:2411.00640), section 5, with the spread of each metric.
    """
    return max(2, ceil((_quantiles(power, level) * spread / difference) ** 2))


def smallest_difference(spread: float, questions: int, power: float = POWER, level: float = LEVEL) -> float:
    """The difference that N questions find with a given probability: (z_level + z_power) s / sqrt(N).

    Args:
        spread: s, as in `questions_needed`.
        questions: N.
        power: The probability, from 0.5 to below 1.
        level: Confidence level of the interval.

    Example:
        >>> round(smallest_difference(0.4, 3140), 4)
        0.02
    """
    return _quantiles(power, level) * spread / sqrt(questions)


def _quantiles(power: float, level: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)


def correlation_of(before: Estimate, after: Estimate) -> float:
    """Correlation of the influences of the questions on the values of two models.

    Returns:
        A number from -1 to 1; nan if a model has no influences, or they do not vary.

    Example:
        >>> import numpy as np
        >>> from lm_eval_cora.metrics.estimate import mean_of
        >>> values = np.array([0.0, 0.5, 1.0, 0.5])
        >>> round(correlation_of(mean_of(values), mean_of(1 - values)), 9)
        -1.0
    """
    one, other = before.influence, after.influence
    if one is None or other is None or isnan(before.stderr) or isnan(after.stderr):
        return nan
    spreads = one.std() * other.std()
    return float(((one - one.mean()) * (other - other.mean())).mean() / spreads) if spreads else nan
