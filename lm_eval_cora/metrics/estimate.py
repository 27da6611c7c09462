"""Estimate, a value with its standard error, and the functions that compute one from values per question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any

import numpy as np

from lm_eval_cora.responses import Bools, Floats

IN_95_PERCENT = 1.959963984540054
"""Half the width of a 95% confidence interval, in standard errors."""

@dataclass(frozen=True)
class Estimate:
    """The value of a metric and its standard error.

    The question is the unit of the standard error, not the variant. Undefined numbers are nan. The arrays keep the
    contribution of each question, so that two estimates from the same questions can be compared pair by pair.

    Attributes:
        value: The value.
        stderr: Its standard error.
        influence: (N,) influence of each question on the value; None if the standard error is undefined or has no
            closed form.
        outcomes: (N,) 1 or 0 for each question if the metric is a share of questions, nan for a question that does not
            count; otherwise None.
        ends: The ends of the 95% confidence interval if a method of its own computes them; otherwise None.
        replicates: (1000,) values in bootstrap samples if the standard error has no closed form, otherwise None. All
            estimates from N questions use the same samples.

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
    replicates: Floats | None = field(default=None, repr=False, compare=False)
    ends: tuple[float, float] | None = field(default=None, repr=False, compare=False)

    @property
    def interval(self) -> tuple[float, float]:
        """95% confidence interval: `ends`, or value - 1.96 stderr and value + 1.96 stderr; nan if undefined.

        Example:
            >>> [round(end, 3) for end in Estimate(0.5, 0.1).interval]
            [0.304, 0.696]
        """
        if self.ends is not None:
            return self.ends
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
        The same structure with `{"value": ..., "stderr": ...}` for each Estimate.

    Example:
        >>> for_json({"acc": Estimate(0.5, float("nan"))})
        {'acc': {'value': 0.5, 'stderr': None}}
    """
    if isinstance(result, Estimate):
        return {"value": for_json(result.value), "stderr": for_json(result.stderr)}
    if isinstance(result, Mapping):
        return {key: for_json(value) for key, value in result.items()}
    return None if isinstance(result, float) and isnan(result) else result


def mean_of(values: Floats, members: Bools | None = None) -> Estimate:
    """Mean of one value per question, with standard error sd / sqrt(N) (sd with ddof 1).

    Args:
        values: (N,) values.
        members: (N,) whether a question counts; None if all do.

    Returns:
        The mean over the members; undefined without members. The standard error is nan with fewer than two.

    Example:
        >>> mean_of(np.array([1.0, 0.0, 1.0, 0.0])).value
        0.5
        >>> mean_of(np.array([]))
        Estimate(value=nan, stderr=nan)
    """
    inside = np.ones(len(values), dtype=np.bool_) if members is None else members
    chosen = values[inside]
    count, total = len(chosen), len(values)
    if not count:
        return UNDEFINED
    mean = chosen.mean()
    if count < 2:
        return Estimate(float(mean), nan)
    # Scaled so that the standard error over all N questions equals sd / sqrt(n) of the n members.
    influence = np.zeros(total)
    influence[inside] = (chosen - mean) * np.sqrt(total * (total - 1) / (count * (count - 1)))
    return Estimate(float(mean), standard_error(chosen), influence)


def share_of(hits: Bools, members: Bools | None = None) -> Estimate:
    """Share of questions for which something is true.

    Args:
        hits: (N,) whether it is true for each question.
        members: (N,) whether a question counts; None if all do.

    Returns:
        The share among the members; undefined without members.

    Example:
        >>> share_of(np.array([True, False, True, True])).value
        0.75
    """
    share = mean_of(hits.astype(np.float64), members)
    if isnan(share.value):
        return share
    return replace(share, outcomes=np.where(members, hits, nan) if members is not None else hits.astype(np.float64))


def ratio_of(parts: Floats, wholes: Floats, members: Floats | None = None) -> Estimate:
    """Pooled share R = sum k_i / sum m_i: the ratio of two sums over questions.

    The standard error is sqrt(N / (N - 1) * sum (k_i - R m_i)^2) / sum m_i (delta method). It is nan if the subset has
    fewer than two questions.

    Args:
        parts: (N,) k_i.
        wholes: (N,) m_i; 0 if question i is outside the subset.
        members: (N,) 1 if a question is in the subset, else 0. By default a question is in it if m_i > 0.

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
    if np.count_nonzero(wholes if members is None else members) < 2:
        return Estimate(float(share), nan)
    return by_influence(share, (parts - share * wholes) * (len(wholes) / total))


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
