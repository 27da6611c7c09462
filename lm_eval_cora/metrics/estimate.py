"""Estimate, a value with its standard error, and the functions that compute one from values per question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan
from typing import Any

import numpy as np

from lm_eval_cora.metrics.intervals import IN_95_PERCENT, score_interval, wilson
from lm_eval_cora.metrics.terms import Term, influence_of, stderr_of, value_of
from lm_eval_cora.responses import Bools, Floats


@dataclass(frozen=True)
class Estimate:
    """The value of a metric, its standard error and its 95% confidence interval.

    The question is the unit of the standard error, not the variant. Undefined numbers are nan. The arrays keep the
    contribution of each question, so that two estimates from the same questions can be compared pair by pair.

    Attributes:
        value: The value.
        stderr: Its standard error.
        influence: (N,) first-order influence of each question on the value; None if the standard error is undefined or
            has no closed form.
        outcomes: (N,) 1 or 0 for each question if the metric is a share of questions, nan for a question that does not
            count; otherwise None.
        terms: The metric as a function of means over questions; empty if it has another form.
        ends: The ends of the interval if a method of its own computes them; otherwise None.

    Example:
        >>> estimate = Estimate(0.5, stderr=0.1)
        >>> value, stderr = estimate
        >>> value, stderr, [round(end, 3) for end in estimate.interval]
        (0.5, 0.1, [0.304, 0.696])
    """

    value: float
    stderr: float
    influence: Floats | None = field(default=None, repr=False, compare=False)
    outcomes: Floats | None = field(default=None, repr=False, compare=False)
    terms: tuple[Term, ...] = field(default=(), repr=False, compare=False)
    ends: tuple[float, float] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95% confidence interval, inside the range of the metric; nan if the standard error is undefined.

        A share of questions has Wilson's interval, another function of means the score interval. An estimate of which
        only the value and the standard error are known has value - 1.96 stderr and value + 1.96 stderr.

        Example:
            >>> [round(end, 4) for end in share_of(np.array([False] * 40)).interval]
            [0.0, 0.0876]
        """
        if self.ends is not None:
            return self.ends
        if isnan(self.stderr):
            return nan, nan
        if self.outcomes is not None:
            return wilson(float(np.nansum(self.outcomes)), int((~np.isnan(self.outcomes)).sum()))
        if self.terms:
            return score_interval(self.terms)
        return self.value - IN_95_PERCENT * self.stderr, self.value + IN_95_PERCENT * self.stderr

    def __iter__(self) -> Iterator[float]:
        """Unpack as `value, stderr`."""
        return iter((self.value, self.stderr))


UNDEFINED = Estimate(nan, nan)


def for_json(result: Any) -> Any:
    """Convert Estimates to mappings for JSON, and undefined numbers to None.

    Args:
        result: An Estimate, a number, or mappings of them.

    Returns:
        The same structure with `{"value": ..., "stderr": ..., "low": ..., "high": ...}` for each Estimate. The last two
        are the ends of the 95% confidence interval.

    Example:
        >>> for_json({"acc": Estimate(0.5, float("nan"))})
        {'acc': {'value': 0.5, 'stderr': None, 'low': None, 'high': None}}
    """
    if isinstance(result, Estimate):
        numbers = (result.value, result.stderr, *result.interval)
        return dict(zip(("value", "stderr", "low", "high"), map(for_json, numbers), strict=True))
    if isinstance(result, Mapping):
        return {key: for_json(value) for key, value in result.items()}
    return None if isinstance(result, float) and isnan(result) else result


def mean_of(values: Floats, members: Bools | None = None, *, between: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """Mean of one value per question, with standard error sd / sqrt(N) (sd with ddof 1).

    Args:
        values: (N,) values.
        members: (N,) whether a question counts; None if all do.
        between: The lowest and the highest value that a question can have.

    Returns:
        The mean over the members; undefined without members. The standard error is nan with fewer than two.

    Example:
        >>> mean_of(np.array([1.0, 0.0, 1.0, 0.0])).value
        0.5
        >>> mean_of(np.array([]))
        Estimate(value=nan, stderr=nan)
    """
    inside = np.ones(len(values)) if members is None else members.astype(np.float64)
    return ratio_of(np.where(inside > 0, values, 0.0), inside, between=between)


def share_of(hits: Bools, members: Bools | None = None, *, is_fixed: bool = False) -> Estimate:
    """Share of questions for which something is true.

    Args:
        hits: (N,) whether it is true for each question.
        members: (N,) whether a question counts; None if all do.
        is_fixed: Whether all possible answers give the same share. Its error is then 0.

    Returns:
        The share among the members; undefined without members.

    Example:
        >>> share_of(np.array([True, False, True, True])).value
        0.75
    """
    share = mean_of(hits.astype(np.float64), members)
    if isnan(share.value):
        return share
    share = replace(share, outcomes=hits.astype(np.float64) if members is None else np.where(members, hits, nan))
    if is_fixed and not isnan(share.stderr):
        return replace(share, stderr=0.0, ends=(share.value, share.value))
    return share


def ratio_of(
    parts: Floats,
    wholes: Floats,
    members: Floats | None = None,
    *,
    between: tuple[float, float] = (0.0, 1.0),
    corners: Floats | None = None,
) -> Estimate:
    """Pooled share R = sum k_i / sum m_i: the ratio of two sums over questions.

    The first-order standard error is sqrt(N / (N - 1) * sum (k_i - R m_i)^2) / sum m_i (delta method). Terms of second
    order are added; see `of_terms`. It is nan if the subset has fewer than two questions.

    Args:
        parts: (N,) k_i.
        wholes: (N,) m_i; 0 if question i is outside the subset.
        members: (N,) 1 if a question is in the subset, else 0. By default a question is in it if m_i > 0.
        between: The lowest and the highest value of k_i / m_i.
        corners: (C, 2) the most extreme k_i and m_i that a question can have; None if k_i / m_i has the limits
            `between`.

    Returns:
        The share; undefined if all m_i are 0, or so small that the ratio overflows.

    Example:
        >>> ratio_of(np.array([1.0, 3.0]), np.array([4.0, 4.0])).value
        0.5
    """
    total = wholes.sum()
    if not total:
        return UNDEFINED
    with np.errstate(over="ignore"):
        share = parts.sum() / total
    if not np.isfinite(share):
        return UNDEFINED
    inside = wholes > 0 if members is None else members > 0
    if np.count_nonzero(inside) < 2:
        return Estimate(float(share), nan)
    if corners is None:
        sizes = dict.fromkeys([wholes[inside].min(), wholes.max()])
        found = [[rate * size, size] for size in sizes for rate in between]
        corners = np.array(found if inside.all() else [*found, [0.0, 0.0]])
    mean = wholes.mean()  # the ratio stays the same, and small numbers do not overflow when they are squared
    return of_terms(Term(np.stack([parts, wholes], axis=1) / mean, corners / mean), value=share)


def product_of(first: Floats, second: Floats, corners: Floats, *, value: float | None = None) -> Estimate:
    """Product of two means over questions.

    Args:
        first: (N,) values of the first factor.
        second: (N,) values of the second factor.
        corners: (C, 2) the most extreme values that a question can have.
        value: The product, if it is known without another rounding.

    Returns:
        The product; undefined without questions. The standard error has the terms of second order, which are all that
        is left where the gradient is 0; see `of_terms`.

    Example:
        >>> extremes = np.array([[0.0, 0.0], [1.0, 1.0]])
        >>> product_of(np.array([1.0, 0.0]), np.array([1.0, 0.0]), extremes).value
        0.25
    """
    if not len(first):
        return UNDEFINED
    return of_terms(Term(np.stack([first, second], axis=1), corners, "product"), value=value)


def of_terms(*terms: Term, value: float | None = None) -> Estimate:
    """Estimate of a sum of products and ratios of means.

    The standard error is `stderr_of` the terms. If no question differs from the others, that is 0, although other
    questions could differ. The standard error is then half the width of the 95% interval, divided by 1.96.

    Args:
        *terms: The terms, from the same N questions.
        value: Their value, if it is known without another rounding.

    Returns:
        The estimate. The standard error is nan with one question.

    Example:
        >>> rows, corners = np.array([[0.0, 1.0]] * 40), np.array([[0.0, 1.0], [1.0, 1.0]])
        >>> round(of_terms(Term(rows, corners)).stderr, 4)
        0.0224
    """
    value = value_of(terms) if value is None else float(value)
    if len(terms[0].columns) < 2:
        return Estimate(value, nan)
    error = stderr_of(terms)
    if error:
        return Estimate(value, error, influence_of(terms), terms=terms)
    low, high = score_interval(terms)
    return Estimate(value, (high - low) / (2 * IN_95_PERCENT), influence_of(terms), terms=terms)


def by_influence(value: float, influence: Floats) -> Estimate:
    """Estimate with a standard error computed from the influence of each question, (N,).

    Example:
        >>> by_influence(0.5, np.array([0.5, -0.5, 0.5, -0.5])).value
        0.5
    """
    return Estimate(float(value), standard_error(influence), influence)


def standard_error(influence: Floats) -> float:
    """Standard error of a statistic from the influence of each question, (N,): sd / sqrt(N); nan if N < 2.

    For a mean, the influence of a question is its value. For a function of means, it is the value times the gradient.

    Example:
        >>> standard_error(np.array([0.0, 2.0]))
        1.0
    """
    if len(influence) < 2:
        return nan
    return float(influence.std(ddof=1) / np.sqrt(len(influence)))
