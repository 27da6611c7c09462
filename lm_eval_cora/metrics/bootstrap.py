"""Bootstrap over questions, for statistics whose standard error has no closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.responses import Floats

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
