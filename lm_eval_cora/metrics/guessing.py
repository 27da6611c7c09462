"""How far guessing gets on several variants of a question: the table of CoRA's appendix A."""

from __future__ import annotations

from math import lgamma

import numpy as np

from lm_eval_cora.responses import Floats

CERTAIN = 0.9996
"""What counts as always. Truncated to two digits it gives the paper's column for 1 to 5 and for 7 to 9 of 10."""

MOST_VARIANTS = 1_000

_HALVINGS = 60


def at_least(variants: int, rate: float) -> Floats:
    """Probability of at least p right answers in M trials that are each right with the same probability.

    P(p) = sum over j from p to M of C(M, j) r^j (1 - r)^(M - j), for p = 0, ..., M.

    Args:
        variants: M, at least 1.
        rate: r, from 0 to 1; of a guess among k options it is 1 / k.

    Returns:
        (M + 1,) probabilities, falling from 1.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> at_least(2, rate=0.5).round(6).tolist()
        [1.0, 0.75, 0.25]

    Source: CoRA, eq. 10 (where the text says r = 1/p, k is meant).
    """
    if variants < 1:
        raise ValueError(f"variants is {variants}, expected 1 or more")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}, expected a share from 0 to 1")
    return _tails(variants, np.array([rate]))[:, 0]


def msgr(variants: int, certain: float = CERTAIN) -> Floats:
    """Minimum success guessing rate: the smallest rate at which at least p of M answers are right as good as always.

    Args:
        variants: M, from 1 to 1,000.
        certain: The probability that counts as always.

    Returns:
        (M + 1,) rates for p = 0, ..., M, rising from 0.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> msgr(1, certain=0.75).round(6).tolist()
        [0.0, 0.75]

    Source: CoRA, appendix A, table 7. It prints 0.2 for p = 0, where any rate will do, 0.93 for 6 and 0.9999 for 10 of
    10, which no one level gives together with the others.
    """
    if not 1 <= variants <= MOST_VARIANTS:
        raise ValueError(f"variants is {variants}, expected 1 to {MOST_VARIANTS}")
    if not 0 < certain < 1:
        raise ValueError(f"certain is {certain}, expected a probability between 0 and 1")
    low, high = np.zeros(variants + 1), np.ones(variants + 1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = np.diagonal(_tails(variants, middle)) >= certain
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    high[0] = 0.0
    return high


def _tails(variants: int, rates: Floats) -> Floats:
    """(M + 1, rates) probability of at least so many right answers, for each rate."""
    right = np.arange(variants + 1, dtype=np.float64)[:, None]
    ways = np.array([lgamma(variants + 1) - lgamma(j + 1) - lgamma(variants - j + 1) for j in range(variants + 1)])
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0, and 0 log 0 which is 0 here
        logs = ways[:, None] + _times(right, np.log(rates)) + _times(variants - right, np.log1p(-rates))
    # From the small end, so that a tail of 1e-7 keeps its digits.
    tails: Floats = np.minimum(np.cumsum(np.exp(logs)[::-1], axis=0)[::-1], 1.0)
    tails[0] = 1.0
    return tails


def _times(counts: Floats, logs: Floats) -> Floats:
    product: Floats = np.where(counts == 0, 0.0, counts * logs)
    return product
