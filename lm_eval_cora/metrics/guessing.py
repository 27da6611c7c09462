"""Success of guessing on several variants of a question: the table of CoRA's appendix A."""

from __future__ import annotations

import numpy as np

from lm_eval_cora.responses import Floats

CERTAIN = 0.9996
"""Probability that counts as certain. Truncated to two digits, it gives the paper's rates for p = 1-5 and 7-9 of 10."""


def at_least(variants: int, rate: float) -> Floats:
    """Probability of at least p right answers to M variants if each is right with probability r.

    P(p) = sum over j from p to M of C(M, j) r^j (1 - r)^(M - j), for p = 0, ..., M. For p > 0 this is the regularised
    incomplete beta function I_r(p, M - p + 1).

    Args:
        variants: M, at least 1.
        rate: r, from 0 to 1. For a guess among k options it is 1 / k.

    Returns:
        (M + 1,) probabilities, falling from 1.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> at_least(2, rate=0.5).round(6).tolist()
        [1.0, 0.75, 0.25]

    Source: CoRA, eq. 10 (its text says r = 1/p, but means r = 1/k).
    """
    if variants < 1:
        raise ValueError(f"variants is {variants}, expected 1 or more")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}, expected a share from 0 to 1")
    from scipy.special import betainc  # importing scipy takes time; see metrics.paired

    right = np.arange(1, variants + 1)
    return np.concatenate([[1.0], betainc(right, variants - right + 1, rate)])


def msgr(variants: int, certain: float = CERTAIN) -> Floats:
    """Minimum success guessing rate: the smallest rate r at which at least p of M answers are almost certainly right.

    It solves P(p) = `certain` for r, where P(p) is the probability of at least p right answers; see `at_least`.

    Args:
        variants: M, at least 1.
        certain: The probability that counts as certain, between 0 and 1.

    Returns:
        (M + 1,) rates for p = 0, ..., M, rising from 0.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> msgr(1, certain=0.75).round(6).tolist()
        [0.0, 0.75]

    Source: CoRA, appendix A, table 7. For M = 10 the paper prints 0.2 for p = 0, where any rate is enough, 0.93 for p =
    6 and 0.9999 for p = 10. No single value of `certain` gives these together with the other rows.
    """
    if variants < 1:
        raise ValueError(f"variants is {variants}, expected 1 or more")
    if not 0 < certain < 1:
        raise ValueError(f"certain is {certain}, expected a probability between 0 and 1")
    from scipy.special import betaincinv

    right = np.arange(1, variants + 1)
    return np.concatenate([[0.0], betaincinv(right, variants - right + 1, certain)])
