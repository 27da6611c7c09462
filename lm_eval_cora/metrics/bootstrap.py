"""Bootstrap over questions, for statistics whose standard error has no closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lm_eval_cora.responses import Floats

REPLICATES = 1_000
"""Number of bootstrap samples."""

_DRAWS_AT_A_TIME = 2_000_000


def bootstrap(statistics: Callable[[Floats], Floats], questions: int) -> Floats:
    """Compute statistics in 1,000 bootstrap samples of N questions, with a fixed seed: N determines the samples.

    Use it only for statistics without a closed-form standard error, such as a minimum. Drawing takes most of the time,
    so compute several statistics of the same questions in one call.

    Args:
        statistics: Takes (B, N) weights, the number of times that each of N questions was drawn in each of B samples,
            and returns (B, K) values of K statistics.
        questions: N, at least 1.

    Returns:
        (1000, K) values; their standard deviations (ddof 1) are the standard errors.

    Example:
        >>> values = np.array([[0.0], [1.0], [0.0], [1.0]])
        >>> (error,) = bootstrap(lambda weights: weights @ values / 4, questions=4).std(axis=0, ddof=1)
        >>> bool(0.2 < error < 0.3)
        True
    """
    generator = np.random.default_rng(0)
    step = max(1, _DRAWS_AT_A_TIME // questions)
    values = []
    for start in range(0, REPLICATES, step):
        size = min(step, REPLICATES - start)
        drawn = generator.integers(0, questions, size=(size, questions))
        drawn += np.arange(size)[:, None] * questions
        weights = np.bincount(drawn.ravel(), minlength=size * questions).reshape(size, questions)
        values.append(statistics(weights.astype(np.float64)))
    return np.concatenate(values)
