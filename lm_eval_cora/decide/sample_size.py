"""The number of questions with which an interval excludes a value, found with the interval that will be printed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import copysign, hypot, inf, isfinite, isnan, nan, sqrt
from statistics import NormalDist

import numpy as np

from lm_eval_cora.metrics.estimate import (
    IN_95_PERCENT,
    Estimate,
    Interval,
    clopper_pearson,
    last_by_halving,
    students,
    trials_with_error,
    unvaried,
    wilson,
)
from lm_eval_cora.metrics.paired import change_of, ends_of, interval_of_shares, mcnemar, skew_of
from lm_eval_cora.metrics.responses import Floats

POWER = 0.8  # the usual probability of finding a difference that exists
LEVEL = 0.95  # the usual confidence level of an interval
SAME_LEVEL = 0.9  # of the interval of two one-sided tests at 5%
_MOST = 10**9  # plans with more questions do not exist
_FAR = 6.0  # standard errors


@dataclass(frozen=True)
class Level:
    """A metric of one model, in a run with a number of questions."""

    estimate: Estimate
    questions: int  # or clusters of questions, if the estimate has these as its units

    @property
    def spread(self) -> float:
        """Standard deviation of what a question contributes; 0 if all questions of the run are alike."""
        influence = self.estimate.influence
        if influence is not None and not influence.any() and self.estimate.ends is not None:
            return 0.0
        return self.estimate.stderr * sqrt(self.questions)

    def interval(self, value: float, questions: float, z: float = IN_95_PERCENT, step: float = 0.0) -> Interval:
        """The interval of so many questions, if their value is a step away from the true one."""
        value += step
        found = self.estimate
        if isnan(found.stderr):  # also without questions
            return nan, nan
        part, (low, high) = questions / self.questions, found.between
        z, own_z = students(z, part * found.units), students(IN_95_PERCENT, found.units)
        size = high - low
        if found.influence is None or not isfinite(size) or (found.ends and self.spread):
            ends = [value + (end - found.value) / sqrt(part) * z / own_z for end in found.interval]
            return max(low, ends[0]), min(high, ends[1])
        share, own = (min(1.0, max(0.0, (each - low) / size)) for each in (value, found.value))
        if found.outcomes is not None:
            trials = part * float(np.count_nonzero(~np.isnan(found.outcomes)))
        elif found.ends:  # no question differs: the width is z^2 / (n + z^2) of the range
            rare = (found.ends[1] - found.ends[0]) / size
            trials = part * own_z**2 * (1 - rare) / rare
        else:
            far = 0.0 if found.units else max(found.largest_deviation, _farthest(np.abs(found.influence), questions))
            trials = trials_with_error(own, hypot(found.stderr / sqrt(part), far / questions) / size)
        # Near 0 or 1, one end of Wilson's is wrong with up to 17%, Clopper and Pearson's with at most 2.5%.
        exact = clopper_pearson(share * trials, trials, NormalDist().cdf(-z))
        lows, highs = zip(wilson(share * trials, trials, z), exact, strict=True)
        return low + size * min(lows), low + size * max(highs)


@dataclass(frozen=True)
class Contrast:
    """A metric of two models on the same questions."""

    spread: float  # standard deviation of the difference that a question contributes; 0 if no question differs
    influence: Floats  # what the questions of the run contribute, as deviations from the mean
    least: float = 0.0  # how far the farthest question of a sample is at least
    changed: float = nan  # share of the questions that count for one model only, if the metric is one of questions
    between: Interval = (-1.0, 1.0)  # the smallest and the largest difference
    units: float = 0.0  # effective number of clusters among those of the influence; 0 if the questions are the units
    cautious: bool = False  # whether the interval is that of a gate

    @classmethod
    def of(cls, before: Estimate, after: Estimate) -> Contrast:
        """The contrast of two models in runs of the same questions."""
        change, test, changed = change_of(before, after), mcnemar(before, after), nan
        assert change.influence is not None
        if test is not None and before.outcomes is not None:
            changed = (test.lost + test.gained) / float(np.count_nonzero(~np.isnan(before.outcomes)))
        spread = 0.0 if change.ends else change.stderr * sqrt(len(change.influence))
        return cls(spread, change.influence, change.largest_deviation, changed, change.between, change.units)

    def interval(self, value: float, questions: float, z: float = IN_95_PERCENT, step: float = 0.0) -> Interval:
        """The interval of `difference` of so many questions, in other shares if it is a step away; see `spread_at`."""
        low, high = self.between
        units = self.units * questions / len(self.influence)
        z = students(z, units)
        found = min(high, max(low, value + step))
        if not isnan(self.changed):
            changed = max(self.changed, abs(value))
            if changed > value**2:  # of 1, 0 and -1, the covariance of |d| and d is d (1 - changed)
                changed += step * value * (1 - changed) / (changed - value**2)
            if step:  # the next number of questions beyond the step
                found = min(high, max(low, found + copysign(0.5 / questions, step)))
            changed = min(1.0, max(changed, abs(found)))
            lost, gained = questions * (changed - found) / 2, questions * (changed + found) / 2
            return interval_of_shares(lost, gained, questions, z)
        if not self.spread:
            return unvaried(found, questions, self.between, z)
        far = 0.0 if self.units else max(self.least, _farthest(np.abs(self.influence), questions))
        half = z * hypot(spread_at(self.spread, self.influence, step) / sqrt(questions), far / questions)
        skew = skew_of(self.influence) if self.cautious else None
        return ends_of(found, half, units or questions, self.between, z, skew)


def _farthest(distances: Floats, questions: float) -> float:
    """The distance that one of so many questions exceeds."""
    return float(np.quantile(distances, 1 - 1 / questions, method="higher"))


Sample = Level | Contrast  # what any number of questions would show, if they are like those of a run


def questions_needed(
    sample: Sample, value: float, bound: float, power: float = POWER, level: float = LEVEL
) -> int | None:
    """Smallest number of questions with which the printed interval excludes a bound with a given probability."""
    return None if value == bound else _smallest(lambda n: _excludes(sample, value, bound, n, power, level))


def questions_for_same(
    sample: Contrast, margin: float, value: float = 0.0, power: float = POWER, level: float = SAME_LEVEL
) -> int | None:
    """Smallest number of questions with which the interval is inside -+ margin with a given probability."""
    return _smallest(lambda n: _is_inside(sample, value, margin, n, power, level))


def _is_inside(sample: Contrast, value: float, margin: float, questions: int, power: float, level: float) -> bool:
    """Whether the intervals of so many questions are inside -+ margin with this probability: both of their ends are."""
    sample = replace(sample, cautious=True)
    normal, unit = NormalDist(), sample.spread / sqrt(questions)
    z = normal.inv_cdf((1 + level) / 2)

    def reach(sign: int) -> float:
        """How many errors the value may be away in a direction."""
        return last_by_halving(
            lambda far: max(sign * end for end in sample.interval(value, questions, z, sign * far * unit)) <= margin,
            *(-_FAR, _FAR),
        )

    return normal.cdf(reach(1)) + normal.cdf(reach(-1)) - 1 >= power


def _smallest(is_enough: Callable[[int], bool]) -> int | None:
    """The smallest number of questions that is enough; None if it is too large for a plan."""
    high = 2
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            return None
    return bisect_left(range(high), True, lo=high // 2 + 1, key=is_enough)


def _excludes(sample: Sample, value: float, bound: float, questions: int, power: float, level: float) -> bool:
    """Whether so many questions exclude a bound, even if the value is z_power s / sqrt(N) nearer to it."""
    normal = NormalDist()
    z, step = normal.inv_cdf((1 + level) / 2), normal.inv_cdf(power) * sample.spread / sqrt(questions)
    low, high = sample.interval(value, questions, z, -step if value > bound else step)
    return low >= bound if value > bound else high <= bound


def smallest_found(
    sample: Contrast, questions: int, power: float = POWER, level: float = LEVEL, *, same: bool = False
) -> float:
    """The smallest difference that N questions find, or margin inside which they show equal models; inf if none."""

    def is_found(size: float) -> bool:
        if same:
            return _is_inside(sample, 0.0, size, questions, power, level)
        return _excludes(sample, size, 0.0, questions, power, level)

    most = min(sample.between[1], 100 * (sample.spread or 1.0))
    return last_by_halving(is_found, most, 0.0) if is_found(most) else inf


def spread_at(spread: float, influence: Floats, change: float) -> float:
    """Spread of a model whose value is higher by a given change c, from the answers of one model."""
    # Questions with the influence l get the weight 1 + t l, where t gives c. The square of the spread is then
    # s^2 + c m3 / s^2 - c^2, with the third moment m3. For a share this is exact: p (1 - p) becomes (p + c)(1 - p - c).
    return sqrt(max(0.0, spread**2 + change * skew_of(influence) - change**2)) if influence.any() else spread


def spread_of_difference(one: float, other: float, correlation: float) -> float:
    """Spread of the paired difference of two models: sqrt(s1^2 + s2^2 - 2 r s1 s2)."""
    return sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))


def with_another(estimate: Estimate, questions: int, difference: float, correlation: float) -> Contrast:
    """The contrast of a model and of another one, higher or lower by a difference: the larger spread counts."""
    spread = estimate.stderr * sqrt(questions)
    assert estimate.influence is not None
    others = [spread_at(spread, estimate.influence, change) for change in (difference, -difference)]
    found = spread_of_difference(spread, max(spread, *others), correlation)
    changed = nan if estimate.outcomes is None else min(1.0, found**2 + difference**2)
    size = estimate.between[1] - estimate.between[0]
    influence = estimate.influence * (found / spread)
    both_ways = np.concatenate([influence, -influence])
    return Contrast(found, both_ways, estimate.largest_deviation, changed, (-size, size), 2 * estimate.units)


def correlation_of(before: Estimate, after: Estimate) -> float:
    """Correlation of the influences of the questions on the values of two models."""
    one, other = before.influence, after.influence
    if one is None or other is None or isnan(before.stderr) or isnan(after.stderr):
        return nan
    spreads = one.std() * other.std()
    return float(((one - one.mean()) * (other - other.mean())).mean() / spreads) if spreads else nan
