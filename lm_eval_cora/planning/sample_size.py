"""The number of questions with which an interval excludes a value, in closed form."""

from __future__ import annotations

from math import ceil, isnan, nan, sqrt
from statistics import NormalDist

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.responses import Floats

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


def spread_at(spread: float, influence: Floats, change: float) -> float:
    """Spread of a model whose value is higher by a given change, from the answers of one model.

    The other model is taken to have the same kinds of questions in other shares: those with the influence l have the
    weight 1 + t l, where t gives the change c. With the spread s and the third moment m3 of the influences, its squared
    spread is s^2 + c m3 / s^2 - c^2. For a share of questions this is exact: p (1 - p) becomes (p + c)(1 - p - c).

    Args:
        spread: s, as in `spread_of`.
        influence: (N,) influences of the questions on the value.
        change: c, negative for a lower value.

    Returns:
        The spread, at least 0.

    Example:
        >>> import numpy as np
        >>> influence = np.array([0.5, 0.5, 0.5, -1.5])  # a share of 0.75, twice
        >>> round(spread_at(0.75**0.5, influence, -0.2) ** 2, 9)  # 4 * 0.65 * 0.35
        0.91
    """
    square = float((influence**2).mean())
    if not square:
        return spread
    return sqrt(max(0.0, spread**2 + change * float((influence**3).mean()) / square - change**2))


def spread_of_difference(one: float, other: float, correlation: float) -> float:
    """Spread of the paired difference of two models: sqrt(s1^2 + s2^2 - 2 r s1 s2).

    Args:
        one: s1, as in `spread_of`.
        other: s2.
        correlation: r, of the contributions of a question to the values of both models.

    Example:
        >>> round(spread_of_difference(0.4, 0.4, 0.5), 9)
        0.4
    """
    return sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def spread_with_another(estimate: Estimate, questions: int, difference: float, correlation: float) -> float:
    """Spread of the paired difference of a model and of another one whose value differs by a given difference.

    The value of the other model may be higher or lower. The larger spread of the two counts, and at least that of the
    model itself.

    Args:
        estimate: The value of the model, with influences.
        questions: Its number of questions.
        difference: The difference, above 0.
        correlation: Correlation of both models' results, question by question.

    Example:
        >>> import numpy as np
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> share = share_of(np.arange(1_000) < 500)
        >>> round(spread_with_another(share, 1_000, 0.02, 0.5), 3)  # both vary as much: sqrt(0.25)
        0.5
    """
    spread = spread_of(estimate.stderr, questions)
    if estimate.influence is None:
        raise ValueError("spread_with_another: expected an estimate with influences")
    others = [spread_at(spread, estimate.influence, change) for change in (difference, -difference)]
    return spread_of_difference(spread, max(spread, *others), correlation)


def questions_needed(
    spread: float, difference: float, power: float = POWER, level: float = LEVEL, *, at_bound: float | None = None
) -> int:
    """Number of questions with which the interval of a difference excludes 0 with a given probability.

    N = ((z_level s0 + z_power s) / d)^2, rounded up, with the spread s, the true difference d, and the quantiles of the
    normal distribution z_level (two-sided) and z_power. s0 is the spread if the true difference were 0, because score
    intervals and tests use that one. The interval is taken as normal, as it is for many questions. The probability that
    it lies on the wrong side of 0 is ignored.

    Args:
        spread: s, as in `spread_of`; of the paired difference if two models are compared.
        difference: d, above 0; or the distance between a value and the bound that its interval must exclude.
        power: The probability, from 0.5 to below 1.
        level: Confidence level of the interval.
        at_bound: s0; None if it is s.

    Returns:
        N, at least 2.

    Example:
        >>> questions_needed(0.4, 0.02)
        3140

    Source: the textbook formula, as in Miller 2024 (arXiv:2411.00640), with the spread of each metric.
    """
    of_level, of_power = _quantiles(power, level)
    wide = of_level * (spread if at_bound is None else at_bound) + of_power * spread
    return max(2, ceil((wide / difference) ** 2))


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
    return sum(_quantiles(power, level)) * spread / sqrt(questions)


def _quantiles(power: float, level: float) -> tuple[float, float]:
    normal = NormalDist()
    return normal.inv_cdf((1 + level) / 2), normal.inv_cdf(power)


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
