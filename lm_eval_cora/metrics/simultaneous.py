"""Several estimates from the same questions: intervals that hold together, and their range by chance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.intervals import IN_95_PERCENT
from lm_eval_cora.metrics.kinds import covariance_of
from lm_eval_cora.metrics.paired import Difference, difference
from lm_eval_cora.responses import Floats

_SAMPLES = 20_000


def differences_together(before: Sequence[Estimate], after: Sequence[Estimate]) -> list[Difference]:
    """Differences of several estimates from the same questions, with intervals that hold for all of them together.

    Each interval is that of `difference`, with the quantile of the largest of all standardised differences (max-t)
    instead of 1.96. So all of them contain the true differences in 95% of the samples.

    Args:
        before: G estimates from N questions.
        after: The same ones for another model, from the same questions.

    Returns:
        G differences. The ends are nan if an estimate has no standard error in closed form.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> one, other = (share_of(np.arange(40) % k == 0) for k in (2, 3))
        >>> alone, = differences_together([one], [other])
        >>> first, second = differences_together([one, other], [other, one])
        >>> first.low < alone.low < alone.high < first.high
        True

    Source: max-t intervals, Hothorn, Bretz and Westfall 2008.
    """
    influences = [
        two.influence - one.influence
        for one, two in zip(before, after, strict=True)
        if one.influence is not None and two.influence is not None and len(one.influence) == len(two.influence) > 1
    ]
    z = critical_value(covariance_of(np.stack(influences, axis=1))) if influences else IN_95_PERCENT
    return [difference(one, two, z=z) for one, two in zip(before, after, strict=True)]


def critical_value(covariance: Floats) -> float:
    """95% quantile of the largest absolute value of G standardised normal variables; at least 1.96."""
    errors = np.sqrt(np.diag(covariance))
    scale = np.where(errors > 0, errors, 1.0)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)  # an estimate without variation in the sample may vary in the population
    largest = np.abs(normal_draws(correlation)).max(axis=1)
    return max(IN_95_PERCENT, float(np.quantile(largest, 0.95)))


def range_by_chance(covariance: Floats) -> float:
    """Expected difference between the highest and the lowest of G estimates that have the same true value."""
    values = normal_draws(covariance)
    return float((values.max(axis=1) - values.min(axis=1)).mean())


def normal_draws(covariance: Floats) -> Floats:
    """(20000, G) normal variables with a covariance, (G, G), from a fixed seed."""
    size, total = len(covariance), float(np.trace(covariance))
    if not total:
        return np.zeros((_SAMPLES, size))
    root = np.linalg.cholesky(covariance / total + 1e-10 * np.eye(size))
    draws: Floats = _standard_normal(size) @ root.T * np.sqrt(total)
    return draws


@lru_cache(maxsize=4)
def _standard_normal(size: int) -> Floats:
    """(20000, size) independent standard normal variables from a fixed seed."""
    return np.random.default_rng(0).standard_normal((_SAMPLES, size))
