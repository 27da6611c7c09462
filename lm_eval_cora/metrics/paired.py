"""Comparison of answers to the same questions: paired differences, McNemar's test, and several models or estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, starmap
from math import erfc, hypot, inf, isfinite, isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import (
    IN_95_PERCENT,
    UNDEFINED,
    Estimate,
    Interval,
    degrees_of,
    of_influence,
    students,
    tango,
    unvaried,
)
from lm_eval_cora.metrics.kinds import critical_value, normal_draws
from lm_eval_cora.metrics.responses import Floats

__all__ = ["Difference", "McNemar", "Pair"]
__all__ += ["difference", "differences_together", "leading", "mcnemar", "pairwise"]

_MEASURED = 0.01  # smallest probability that is taken from draws


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


def difference(before: Estimate, after: Estimate, *, z: float = IN_95_PERCENT, cautious: bool = False) -> Difference:
    """Difference of two estimates from the same questions: after - before, paired by question.

    The standard error is that of the differences within questions. A question that is equally hard in both adds nothing
    to it. If no question differs, it is half the width of the 95% interval, divided by 1.96.

    The interval stays between the largest possible differences. For shares of the same questions it is Tango's score
    interval; it also contains 0 if McNemar's mid-p test does not reject equal shares at the same level. For other
    functions of means it is value -+ z errors, where the error counts one further question whose difference is as far
    from the mean as the farthest. If no question differs, it is `unvaried`. The lowest and highest accuracies have no
    error and no interval, because their differences are biased if one model has more kinds of equal difficulty.
    `differences_together` compares the kinds.

    Args:
        before: An estimate from N questions.
        after: An estimate from the same questions in the same order. Another number of questions is a ValueError.
        z: Quantile of the normal distribution for the interval; 1.96 for 95%.
        cautious: Whether each end alone has to hold, as in a gate; see `ends_of`. Shares need nothing more.

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
    z, units = students(z, change.units), change.units or len(before.influence)
    if change.ends or change.influence is None:
        return Difference(value, change.stderr, *unvaried(value, units, change.between, z))
    skew = skew_of(change.influence) if cautious else None
    return Difference(value, change.stderr, *ends_of(value, z * change.cautious_stderr, units, change.between, z, skew))


def skew_of(influence: Floats) -> float:
    """Third moment of influences divided by the second one; 0 if they do not vary."""
    square, third = (float((influence**power).mean()) for power in (2, 3))
    return third / square if square else 0.0


def ends_of(value: float, half: float, units: float, between: Interval, z: float, skew: float | None) -> Interval:
    """Ends of the interval value -+ half; with a skew, each of them alone also holds if there are few or rare changes.

    A value m + d varies more than m by d skew / N if large changes in its direction are rare; see `skew_of`. The end
    solves d^2 = half^2 + z^2 d skew / N. The interval contains that of `unvaried`, because a sample may have none of
    the questions that change.
    """
    low, high = value - half, value + half
    if skew is not None:
        bend = z * z * skew / (2 * units)
        down, up = min(bend, 0.0), max(bend, 0.0)
        limits = between if isfinite(between[1] - between[0]) else (value, value)
        least, most = unvaried(value, units, limits, z)
        low, high = min(least, value + down - hypot(down, half)), max(most, value + up + hypot(up, half))
    return float(max(between[0], low)), float(min(between[1], high))


def change_of(before: Estimate, after: Estimate) -> Estimate:
    """The difference of two estimates as an Estimate; see `difference`."""
    assert before.influence is not None
    assert after.influence is not None
    change = of_influence(
        after.value - before.value,
        after.influence - before.influence,
        (after.between[0] - before.between[1], after.between[1] - before.between[0]),
        scale=float(max(np.abs(before.influence).max(), np.abs(after.influence).max())),
        products=(*after.products, *((-weight, u, v) for weight, u, v in before.products)),
        units=min(before.units, after.units),
    )
    return replace(change, largest_deviation=max(before.largest_deviation, after.largest_deviation))


def interval_of_shares(lost: float, gained: float, questions: float, z: float) -> Interval:
    """Tango's interval, with 0 if McNemar's mid-p test does not reject equal shares at the same level."""
    low, high = tango(lost, gained, questions, z)
    return (min(low, 0.0), max(high, 0.0)) if mid_p(lost, gained) >= erfc(z / sqrt(2)) else (low, high)


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
    says. The estimates are those of `difference`. The result is None if one is not a share of questions, or if
    different questions count in the two, such as the misled questions of two models. Source: McNemar 1947; Fagerland,
    Lydersen and Laake 2013 (mid-p).

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


METHODS = {
    "mcnemar": "For a share of the same questions, p is from McNemar's mid-p test: only changed questions count.",
    "t": "If questions share passages, p is from a t test of the passages' sums: only passages are independent.",
    "normal": "For metrics that are not a share of the same questions in each model, p is from a normal test of the "
    "paired difference.",
}
"""The methods of the p-value of a pair, and where and why each is used."""


@dataclass(frozen=True)
class Pair:
    """A metric of two models on the same questions: its difference alone, and together with all pairs of models.

    With two models the numbers for all pairs together are those of the pair alone. Undefined numbers are nan. A
    p-value is below 0.05 exactly if the interval beside it excludes 0.

    Attributes:
        before: The estimate of the first model.
        after: The estimate of the second model.
        change: The difference, after - before, with its 95% interval.
        test: Result of McNemar's test, with the numbers of changed questions; None if it does not apply.
        p_value: P-value of the difference.
        together: The difference with an interval that holds for all pairs of models together (max-t).
        p_together: P-value for all pairs together (max-t).
    """

    before: Estimate
    after: Estimate
    change: Difference
    test: McNemar | None
    p_value: float
    together: Difference
    p_together: float

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
        """The 95% confidence interval of the difference of this pair alone."""
        return self.change.low, self.change.high

    @property
    def joint(self) -> Pair:
        """The pair with the interval and the p-value that hold for all pairs of models together."""
        return replace(self, change=self.together, p_value=self.p_together)

    @property
    def method(self) -> str:
        """How the p-value was computed; empty if it is unknown.

        "mcnemar" is McNemar's mid-p test, for shares of the same questions; "t" a t test of the passages' sums; and
        "normal" a normal test of the paired difference, for other metrics.
        """
        if isnan(self.p_value):
            return ""
        if self.test:
            return "mcnemar"
        return "t" if min(self.before.units, self.after.units) else "normal"

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers of the pair by the names that they have in files."""
        low, high = self.interval
        return {
            "before": self.before.value,
            "after": self.after.value,
            "difference": self.value,
            "stderr": self.stderr,
            "low": low,
            "high": high,
            "p_value": self.p_value,
            "method": self.method,
            "low_together": self.together.low,
            "high_together": self.together.high,
            "p_together": self.p_together,
        }


def _check(before: int, after: int) -> None:
    if before != after:
        raise ValueError(
            f"difference: expected two estimates from the same questions, got {before:,} and {after:,} "
            "questions. Compare answers to the same questions"
        )


def pairwise(estimates: Sequence[Estimate], baseline: int | None = None) -> dict[tuple[int, int], Pair]:
    """Compare each model with each other one, or all of them with a baseline.

    The p-value and the interval of a pair alone do not depend on the other models. All intervals `together` contain the
    true differences in 95% of the samples. `p_together` is the probability that the largest of all standardised
    differences is at least as large as that of the pair, if no model differs from another: one below 0.05 then occurs
    in at most 5% of the samples.

    Args:
        estimates: A metric of K models, from the same N questions.
        baseline: Index of the model with which the others are compared; None compares all pairs.

    Returns:
        K - 1 or K (K - 1) / 2 pairs, by the indices of the two models: before and after. Numbers are nan if an estimate
        has no standard error in closed form. Source: max-t intervals and p-values, Hothorn, Bretz and Westfall 2008.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> models = [share_of(np.arange(40) < right) for right in (20, 21, 36)]
        >>> {pair: round(found.p_together, 3) for pair, found in pairwise(models).items()}
        {(0, 1): 0.765, (0, 2): 0.0, (1, 2): 0.0}
    """
    models = range(len(estimates))
    pairs = list(combinations(models, 2)) if baseline is None else [(baseline, k) for k in models if k != baseline]
    largest, found = _largest(estimates, pairs), {}
    z = _quantile(largest)
    for one, other in pairs:
        both = estimates[one], estimates[other]
        test = mcnemar(*both)
        p = test.p_value if test else p_value(*both)
        adjusted = _adjusted(p, test, largest, len(pairs))
        found[one, other] = Pair(*both, difference(*both), test, p, difference(*both, z=z), adjusted)
    return found


def pairs_by_metric(
    models: Sequence[Mapping[str, Estimate]], baseline: int | None = None
) -> dict[str, dict[tuple[int, int], Pair]]:
    """The pairs of models in each metric that two of them have; see `pairwise`."""
    counts = Counter(name for own in models for name in own)
    names = [name for name, count in counts.items() if count > 1]
    return {name: pairwise([own.get(name, UNDEFINED) for own in models], baseline) for name in names}


def together(estimates: Sequence[Estimate], pairs: Sequence[tuple[int, int]]) -> list[Difference]:
    """Differences of pairs of models, with intervals (max-t) that hold together for all pairs."""
    return [*starmap(_together_with(estimates, pairs, paired=True), pairs)]


def _largest(estimates: Sequence[Estimate], pairs: Sequence[tuple[int, int]]) -> Floats:
    """Draws of the largest standardised difference of the pairs, see `_largest_of`; none if they are not several."""
    known = {k: influence for k, each in enumerate(estimates) if (influence := each.influence) is not None}
    places = {k: place for place, k in enumerate(known)}
    inside = [(places[one], places[other]) for one, other in pairs if one in places and other in places]
    sizes = set(map(len, known.values()))
    if len(inside) < 2 or len(sizes) > 1 or sizes.pop() < 2:
        return np.empty(0)
    return _largest_of(np.asarray(np.cov(np.stack(list(known.values()))), dtype=np.float64), inside)


def _largest_of(covariance: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    """(20000,) draws, in order, of the largest standardised difference of the pairs of K normal variables."""
    draws = normal_draws(covariance)
    largest = np.zeros(len(draws))
    for one, other in pairs:
        variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
        if variance > 1e-12 * (covariance[one, one] + covariance[other, other]):  # equal models cannot differ
            np.maximum(largest, np.abs(draws[:, other] - draws[:, one]) / np.sqrt(variance), out=largest)
    return np.sort(largest)


def _quantile(largest: Floats) -> float:
    """Half the width of intervals that hold for all pairs together, in standard errors; at least 1.96."""
    return max(IN_95_PERCENT, float(np.quantile(largest, 0.95))) if len(largest) else IN_95_PERCENT


def _adjusted(alone: float, test: McNemar | None, largest: Floats, pairs: int) -> float:
    """The p-value for all pairs together: below 0.05 if the intervals that hold together tell this pair apart."""
    from scipy.special import ndtri  # importing scipy takes time; see metrics.estimate

    if not len(largest):
        return alone
    # Tango's interval ends at 0 at the level of the score test, which is above that of the mid-p test for small ones.
    score = erfc(abs(test.lost - test.gained) / sqrt(2 * max(1, test.lost + test.gained))) if test else 0.0
    share = 1 - float(np.interp(-ndtri(max(alone, score) / 2), largest, np.linspace(0, 1, len(largest))))
    # Few draws do not measure a small probability, which is at most the sum of those of all pairs.
    return max(alone, share if share >= _MEASURED else min(_MEASURED, pairs * alone))


def p_value(before: Estimate, after: Estimate) -> float:
    """Two-sided p-value of a paired difference: the level at which the interval of `difference` ends at 0."""
    if before.influence is None or after.influence is None:
        return nan
    value, change = after.value - before.value, change_of(before, after)
    if not value or before.stderr == after.stderr == 0:
        return 0.0 if value else 1.0
    if change.ends is None:
        z = abs(value) / change.cautious_stderr
    else:  # no question differs: the interval ends at 0 if w (value - lowest) = value, with w = z^2 / (N + z^2)
        low, high = change.between
        rare = value / (value - low) if value > 0 else value / (value - high)
        z = sqrt((change.units or len(before.influence)) * rare / (1 - rare)) if rare < 1 else inf
    if change.units:
        from scipy.special import stdtr  # importing scipy takes time; see metrics.estimate

        return 2 * float(stdtr(degrees_of(change.units), -z))
    return erfc(z / sqrt(2))


def leading(estimates: Sequence[Estimate], *, higher: bool = True, paired: bool = True) -> set[int]:
    """The best of several models, and all that cannot be told apart from it.

    A model is told apart if the interval of its difference to the best one, one of all pairs together, excludes 0.

    Args:
        estimates: A metric of K models, from the same questions.
        higher: Whether a higher value is better.
        paired: Whether the differences are paired by question. Else only the standard errors are compared, which is
            conservative.

    Returns:
        Indices of models; empty if all values are undefined, or if a difference to the best one has no interval.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> sorted(leading([share_of(np.arange(40) < right) for right in (20, 36, 35)]))
        [1, 2]
    """
    values = {k: estimate.value for k, estimate in enumerate(estimates) if not isnan(estimate.value)}
    if not values:
        return set()
    best = max(values, key=lambda k: values[k] if higher else -values[k])
    compared = _together_with(estimates, list(combinations(values, 2)), paired=paired)
    found = {k: compared(k, best) for k in values if k != best}
    if any(isnan(change.low) for change in found.values()):
        return set()
    return {best} | {k for k, change in found.items() if not differs(change)}


def _together_with(
    estimates: Sequence[Estimate], among: Sequence[tuple[int, int]], *, paired: bool
) -> Callable[[int, int], Difference]:
    """A function of two models that returns their difference, with an interval that holds for all pairs `among`."""
    if paired:
        z = _quantile(_largest(estimates, among))
        return lambda one, other: difference(estimates[one], estimates[other], z=z)
    z = _quantile(_largest_of(np.diag([estimate.stderr**2 for estimate in estimates]), among))

    def unpaired(one: int, other: int) -> Difference:
        value = estimates[other].value - estimates[one].value
        error = hypot(estimates[one].stderr, estimates[other].stderr)
        return Difference(value, error, value - z * error, value + z * error)

    return unpaired


def distinguishable_groups(
    estimates: Sequence[Estimate], *, higher: bool = True, paired: bool = True
) -> list[list[int]]:
    """Groups of models, the best first; a model begins one if it can be told apart from the best of the one before."""
    if not estimates or any(isnan(each.stderr) or (paired and each.influence is None) for each in estimates):
        return []
    compared = _together_with(estimates, list(combinations(range(len(estimates)), 2)), paired=paired)
    groups: list[list[int]] = []
    for k in sorted(range(len(estimates)), key=lambda k: -estimates[k].value if higher else estimates[k].value):
        if not groups or differs(compared(k, groups[-1][0])):
            groups.append([])
        groups[-1].append(k)
    return groups


def differs(change: Difference) -> bool:
    """Whether the interval of a difference does not contain 0."""
    return change.low > 0 or change.high < 0


def differences_together(before: Sequence[Estimate], after: Sequence[Estimate]) -> list[Difference]:
    """Differences of several estimates from the same questions, with intervals that hold for all of them together.

    All of them contain the true differences in 95% of the samples: each is that of `difference`, with the quantile of
    the largest of all standardised differences (max-t) instead of 1.96.

    Args:
        before: G estimates from N questions.
        after: The same ones for another model, from the same questions.

    Returns:
        G differences. The ends are nan if an estimate has no standard error in closed form. Source: max-t intervals,
        Hothorn, Bretz and Westfall 2008.

    Example:
        >>> from lm_eval_cora.metrics.estimate import share_of
        >>> one, other = (share_of(np.arange(40) % k == 0) for k in (2, 3))
        >>> alone, = differences_together([one], [other])
        >>> first, second = differences_together([one, other], [other, one])
        >>> first.low < alone.low < alone.high < first.high
        True
    """
    influences = [
        two.influence - one.influence
        for one, two in zip(before, after, strict=True)
        if one.influence is not None and two.influence is not None and len(one.influence) == len(two.influence) > 1
    ]
    z = critical_value(np.stack(influences, axis=1)) if influences else IN_95_PERCENT
    return [difference(one, two, z=z) for one, two in zip(before, after, strict=True)]
