"""Comparison of two sets of answers to the same questions: paired differences, and McNemar's test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, Estimate, of_influence, tango, unvaried, without_rounding


class Difference(NamedTuple):
    """A difference of two estimates from the same questions, as `difference` returns it; undefined numbers are nan.

    Attributes:
        value: The difference, after - before.
        stderr: Its standard error.
        low: Lower end of its 95% confidence interval.
        high: Upper end of its 95% confidence interval.
    """

    value: float
    stderr: float
    low: float
    high: float


def difference(before: Estimate, after: Estimate, *, z: float = IN_95_PERCENT) -> Difference:
    """Difference of two estimates from the same questions: after - before, paired by question.

    The standard error is that of the differences within questions. A question that is equally hard in both adds nothing
    to it. If no question differs, it is half the width of the 95% interval, divided by 1.96.

    The interval stays between the largest possible differences. For shares of the same questions it is Tango's score
    interval; it also contains 0 if McNemar's mid-p test does not reject equal shares at 5%. For other functions of
    means it is value -+ z errors, where the error counts one further question whose difference is as far from the mean
    as the farthest. If no question differs, it is `unvaried`. The lowest and highest accuracies have no error and no
    interval, because their differences are biased if one model has more kinds of equal difficulty.
    `differences_together` compares the kinds.

    Args:
        before: An estimate from N questions.
        after: An estimate from the same questions in the same order. Another number of questions is a ValueError.
        z: Quantile of the normal distribution for the interval; 1.96 for 95%.

    Returns:
        The difference with its standard error and 95% interval. Both are nan if an estimate has no standard error, or
        none in closed form.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> before, after = (share_of(np.arange(30) < right) for right in (10, 14))
        >>> [round(number, 4) for number in difference(before, after)]
        [0.1333, 0.0631, 0.0, 0.2968]
    """
    value = after.value - before.value
    if before.influence is None or after.influence is None:
        return Difference(value, nan, nan, nan)
    _check(len(before.influence), len(after.influence))
    if before.stderr == after.stderr == 0:  # neither could vary
        return Difference(value, 0.0, value, value)
    change = change_of(before, after)
    if isnan(change.stderr):
        return Difference(value, nan, nan, nan)
    if (test := mcnemar(before, after)) and before.outcomes is not None:
        questions = int((~np.isnan(before.outcomes)).sum())
        return Difference(value, change.stderr, *interval_of_shares(test.lost, test.gained, questions, z))
    if change.ends:
        return Difference(value, change.stderr, *unvaried(value, len(before.influence), change.between, z))
    low, high = change.between
    half = z * change.widened
    return Difference(value, change.stderr, float(max(low, value - half)), float(min(high, value + half)))


def change_of(before: Estimate, after: Estimate) -> Estimate:
    """The difference of two estimates as an Estimate; see `difference`."""
    assert before.influence is not None
    assert after.influence is not None
    scale = float(max(np.abs(before.influence).max(), np.abs(after.influence).max()))
    change = of_influence(
        after.value - before.value,
        without_rounding(after.influence - before.influence, scale),
        (after.between[0] - before.between[1], after.between[1] - before.between[0]),
        bends=(*after.bends, *((-weight, u, v) for weight, u, v in before.bends)),
    )
    return replace(change, farthest=max(before.farthest, after.farthest))


def interval_of_shares(lost: float, gained: float, questions: float, z: float) -> tuple[float, float]:
    """Tango's interval, with 0 if McNemar's mid-p test does not reject equal shares at 5%."""
    low, high = tango(lost, gained, questions, z)
    return (min(low, 0.0), max(high, 0.0)) if mid_p(lost, gained) >= 0.05 else (low, high)


class McNemar(NamedTuple):
    """Result of McNemar's test: do as many questions change from right to wrong as from wrong to right? See `mcnemar`.

    Attributes:
        lost: Number of questions that count before but not after.
        gained: Number of questions that count after but not before.
        p_value: Two-sided mid-p-value, from 0 to 1: the probability of a more uneven split plus half of that of an
            equally uneven one, if both directions are equally likely.
    """

    lost: int
    gained: int
    p_value: float


def mcnemar(before: Estimate, after: Estimate) -> McNemar | None:
    """McNemar's mid-p test for the difference of two shares of the same questions.

    With l lost and g gained questions, the p-value is twice P(X < min(l, g)) plus P(X = min(l, g)), where X is binomial
    with l + g trials and probability 1/2. The exact test, twice P(X <= min(l, g)), rejects less often than its level
    says.

    The estimates are those of `difference`. The result is None if one is not a share of questions, or if different
    questions count in the two, such as the misled questions of two models. Source: McNemar 1947; Fagerland, Lydersen
    and Laake 2013 (mid-p).

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> mcnemar(share_of(np.array([True, False, True])), share_of(np.array([False, False, False])))
        McNemar(lost=2, gained=0, p_value=0.25)
    """
    if before.outcomes is None or after.outcomes is None:
        return None
    _check(len(before.outcomes), len(after.outcomes))
    if not np.array_equal(np.isnan(before.outcomes), np.isnan(after.outcomes)):
        return None
    changes = after.outcomes - before.outcomes
    lost, gained = int((changes == -1).sum()), int((changes == 1).sum())
    return McNemar(lost, gained, mid_p(lost, gained))


def mid_p(lost: float, gained: float) -> float:
    """The two-sided mid-p-value of `mcnemar`; 1 if nothing changes."""
    from scipy.special import betainc  # importing scipy takes time; see metrics.estimate

    # Tails of a binomial distribution are incomplete beta functions, undefined without discordant pairs.
    more, fewer = max(lost, gained), min(lost, gained)
    as_uneven = betainc(more, fewer + 1, 0.5) if more else 1.0
    more_uneven = betainc(more + 1, fewer, 0.5) if fewer else 0.0
    return min(1.0, float(as_uneven + more_uneven)) if more else 1.0


@dataclass(frozen=True)
class Compared:
    """A metric of two sets of answers to the same questions; McNemar's test is None if it does not apply."""

    before: Estimate
    after: Estimate
    change: Difference
    test: McNemar | None

    @property
    def value(self) -> float:
        """The difference, after - before."""
        return self.change.value

    @property
    def stderr(self) -> float:
        """The standard error of the difference."""
        return self.change.stderr

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the difference."""
        return self.change.low, self.change.high

    @property
    def p_value(self) -> float:
        """The p-value of McNemar's test; nan if the test does not apply."""
        return nan if self.test is None else self.test.p_value


def compared(before: Estimate, after: Estimate) -> Compared:
    """Compare two estimates from the same questions."""
    return Compared(before, after, difference(before, after), mcnemar(before, after))


def _check(before: int, after: int) -> None:
    if before != after:
        raise ValueError(
            f"difference: expected two estimates from the same questions, got {before:,} and {after:,} questions. "
            "Compare answers to the same questions"
        )
