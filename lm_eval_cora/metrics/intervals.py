"""95% confidence intervals that stay inside the range of a metric: Wilson's, Clopper and Pearson's, and Tango's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.responses import Floats

IN_95_PERCENT = 1.959963984540054
"""Half the width of a 95% confidence interval, in standard errors."""

_MOST_TRIALS = 1e300

_HALVINGS = 50


def wilson(successes: float, trials: float, z: float = IN_95_PERCENT) -> tuple[float, float]:
    """Wilson's interval of a share: all p with |s / n - p| <= z sqrt(p (1 - p) / n)."""
    share, square = successes / trials, z * z / trials
    middle = (share + square / 2) / (1 + square)
    half = z * sqrt(share * (1 - share) / trials + square / trials / 4) / (1 + square)
    return (0.0 if not successes else max(0.0, middle - half), 1.0 if successes == trials else min(1.0, middle + half))


def clopper_pearson(successes: float, trials: float, tail: float = 0.025) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share: each end is wrong with at most the probability of its tail.

    The lower end is the p with P(X >= s) = tail, the upper end the p with P(X <= s) = tail, where X is binomial with n
    trials and probability p.
    """
    from scipy.special import betaincinv  # importing scipy takes time; see metrics.paired

    failures = trials - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    return low, float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0


def trials_with_error(share: float, error: float) -> float:
    """Number of trials whose share of successes has a given standard error: p (1 - p) / error^2."""
    root = sqrt(share * (1 - share)) / max(error, 1 / _MOST_TRIALS)
    return max(1 / _MOST_TRIALS, min(root * root, _MOST_TRIALS))


def bounded(
    value: float, error: float, between: tuple[float, float] = (0.0, 1.0), z: float = IN_95_PERCENT
) -> tuple[float, float]:
    """Interval of a mean with a known range: Wilson's, with the number of trials that has the same error."""
    low, high = between
    size = high - low
    share = (value - low) / size if isfinite(size) and size else 0.0
    if not 0 < share < 1:
        return float(max(low, min(high, value) - z * error)), float(min(high, max(low, value) + z * error))
    trials = trials_with_error(share, error / size)
    first, last = wilson(share * trials, trials, z)
    return float(min(value, low + size * first)), float(max(value, low + size * last))


def unvaried(
    value: float, questions: float, between: tuple[float, float] = (0.0, 1.0), z: float = IN_95_PERCENT
) -> tuple[float, float]:
    """Interval of a mean if all questions of the sample have the same value.

    Other questions may differ. Their share is at most w = z^2 / (N + z^2), the upper end of Wilson's interval for 0 of
    N, and each may have the lowest or the highest value.
    """
    rare = z * z / (questions + z * z)
    low, high = value - rare * (value - between[0]), value + rare * (between[1] - value)
    return float(min(value, low)), float(max(value, high))


def tango(lost: float, gained: float, questions: float, z: float = IN_95_PERCENT) -> tuple[float, float]:
    """Tango's score interval of a paired difference of shares, (gained - lost) / N.

    A difference d is inside if |gained - lost - N d| <= z sqrt(N (2 q + d - d^2)). Here q is the probability of a loss
    that is the most likely one if the difference is d.
    """

    def is_outside(difference: float) -> bool:
        a = 2 * questions
        b = -lost - gained + (2 * questions - gained + lost) * difference
        c = -lost * difference * (1 - difference)
        loss = max(0.0, (sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a))
        variance = questions * (2 * loss + difference * (1 - difference))
        return (gained - lost - questions * difference) ** 2 > z * z * max(variance, 0.0)

    middle = (gained - lost) / questions
    return _edge(is_outside, middle, -1.0), _edge(is_outside, middle, 1.0)


def _edge(is_outside: Callable[[float], bool], inside: float, limit: float) -> float:
    """The last value that is not outside, on the way from a value inside to a limit."""
    if not is_outside(limit):
        return limit
    outside = limit
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if is_outside(middle):
            outside = middle
        else:
            inside = middle
    return inside


REPLICATES = 5_000
"""Number of bootstrap samples."""

_DRAWS_AT_A_TIME = 2_000_000


def bootstrap(statistics: Callable[[list[Floats]], Floats], strata: Sequence[int]) -> Floats:
    """Compute statistics in 5,000 bootstrap samples of the questions, with a fixed seed.

    Each stratum is resampled by itself. Of its n questions n - 1 are drawn with replacement, so that the variance of a
    mean is s^2 / n with the variance s^2 (ddof 1) of the sample. Drawing n would give (n - 1) / n times as much.

    Use it only for statistics without a closed-form standard error, such as a minimum. Drawing takes most of the time,
    so compute several statistics of the same questions in one call.
    """
    step = max(1, _DRAWS_AT_A_TIME // max(1, sum(strata)))
    if len(strata) == 1 and step >= REPLICATES:
        return statistics([_all_weights(strata[0]).astype(np.float64)])
    generator = np.random.default_rng(0)
    values = []
    for start in range(0, REPLICATES, step):
        size = min(step, REPLICATES - start)
        values.append(statistics([_weights(generator, size, questions) for questions in strata]))
    return np.concatenate(values)


@lru_cache(maxsize=64)  # the categories of a benchmark have the same sizes for every model
def _all_weights(questions: int) -> NDArray[np.uint16]:
    """(5000, questions) the weights of a single small stratum, with a quarter of the memory."""
    return _weights(np.random.default_rng(0), REPLICATES, questions).astype(np.uint16)


def _weights(generator: np.random.Generator, samples: int, questions: int) -> Floats:
    """(samples, questions) how often each question is drawn."""
    drawn = generator.integers(0, questions, size=(samples, questions - 1))
    drawn += np.arange(samples)[:, None] * questions
    weights = np.bincount(drawn.ravel(), minlength=samples * questions).reshape(samples, questions)
    return weights.astype(np.float64)
