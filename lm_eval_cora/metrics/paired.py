"""Comparison of two sets of answers to the same questions: paired differences, and McNemar's test."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, Estimate, standard_error


class Difference(NamedTuple):
    """A difference of two estimates from the same questions; undefined numbers are nan.

    `difference` returns it; see there for an example.

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


def difference(before: Estimate, after: Estimate) -> Difference:
    """Difference of two estimates from the same questions: after - before, paired by question.

    The standard error is that of the differences between the influences of each question. A question that is equally
    hard in both adds nothing to it. For estimates without a closed form (lowest and highest accuracies), both values
    come from the same bootstrap samples, and the interval ends are the 2.5% and 97.5% percentiles of the differences.

    Args:
        before: An estimate from N questions.
        after: An estimate from the same questions in the same order.

    Returns:
        The difference with its standard error and 95% interval. The standard error is nan if that of an estimate is.

    Raises:
        ValueError: If the numbers of questions differ.

    Example:
        >>> from lm_eval_cora.metrics.estimate import mean_of
        >>> difference(mean_of(np.array([0.0, 1.0])), mean_of(np.array([0.5, 1.0]))).value
        0.25
    """
    value = after.value - before.value
    if before.influence is not None and after.influence is not None:
        _check(len(before.influence), len(after.influence))
        error = standard_error(after.influence - before.influence)
        return Difference(value, error, value - IN_95_PERCENT * error, value + IN_95_PERCENT * error)
    if before.replicates is not None and after.replicates is not None:
        changes = after.replicates - before.replicates
        low, high = np.percentile(changes, [2.5, 97.5])
        return Difference(value, float(changes.std(ddof=1)), float(low), float(high))
    return Difference(value, nan, nan, nan)


class McNemar(NamedTuple):
    """Result of McNemar's test: do as many questions change from right to wrong as from wrong to right?

    `mcnemar` returns it; see there for an example.

    Attributes:
        lost: Number of questions that count before but not after.
        gained: Number of questions that count after but not before.
        p_value: Two-sided exact p-value, from 0 to 1: the probability of a split at least this uneven if both
            directions are equally likely.
    """

    lost: int
    gained: int
    p_value: float


def mcnemar(before: Estimate, after: Estimate) -> McNemar | None:
    """McNemar's exact test for the difference of two shares of the same questions.

    Args:
        before: An estimate from N questions.
        after: An estimate from the same questions in the same order.

    Returns:
        The result of the test. None if an estimate is not a share of questions, or if different questions count in the
        two, such as the misled questions of two models.

    Raises:
        ValueError: If the numbers of questions differ.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> mcnemar(share_of(np.array([True, False, True])), share_of(np.array([False, False, False])))
        McNemar(lost=2, gained=0, p_value=0.5)

    Source: McNemar 1947, in the exact form (a binomial test of the discordant pairs).
    """
    if before.outcomes is None or after.outcomes is None:
        return None
    _check(len(before.outcomes), len(after.outcomes))
    if not np.array_equal(np.isnan(before.outcomes), np.isnan(after.outcomes)):
        return None
    # Importing scipy takes a third of the start-up time of a command, so it is imported only if needed.
    from scipy.special import betainc

    changes = after.outcomes - before.outcomes
    lost, gained = int((changes == -1).sum()), int((changes == 1).sum())
    # The upper tail of a binomial distribution is an incomplete beta function, undefined without discordant pairs.
    more, fewer = max(lost, gained), min(lost, gained)
    tail = betainc(more, fewer + 1, 0.5) if more else 1.0
    return McNemar(lost, gained, min(1.0, 2 * float(tail)))


@dataclass(frozen=True)
class Compared:
    """A metric of two sets of answers to the same questions.

    Attributes:
        before: The metric of the first set.
        after: The metric of the second set.
        change: The difference, after - before, paired by question.
        test: McNemar's test if the metric is a share of questions; otherwise None.
    """

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
    """Compare two estimates from the same questions.

    Args:
        before: An estimate from N questions.
        after: An estimate from the same questions in the same order.

    Returns:
        Both estimates, their difference, and McNemar's test if it applies.

    Raises:
        ValueError: If the numbers of questions differ.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> row = compared(share_of(np.array([True, False, True])), share_of(np.array([False, False, False])))
        >>> round(row.value, 4), row.p_value
        (-0.6667, 0.5)
    """
    return Compared(before, after, difference(before, after), mcnemar(before, after))


def _check(before: int, after: int) -> None:
    if before != after:
        raise ValueError(
            f"difference: expected two estimates from the same questions, got {before:,} and {after:,} questions. "
            "Compare answers to the same questions"
        )
