"""Estimate, a value with its standard error and 95% interval, and the functions that compute one from the questions."""

# ruff: noqa: RUF009  # the defaults of the dataclass are fields
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import erfc, exp, hypot, inf, isfinite, isnan, lgamma, log, log1p, nan, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.packed import Floats, Ints

__all__ = ["Estimate"]
IN_95_PERCENT = 1.959963984540054  # half the width of a 95% confidence interval, in standard errors
# With fewer questions the 95% interval of a share is up to 0.36 wide, more than a third of the scale: sqrt(0.25 / n).
FEW = 30
Bools = NDArray[np.bool_]
REPLICATES = 5_000  # number of bootstrap samples
_MOST_TRIALS = 1e300
_FEWEST_DEGREES = 0.5  # intervals with fewer degrees of freedom have all possible values, too
_DRAWS_AT_A_TIME = 2_000_000
_COUNTS_AT_A_TIME = 50_000
_FEWER_PRODUCTS = 5
# Of `beta_quantile`: a step after which the next one would be rounding; the place where x is 0; the longest step
# downwards, in standard errors; limits; a relative change that is rounding; below it Stirling's series is not exact.
_NEAR, _FAR, _MOST_ERRORS, _MOST_STEPS, _MOST_TERMS, _EXACT, _SMALL = 1e-9, -700.0, 4.0, 200, 1_000_000, 2e-16, 15
_LIKE_NORMAL = 1e8  # of more trials, the intervals of a share agree
_ROUNDING = 1e-12  # smaller influences, relative to the largest value of a question, come from rounding
Interval = tuple[float, float]
SHARES = (0.0, 1.0)  # the range of most metrics
Product = tuple[float, Floats, Floats]
"""A product of two means in a metric: its weight, and (N,) deviations of the questions' factors from their means."""


def _hidden(default: Any) -> Any:
    """A field of a dataclass that is neither printed nor compared."""
    return field(default=default, repr=False, compare=False)


@dataclass(frozen=True)
class Estimate:
    """The value of a metric, its standard error and its 95% confidence interval.

    Undefined numbers are nan. The arrays keep the contribution of each question, so that two estimates from the same
    questions can be compared pair by pair.

    Attributes:
        influence: (N,) first-order influence of each question on the value; None if the standard error is undefined or
            has no closed form.
        outcomes: (N,) 1 or 0 for each question if the metric is a share of questions, nan for a question that does not
            count; else None.
        products: The products of means in the metric, whose errors also have a part of second order.
        between: The lowest and the highest value that the metric can have.
        largest_deviation: How far from the mean a question of a difference of two such metrics can be, at least; 0 if
            unknown.
        ends: The ends of the interval, if the metric computes them itself; else None.
        members: (N,) whether each question counts; None if all do.
        is_mean: Whether the metric is a mean of one value per question, value + influence, over all questions.
        units: Effective number of clusters, (sum n)^2 / sum n^2 of their sizes n, if questions share passages: then the
            arrays have a row per cluster, the interval has Student's t quantiles with units - 1 degrees of freedom, and
            `outcomes` is None. 0 if the questions are the units.

    Example:
        >>> estimate = Estimate(0.5, stderr=0.1)
        >>> value, stderr = estimate
        >>> value, stderr, [round(end, 3) for end in estimate.interval]
        (0.5, 0.1, [0.304, 0.696])
    """

    value: float
    stderr: float
    influence: Floats | None = _hidden(None)
    outcomes: Floats | None = _hidden(None)
    products: tuple[Product, ...] = _hidden(())
    between: tuple[float, float] = _hidden((-inf, inf))
    largest_deviation: float = _hidden(0.0)
    ends: tuple[float, float] | None = _hidden(None)
    members: Bools | None = _hidden(None)
    units: float = _hidden(0.0)
    is_mean: bool = _hidden(False)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95% confidence interval, inside the range of the metric; nan if the standard error is undefined.

        A share of questions has Wilson's interval; another mean has it with the number of trials of the same error,
        which counts one further question that is as far from the mean as the farthest. If only the value and the
        standard error are known, the ends are value -+ 1.96 stderr.
        """
        if self.ends is not None:
            return self.ends
        if isnan(self.stderr):
            return nan, nan
        if self.outcomes is not None:
            return wilson(float(np.nansum(self.outcomes)), int((~np.isnan(self.outcomes)).sum()))
        return bounded(self.value, self.cautious_stderr, self.between, students(IN_95_PERCENT, self.units))

    @property
    def cautious_stderr(self) -> float:
        """The standard error if one further question were as far from the mean as the farthest one.

        With clusters it is the standard error: their sums vary less, and Student's t quantiles are wide.
        """
        if self.influence is None or self.units:
            return self.stderr
        largest = max(self.largest_deviation, float(np.abs(self.influence).max()))
        return hypot(self.stderr, largest / len(self.influence))

    def __iter__(self) -> Iterator[float]:
        """Unpack as `value, stderr`."""
        return iter((self.value, self.stderr))


UNDEFINED = Estimate(nan, nan)


def for_json(result: Any) -> Any:
    """Convert Estimates and named tuples to mappings for JSON, and undefined numbers to None."""
    if isinstance(result, list):
        return list(map(for_json, result))
    if isinstance(result, tuple) and hasattr(result, "_asdict"):
        return for_json(result._asdict())
    if isinstance(result, Estimate):
        numbers = (result.value, result.stderr, *result.interval)
        return dict(zip(("value", "stderr", "low", "high"), map(for_json, numbers), strict=True))
    if isinstance(result, Mapping):
        return {key: for_json(value) for key, value in result.items()}
    return None if isinstance(result, float) and isnan(result) else result


def mean_of(values: Floats, members: Bools | None = None, *, between: Interval = SHARES) -> Estimate:
    """Mean of one value per question, with standard error sd / sqrt(N) (sd with ddof 1)."""
    inside = np.ones(len(values)) if members is None else members.astype(np.float64)
    mean = ratio_of(np.where(inside > 0, values, 0.0), inside, between=between)
    return replace(mean, is_mean=members is None)


def share_of(hits: Bools, members: Bools | None = None, *, least: float = 0.0) -> Estimate:
    """Share of questions for which something is true; `least` is 1 if it is true by definition."""
    return mean_of(hits.astype(np.float64), members, between=(least, 1.0))


def ratio_of(parts: Floats, wholes: Floats, members: Floats | None = None, *, between: Interval = SHARES) -> Estimate:
    """Pooled share R = sum k_i / sum m_i: the ratio of two sums over questions.

    If all questions count alike, wholly or not at all, this is a share of questions: the estimate has outcomes. With n
    questions in the subset, the standard error is sqrt(n / (n - 1) * sum (k_i - R m_i)^2) / sum m_i (delta
    method). It is nan if n is below 2.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        share = parts.sum() / wholes.sum()
    if not np.isfinite(share):
        return UNDEFINED
    inside = wholes > 0 if members is None else members > 0
    count = int(np.count_nonzero(inside))
    most = wholes.max()
    is_share = between == SHARES and all(((each == 0) | (each == most)).all() for each in (parts, wholes))
    outcomes = np.where(inside, parts / most, nan) if is_share and (inside == (wholes > 0)).all() else None
    if count < 2:
        return Estimate(float(share), nan, outcomes=outcomes, between=between)
    part, whole = parts / wholes.mean(), wholes / wholes.mean()
    ratio = of_influence(float(share), part - share * whole, between, scale=np.abs(part).max(), questions=count)
    few = 1.0 if ratio.ends else sqrt((1 - 1 / len(wholes)) / (1 - 1 / count))
    return replace(ratio, stderr=ratio.stderr * few, outcomes=outcomes, members=None if inside.all() else inside)


def product_of(first: Floats, second: Floats, *, value: float | None = None) -> Estimate:
    """Product of two means a and b of values from 0 to 1.

    With the deviations u_i and v_i of the values from a and b, question i has the influence l_i = b u_i + a v_i. The
    standard error is what a bootstrap over questions converges to, times sqrt(N / (N - 1)). With averages E over the
    questions, the variance in bootstrap samples is E[l^2] / N + 2 E[l u v] / N^2 + (E[u^2 v^2] - E[u v]^2 +
    (N - 1) (E[u^2] E[v^2] + E[u v]^2)) / N^3. The last part is all that is left where the influences are 0.
    """
    if not len(first):
        return UNDEFINED
    a, b = first.mean(), second.mean()
    value = float(a * b if value is None else value)
    if len(first) < 2:
        return Estimate(value, nan)
    u, v = (without_rounding(values - values.mean(), 1.0) for values in (first, second))
    return of_influence(value, b * u + a * v, SHARES, scale=1.0, products=((1.0, u, v),))


def of_influence(
    value: float,
    influence: Floats,
    between: Interval = SHARES,
    *,
    scale: float = 0.0,
    products: tuple[Product, ...] = (),
    questions: float = 0.0,
    units: float = 0.0,
) -> Estimate:
    """Estimate with the error of the influences of N questions; that of `unvaried` if none of them differs.

    The values of the questions are of the size of `scale`, see `without_rounding`.
    """
    influence = without_rounding(influence, scale)
    error, ends = standard_error(influence, products), None
    if not error:
        z = students(IN_95_PERCENT, units)
        ends = unvaried(value, questions or units or len(influence), between, z)
        if not isfinite(ends[1] - ends[0]):
            return Estimate(value, nan)
        error = (ends[1] - ends[0]) / (2 * z)
    return Estimate(value, error, influence, products=products, between=between, ends=ends, units=units)


def of_clusters(estimate: Estimate, cluster: Ints) -> Estimate:
    """The same value with clusters as units, from (N,) the number of each question's cluster, 0 to G - 1.

    With the influences l_i of the questions, a cluster of n_g questions has the influence L_g = (G / N) sum of l_i,
    times (1 - 1 / G) / (1 - n_g / N). The standard error is sd(L) / sqrt(G): that of a jackknife which leaves out one
    cluster at a time. With clusters of equal size it is sqrt(G / (G - 1) sum of (sum of l_i)^2) / N. If only some
    questions count, G, N and n_g are those of the clusters that contain one. Source: Bell and McCaffrey 2002; for
    evaluations Miller 2024 (arXiv:2411.00640), section 2.2, without a correction for few clusters.
    """
    if estimate.units or estimate.influence is None or len(estimate.influence) != len(cluster):
        return estimate
    total, questions = int(cluster.max()) + 1, len(cluster)
    sizes = np.bincount(cluster if estimate.members is None else cluster[estimate.members], minlength=total)
    clusters, count, units = int(np.count_nonzero(sizes)), int(sizes.sum()), float(equal_units(sizes))
    if clusters < 2:
        return Estimate(estimate.value, nan)
    scale = left_out(sizes, clusters) * (total / questions)

    def summed(values: Floats) -> Floats:
        sums: Floats = np.bincount(cluster, weights=values).astype(np.float64) * scale
        return without_rounding(sums, float(np.abs(values).max()))

    influence = summed(estimate.influence)
    products = tuple((weight, summed(u), summed(v)) for weight, u, v in estimate.products)
    if not estimate.stderr:  # it cannot vary
        return replace(estimate, influence=influence, products=products, outcomes=None, members=None, units=units)
    found = of_influence(estimate.value, influence, estimate.between, products=products, units=units)
    if found.ends is not None or found.influence is None:
        return found
    by_questions = standard_error(estimate.influence, estimate.products) or estimate.stderr
    few = (1 - 1 / total) / (1 - 1 / clusters) * (1 - 1 / count) / (1 - 1 / questions)
    stderr = found.stderr * sqrt(few) * (estimate.stderr / by_questions)
    return replace(found, stderr=stderr, largest_deviation=estimate.largest_deviation)


def equal_units(sizes: Floats | Ints) -> Floats:
    """Number of clusters of equal size that tell as much as some of these sizes: (sum n)^2 / sum n^2 (Kish 1965)."""
    units: Floats = np.square(sizes.sum(axis=0)) / np.maximum(np.square(sizes).sum(axis=0), 1)
    return units


def left_out(sizes: Ints, clusters: int) -> Floats:
    """How much more a cluster of each size counts in a jackknife than in a sum; 1 if all sizes are equal."""
    more: Floats = (1 - 1 / clusters) / (1 - sizes / sizes.sum())
    return more


def degrees_of(units: float) -> float:
    """Degrees of freedom of Student's t distribution, for an effective number of clusters."""
    return max(_FEWEST_DEGREES, units - 1)


def students(z: float, units: float) -> float:
    """The quantile of Student's t distribution for a quantile of the normal one; the latter without clusters."""
    if not units:
        return z
    degrees = degrees_of(units)
    near, far = beta_quantile(degrees / 2, 0.5, erfc(z / sqrt(2)))
    return sqrt(degrees * far / near) if near else inf


def without_rounding(influence: Floats, scale: float) -> Floats:
    """Influences without those that come from rounding, if the values of the questions are of the size of `scale`."""
    return np.where(np.abs(influence) > _ROUNDING * scale, influence, 0.0)


def standard_error(influence: Floats, products: Sequence[Product] = ()) -> float:
    """Standard error from the influence of each question, (N,): sd / sqrt(N), or as in `product_of`; nan if N < 2."""
    count = len(influence)
    if count < 2:
        return nan
    scale = float(np.abs(influence).max()) or 1.0  # squares of tiny and huge numbers would be 0 and infinite
    first = float((influence / scale).std(ddof=1)) / sqrt(count) * scale
    if not products:
        return first
    second = 0.0
    for weight, u, v in products:
        second += 2 * weight * _mean(influence, u, v) / count**2
        for other, w, x in products:
            fourth = _mean(u, v, w, x) - _mean(u, v) * _mean(w, x)
            squares = _mean(u, w) * _mean(v, x) + _mean(u, x) * _mean(v, w)
            second += weight * other * (fourth + (count - 1) * squares) / count**3
    return sqrt(max(first**2 / 2, first**2 + second * count / (count - 1)))


def _mean(*factors: Floats) -> float:
    return float(np.prod(factors, axis=0).mean())


def wilson(successes: float, trials: float, z: float = IN_95_PERCENT) -> Interval:
    """Wilson's interval of a share: all p with |s / n - p| <= z sqrt(p (1 - p) / n)."""
    share, square = successes / trials, z * z / trials
    middle = (share + square / 2) / (1 + square)
    half = z * sqrt(share * (1 - share) / trials + square / trials / 4) / (1 + square)
    return (0.0 if not successes else max(0.0, middle - half), 1.0 if successes == trials else min(1.0, middle + half))


def clopper_pearson(successes: float, trials: float, tail: float = 0.025) -> Interval:
    """Clopper and Pearson's interval of a share: the p with P(X >= s) = tail and P(X <= s) = tail of a binomial X."""
    if trials > _LIKE_NORMAL:
        return wilson(successes, trials, -NormalDist().inv_cdf(tail))
    failures = trials - successes
    low = beta_quantile(successes, failures + 1, tail)[0] if successes > 0 else 0.0
    return low, beta_quantile(failures, successes + 1, tail)[1] if failures > 0 else 1.0


def beta_quantile(a: float, b: float, tail: float) -> Interval:
    """The x below which a beta distribution has a probability, and 1 - x; as scipy's, whose import takes three numpy's.

    Newton's steps for the logarithm of the probability, which is a concave function of ln(x / (1 - x)): no step upwards
    is too long, and those downwards have a limit.
    """
    if not tail:  # of questions that share very few passages
        return 0.0, 1.0
    place, farthest = log(a / b), _MOST_ERRORS * sqrt(1 / a + 1 / b)
    for _ in range(_MOST_STEPS):
        x, rest = 1 / (1 + exp(-place)), 1 / (1 + exp(place))
        density = _log_density(a, b, x, rest)  # the density itself may be too small for a float
        is_left = x * (a + b + 2) < a + 1  # the fraction converges on this side of the mean
        # of the probability below x to the density
        ratio = _fraction(a, b, x) / a if is_left else exp(-density) - _fraction(b, a, rest) / b
        step = (log(ratio) + density - log(tail)) * ratio
        place = max(_FAR, place - min(step, farthest))
        if abs(step) < _NEAR or place == _FAR:
            break
    return 1 / (1 + exp(-place)), 1 / (1 + exp(place))


def _log_density(a: float, b: float, x: float, rest: float) -> float:
    """The logarithm of x^a (1 - x)^b / B(a, b), without a loss of digits for large numbers (Loader 2000)."""
    total, away = a + b, (x * b - rest * a) / (a + b)
    found = _stirling(total) - _stirling(a) - _stirling(b)
    for count, share, off in ((a, x, away), (b, rest, -away)):
        mean = count / total
        found += count * (log1p(off / mean) if 2 * share > mean else log(share / mean))
    return found + log(a * b / (2 * pi * total)) / 2


def _stirling(number: float) -> float:
    """How much ln(gamma) differs from the leading terms of Stirling's series."""
    if number < _SMALL:
        return lgamma(number) - (number - 0.5) * log(number) + number - log(2 * pi) / 2
    s = 1 / number**2
    return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))) / number


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _MOST_TERMS):
        k = a + 2 * m
        for part in (m * (b - m) * x / ((k - 1) * k), -(a + m) * (a + b + m) * x / (k * (k + 1))):
            c, d = 1 + part / c, 1 / (1 + part * d)
            found *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return found


def trials_with_error(share: float, error: float) -> float:
    """Number of trials whose share of successes has a given standard error: p (1 - p) / error^2."""
    root = sqrt(share * (1 - share)) / max(error, 1 / _MOST_TRIALS)
    return max(1 / _MOST_TRIALS, min(root * root, _MOST_TRIALS))


def bounded(value: float, error: float, between: Interval = SHARES, z: float = IN_95_PERCENT) -> Interval:
    """Interval of a mean with a known range: Wilson's, with the number of trials that has the same error."""
    (low, high), size = between, between[1] - between[0]
    share = (value - low) / size if isfinite(size) and size else 0.0
    if not 0 < share < 1:  # a value outside of its range, by rounding or by the adjustment for positions, is inside
        lower, upper = max(low, min(high, value) - z * error), min(high, max(low, value) + z * error)
        return float(min(value, lower)), float(max(value, upper))
    trials = trials_with_error(share, error / size)
    first, last = wilson(share * trials, trials, z)
    return float(min(value, low + size * first)), float(max(value, low + size * last))


def unvaried(value: float, questions: float, between: Interval = SHARES, z: float = IN_95_PERCENT) -> Interval:
    """Interval of a mean if all questions of the sample have the same value.

    Others may have the lowest or highest one: at most z^2 / (N + z^2), the upper end of Wilson's interval for 0 of N.
    """
    rare = z * z / (questions + z * z)
    low, high = value - rare * (value - between[0]), value + rare * (between[1] - value)
    return float(min(value, low)), float(max(value, high))


def tango(lost: float, gained: float, questions: float, z: float = IN_95_PERCENT) -> Interval:
    """Tango's score interval of a paired difference of shares: |gained - lost - N d| <= z sqrt(N (2 q + d - d^2)).

    Here q is the most likely probability of a loss if the difference is d.
    """

    def is_inside(difference: float) -> bool:
        a = 2 * questions
        b = -lost - gained + (2 * questions - gained + lost) * difference
        c = -lost * difference * (1 - difference)
        loss = max(0.0, (sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a))
        variance = questions * (2 * loss + difference * (1 - difference))
        return (gained - lost - questions * difference) ** 2 <= z * z * max(variance, 0.0)

    low, high = (
        end if is_inside(end) else last_by_halving(is_inside, (gained - lost) / questions, end) for end in (-1.0, 1.0)
    )
    return low, high


def last_by_halving(is_inside: Callable[[float], bool], inside: float, outside: float, steps: int = 50) -> float:
    """The last number that is inside, on the way from one that is to another one; found by halving."""
    for _ in range(steps):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside


def bootstrap(statistics: Callable[[list[Floats]], Floats], strata: Sequence[int]) -> Floats:
    """Compute statistics in 5,000 bootstrap samples of the questions of each stratum, with a fixed seed.

    Of n questions n - 1 are drawn with replacement, so that the variance of a mean is s^2 / n with ddof 1.
    """
    step = max(1, _DRAWS_AT_A_TIME // max(1, sum(strata)))
    if len(strata) == 1 and step >= REPLICATES:
        return statistics([_all_weights(strata[0]).astype(np.float64)])
    if len(strata) == 1:  # the draws are the same; between products the threads of a BLAS wait at full speed
        step *= _FEWER_PRODUCTS
    generator = np.random.default_rng(0)
    sizes = (min(step, REPLICATES - start) for start in range(0, REPLICATES, step))
    drawn = ([_weights(generator, size, each) for each in strata] for size in sizes)
    return np.concatenate(list(map(statistics, drawn)))


@lru_cache(maxsize=64)  # the categories of a benchmark have the same sizes for every model
def _all_weights(questions: int) -> NDArray[np.uint16]:
    """(5000, questions) the weights of a single small stratum, with a quarter of the memory."""
    return _weights(np.random.default_rng(0), REPLICATES, questions).astype(np.uint16)


def _weights(generator: np.random.Generator, samples: int, questions: int) -> Floats:
    """(samples, questions) how often each question is drawn."""
    weights, step = np.empty((samples, questions)), max(1, _COUNTS_AT_A_TIME // questions)
    for start in range(0, samples, step):
        some = weights[start : start + step]
        some[:] = _counts(generator, len(some), questions)
    return weights


def _counts(generator: np.random.Generator, samples: int, questions: int) -> Ints:
    """The weights of so few samples that counting is fast, because all counts fit into the processor's cache."""
    drawn = generator.integers(0, questions, size=(samples, questions - 1))
    drawn += np.arange(samples)[:, None] * questions
    return np.bincount(drawn.ravel(), minlength=samples * questions).reshape(samples, questions)
