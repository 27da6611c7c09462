"""Metrics as sums of terms: products and ratios of means over questions, with their standard errors.

Most metrics are a function of means over questions: `mcqa` is a mean, `acc` is a ratio of two means, and `cora` is a
product of two means. A paired difference of two metrics is the sum of the terms of one minus those of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import numpy as np

from lm_eval_cora.responses import Floats

_NOTHING = 1e-14
"""A standard error below this comes from rounding, if the numbers are of the order of 1: the sample does not vary."""

_FEW = 50
"""Ratios of up to this many questions have the exact standard error of a bootstrap."""

_NOTHING_OF_RATIOS = 1e-7
"""Like `_NOTHING`, for a standard error from a numerical integral."""

_STEP = 0.25
"""Step between the logarithms at which the integral is evaluated."""

_SMALLEST = 1e-100
"""Values of a sample that are smaller than this count as 0, relative to the largest that a question can have."""


@dataclass(frozen=True)
class Term:
    """A product a * b or a ratio a / b of two means over questions, with a weight.

    Attributes:
        columns: (N, 2) values of each question, whose means are a and b. For a plain mean b is 1.
        corners: (C, 2) most extreme values that a question can have.
        kind: Whether the term is a product or a ratio.
        weight: Factor of the term.
    """

    columns: Floats
    corners: Floats
    kind: Literal["product", "ratio"] = "ratio"
    weight: float = 1.0

    @property
    def is_mean(self) -> bool:
        """Whether the term is a plain mean: b is the same for every question."""
        return self.kind == "ratio" and bool((self.columns[:, 1] == self.columns[0, 1]).all())

    def value(self, a: Floats, b: Floats) -> Floats:
        """The term for means a and b."""
        return self.weight * (a * b if self.kind == "product" else a / b)

    def gradient(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """The derivatives of the term by a and by b."""
        if self.kind == "product":
            return self.weight * b, self.weight * a
        return self.weight / b, -self.weight * a / b**2


def negated(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of the metric's negative."""
    return tuple(replace(term, weight=-term.weight) for term in terms)


def scaled(terms: Sequence[Term]) -> tuple[tuple[Term, ...], float]:
    """The terms in units in which their numbers are of the order of 1, and the unit of the sum.

    Probabilities can be as small as 1e-300. Their powers would overflow or become 0.

    Example:
        >>> rows = np.array([[0.0, 1e-200], [1.0, 1e-200]])
        >>> (term,), unit = scaled([Term(rows, rows)])
        >>> term.columns.tolist(), unit
        ([[0.0, 1.0], [1.0, 1.0]], 1e+200)
    """
    found = []
    for term in terms:
        sizes = np.maximum(np.abs(term.columns).max(axis=0), _SMALLEST * np.abs(term.corners).max(axis=0))
        units = np.where(sizes > 0, sizes, 1.0)
        weight = term.weight * (units[0] * units[1] if term.kind == "product" else units[0] / units[1])
        found.append(replace(term, columns=term.columns / units, corners=term.corners / units, weight=weight))
    unit = float(max(abs(term.weight) for term in found))
    return tuple(replace(term, weight=float(term.weight / unit)) for term in found), unit


def value_of(terms: Sequence[Term]) -> float:
    """The value of a sum of terms.

    Example:
        >>> columns, corners = np.array([[1.0, 4.0], [3.0, 4.0]]), np.array([[0.0, 4.0], [4.0, 4.0]])
        >>> value_of([Term(columns, corners)])
        0.5
    """
    return float(sum(term.value(*term.columns.mean(axis=0)) for term in terms))


def influence_of(terms: Sequence[Term]) -> Floats:
    """(N,) first-order influence of each question on a sum of terms: the linear part of its Taylor series.

    Example:
        >>> influence_of([Term(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]]))])
        array([-0.5,  0.5])
    """
    total = np.zeros(len(terms[0].columns))
    for term in terms:
        means = term.columns.mean(axis=0)
        by_first, by_second = term.gradient(*means)
        total += by_first * (term.columns[:, 0] - means[0]) + by_second * (term.columns[:, 1] - means[1])
    return total


def stderr_of(terms: Sequence[Term]) -> float:
    """Standard error of a sum of terms: what a bootstrap over questions converges to, times sqrt(N / (N - 1)).

    The Taylor series of the sum around the means has a linear part L and a quadratic part Q = sum s u v, where u and v
    are deviations of means. Their variance in bootstrap samples follows from the moments of the questions' values:
    E[L L] / N + 2 E[L u v] / N^2 + (E[u v u' v'] - E[u v] E[u' v'] + (N - 1)(E[u u'] E[v v'] + E[u v'] E[u' v])) / N^3,
    summed over pairs of quadratic parts. For products this is exact. For ratios the largest part of the cubic term is
    added; with few questions the covariances of ratios are computed exactly instead, see `_covariance`.

    Args:
        terms: The terms, from the same N questions.

    Returns:
        The standard error; 0 if the sample does not vary. At least two questions are needed.

    Example:
        >>> rows, corners = np.array([[1.0, 0.0], [0.0, 1.0]] * 5), np.array([[1.0, 1.0], [0.0, 0.0]])
        >>> round(stderr_of([Term(rows, corners, "product")]), 4)  # the linear part alone is 0
        0.0354

    Source: moments of multinomial samples; ours for the use as a standard error.
    """
    terms, unit = scaled(terms)
    questions = len(terms[0].columns)
    if questions <= _FEW and all(map(_is_even_ratio, terms)) and not all(term.is_mean for term in terms):
        variance, nothing = _variance_of_ratios(terms), _NOTHING_OF_RATIOS
    else:
        variance, nothing = _variance_of_series(terms), _NOTHING
    error = sqrt(variance * questions / (questions - 1))
    return 0.0 if error < nothing else error * unit


def _variance_of_series(terms: Sequence[Term]) -> float:
    """Variance of the first terms of the Taylor series in bootstrap samples."""
    questions = len(terms[0].columns)
    linear, pairs, cubics = influence_of(terms), [], []
    for term in terms:
        means = term.columns.mean(axis=0)
        first, second = (term.columns - means).T
        if term.kind == "product":
            pairs.append((term.weight, first, second))
        elif not term.is_mean:
            residual, size = (first - means[0] / means[1] * second) / means[1], second / means[1]
            pairs.append((-term.weight, residual, size))
            cubics.append((term.weight, residual, size))
    first_order = _mean(linear, linear) / questions
    variance = first_order + sum(_second_order(linear, pairs))
    for weight, residual, size in cubics:
        squares = _mean(linear, residual) * _mean(size, size) + 2 * _mean(linear, size) * _mean(residual, size)
        fourth = _mean(linear, residual, size, size)
        variance += 2 * weight * (fourth + (questions - 1) * squares) / questions**3
    return max(variance, first_order / 2)


def _variance_of_ratios(terms: Sequence[Term]) -> float:
    """Variance of a sum of ratios in bootstrap samples."""
    variance = 0.0
    for place, one in enumerate(terms):
        variance += one.weight**2 * _covariance(one.columns, one.columns)
        for other in terms[:place]:
            variance += 2 * one.weight * other.weight * _covariance(one.columns, other.columns)
    return max(0.0, variance)


def _is_even_ratio(term: Term) -> bool:
    """Whether a term is a ratio whose denominators are of similar size, or 0 with a numerator of 0."""
    parts, sizes = term.columns.T
    counts = sizes > 0
    return term.kind == "ratio" and not parts[~counts].any() and bool(sizes.max() <= 1_000 * sizes[counts].min())


def _covariance(one: Floats, other: Floats) -> float:
    """Covariance of two ratios over all bootstrap samples, exact up to rounding.

    With the sums M of m and Z of z = k - R m in a bootstrap sample, the ratio differs from R by Z / M. Because 1 / M is
    the integral of exp(-t M) over t > 0, E[Z / M Z' / M'] is the integral over t and t' of

        E[Z Z' exp(-t M - t' M')] = N b f^(N - 1) + N (N - 1) a a' f^(N - 2)

    with the means over questions f of exp(-t m - t' m'), a and a' of f's terms times z and z', and b of f's terms times
    z z'. The integral over the logarithms of t and t' is a sum at equal steps, which converges exponentially. A
    bootstrap sample in which all m are 0 counts as R.

    Args:
        one: (N, 2) k and m of each question.
        other: (N, 2) k' and m'.
    """
    questions = len(one)
    nodes, decays, residuals = [], [], []
    for columns in (one, other):
        parts, sizes = columns.T / columns[:, 1].mean()
        residuals.append(parts - parts.mean() * sizes)
        highest = np.log(40 * questions / sizes[sizes > 0].min())
        nodes.append(np.exp(np.arange(-30, highest, _STEP)) / questions)
        decays.append(np.exp(-np.outer(nodes[-1], sizes)))
    first, second = residuals
    (left, right), (outer, inner) = decays, nodes
    both = left @ right.T / questions
    with_first = (left * first) @ right.T / questions
    with_second = left @ (right * second).T / questions
    with_both = (left * (first * second)) @ right.T / questions
    expected = questions * both ** (questions - 2) * (with_both * both + (questions - 1) * with_first * with_second)
    alone = [
        questions * _STEP * (t @ ((decay @ residual / questions) * decay.mean(axis=1) ** (questions - 1)))
        for t, decay, residual in zip(nodes, decays, residuals, strict=True)
    ]
    return float(_STEP**2 * (outer @ expected @ inner) - alone[0] * alone[1])


def _second_order(linear: Floats, pairs: Sequence[tuple[float, Floats, Floats]]) -> Iterator[float]:
    """The parts of the variance that have a quadratic part of the Taylor series."""
    questions = len(linear)
    for sign, u, v in pairs:
        yield 2 * sign * _mean(linear, u, v) / questions**2
        for other, w, z in pairs:
            fourth = _mean(u, v, w, z) - _mean(u, v) * _mean(w, z)
            squares = _mean(u, w) * _mean(v, z) + _mean(u, z) * _mean(v, w)
            yield sign * other * (fourth + (questions - 1) * squares) / questions**3


def _mean(*factors: Floats) -> float:
    """The mean over questions of a product of values."""
    return float(np.prod(factors, axis=0).mean())
