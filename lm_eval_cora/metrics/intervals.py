"""95% confidence intervals that stay inside the range of a metric: Wilson's, Tango's, and the score interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from lm_eval_cora.metrics.terms import Term, negated, scaled, value_of
from lm_eval_cora.responses import Floats

IN_95_PERCENT = 1.959963984540054
"""Half the width of a 95% confidence interval, in standard errors."""

_LARGEST = float(np.finfo(np.float64).max)

_HALVINGS = 50
_STEPS = 25
_ENOUGH = 1e-9
"""An end of an interval is found if another step moves it by less."""

_NO_ROOT = -36.0
"""The logarithm of a number that makes no difference when it is added to another of the order of 1."""


def wilson(successes: float, trials: float, z: float = IN_95_PERCENT) -> tuple[float, float]:
    """Wilson's interval of a share: all p with |s / n - p| <= z sqrt(p (1 - p) / n).

    Args:
        successes: s, from 0 to n.
        trials: n, above 0.
        z: Quantile of the normal distribution; 1.96 for 95%.

    Returns:
        The ends, from 0 to 1. The width is positive, also for 0 of n.

    Example:
        >>> [round(end, 4) for end in wilson(0, 40)]
        [0.0, 0.0876]

    Source: Wilson 1927.
    """
    share, square = successes / trials, z * z / trials
    middle = (share + square / 2) / (1 + square)
    half = z * sqrt(share * (1 - share) / trials + square / trials / 4) / (1 + square)
    return (0.0 if not successes else max(0.0, middle - half), 1.0 if successes == trials else min(1.0, middle + half))


def wilson_with_error(value: float, stderr: float, questions: float, z: float = IN_95_PERCENT) -> tuple[float, float]:
    """Wilson's interval of a mean between 0 and 1, with the number of trials of `trials_with_error`.

    Args:
        value: The mean. It is moved into the range if an adjustment puts it outside.
        stderr: Its standard error.
        questions: Number of questions.
        z: Quantile of the normal distribution; 1.96 for 95%.

    Returns:
        The ends, from 0 to 1.

    Example:
        >>> [round(end, 4) for end in wilson_with_error(1.0, 0.0, 40)]  # as wilson(40, 40)
        [0.9124, 1.0]
    """
    trials = trials_with_error(value, stderr, questions)
    return wilson(min(1.0, max(0.0, value)) * trials, trials, z)


def trials_with_error(value: float, stderr: float, questions: float) -> float:
    """Number of trials whose share of successes would vary as much as a mean between 0 and 1.

    For a share of N questions, this is N. The mean of several answers to each question varies less, so it has more. Two
    questions with the value 0 and two with 1 are added to the sample before its variance is compared with that of a
    share. So a sample whose questions happen to be alike does not count as one with any number of trials.

    Args:
        value: The mean. It is moved into the range if an adjustment puts it outside.
        stderr: Its standard error.
        questions: N.

    Returns:
        A number above 0.

    Example:
        >>> round(trials_with_error(1.0, 0.0, 40), 9), round(trials_with_error(0.25, 0.0, 40))
        (40.0, 284)
    """
    share, added = min(1.0, max(0.0, value)), 4
    middle = (questions * share + added / 2) / (questions + added)
    squares = max(questions - 1, 1) * questions * stderr**2 + questions * (share - middle) ** 2
    squares += added / 2 * ((1 - middle) ** 2 + middle**2)
    return questions * (questions + added) * middle * (1 - middle) / squares


def tango(lost: int, gained: int, questions: int, z: float = IN_95_PERCENT) -> tuple[float, float]:
    """Tango's score interval of a paired difference of shares, (gained - lost) / N.

    A difference d is inside if |gained - lost - N d| <= z sqrt(N (2 q + d - d^2)). Here q is the probability of a loss
    that is the most likely one if the difference is d.

    Args:
        lost: Number of questions that count before but not after.
        gained: Number of questions that count after but not before.
        questions: N, all questions, at least 1.
        z: Quantile of the normal distribution; 1.96 for 95%.

    Returns:
        The ends, from -1 to 1. The width is positive, also without a changed question.

    Example:
        >>> [round(end, 4) for end in tango(lost=0, gained=0, questions=40)]
        [-0.0876, 0.0876]

    Source: Tango 1998, eq. 18 to 21.
    """

    def is_outside(difference: float) -> bool:
        a = 2 * questions
        b = -lost - gained + (2 * questions - gained + lost) * difference
        c = -lost * difference * (1 - difference)
        loss = max(0.0, (sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a))
        variance = questions * (2 * loss + difference * (1 - difference))
        return (gained - lost - questions * difference) ** 2 > z * z * max(variance, 0.0)

    middle = (gained - lost) / questions
    return _edge(is_outside, middle, -1.0), _edge(is_outside, middle, 1.0)


def _edge(is_outside: Callable[[float], bool], inside: float, limit: float) -> float:
    """The last value that is not outside, on the way from a value inside to a limit."""
    if not is_outside(limit):
        return limit
    outside = limit
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if is_outside(middle):
            outside = middle
        else:
            inside = middle
    return inside


def score_interval(terms: Sequence[Term], z: float = IN_95_PERCENT) -> tuple[float, float]:
    """Score interval of a metric: its smallest and largest value in all populations that agree with the sample.

    This is Wilson's interval for a share, extended to functions of several means. A population gives a probability p_i
    to each distinct row of values, including the extreme rows that no question of the sample has. It agrees with the
    sample if Pearson's statistic sum (O - E)^2 / E with one degree of freedom does not reject it at 5%. With the shares
    s_i of the sample this means: sum s_i^2 / p_i <= 1 + z^2 / N.

    Args:
        terms: The metric of N questions.
        z: Quantile of the normal distribution; 1.96 for 95%.

    Returns:
        The ends. They are values that the metric can have, and the width is positive unless no question can vary.

    Example:
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]] * 20)  # cora with mcqa 0.5 and bmca@1.0 0
        >>> corners = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        >>> [round(end, 4) for end in score_interval([Term(rows, corners, "product")])]
        [0.2281, 0.2957]

    Source: ours, after Wilson 1927 and Baggerly 1998 (Pearson's statistic in empirical likelihood).
    """
    value = value_of(terms)
    terms, unit = scaled(terms)
    rows = np.hstack([term.columns for term in terms])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    region = _Region(distinct, counts / len(rows), [term.corners for term in terms], 1 + z * z / len(rows))
    low, high = -_largest(negated(terms), region) * unit, _largest(terms, region) * unit
    return max(min(value, low), -_LARGEST), min(max(value, high), _LARGEST)


class _Region:
    """The means of all populations that agree with a sample: a convex set."""

    def __init__(self, rows: Floats, shares: Floats, corners: Sequence[Floats], most: float) -> None:
        """Define the set.

        Args:
            rows: (U, K) distinct rows of the sample.
            shares: (U,) their shares.
            corners: The extreme rows of each pair of columns.
            most: Largest value of sum s_i^2 / p_i.
        """
        self.middle = shares @ rows
        self._rows, self._shares, self._corners, self._most = rows, shares, corners, most

    def farthest(self, directions: Floats) -> Floats:
        """(D, K) the point of the set that is farthest in each direction, (D, K).

        The probabilities have the form p_i = c s_i / sqrt(a + h - v_i), where v_i is the value of a row in this
        direction and h the highest value. The sum of s_i^2 / p_i falls with a.
        """
        values, best = directions @ self._rows.T, self._best_corner(directions)
        highest = np.maximum(values.max(axis=1), (directions * best).sum(axis=1))
        spread = np.maximum(highest - values.min(axis=1), np.finfo(float).tiny)
        roots = self._roots((highest[:, None] - values) / spread[:, None])
        chances = self._shares / roots * ((self._shares * roots).sum(axis=1) / self._most)[:, None]
        rest = np.maximum(1 - chances.sum(axis=1), 0.0)
        top = self._rows[values.argmax(axis=1)]
        is_new = (directions * best).sum(axis=1) > values.max(axis=1)
        points: Floats = chances @ self._rows + rest[:, None] * np.where(is_new[:, None], best, top)
        return points

    def _roots(self, gaps: Floats) -> Floats:
        """(D, U) the smallest sqrt(a + gap) with which the sum of s_i^2 / p_i is allowed, for gaps from 0 to 1.

        Newton's method for log(a), which is halved where a step leaves the bracket.
        """
        low, high, at = np.full(len(gaps), -40.0), np.full(len(gaps), 25.0), np.zeros(len(gaps))
        for _ in range(_HALVINGS):
            size = np.exp(at)
            roots = np.sqrt(size[:, None] + gaps)
            inverse = 1 / roots
            first, second = inverse @ self._shares, roots @ self._shares
            excess = np.log(first * second / self._most)
            slope = size / 2 * (first / second - inverse**3 @ self._shares / first)
            low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
            newton = at - excess / np.minimum(slope, -np.finfo(float).tiny)
            before, at = at, np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            if ((np.abs(at - before) < _ENOUGH) | (high < _NO_ROOT)).all():
                break
        return roots

    def _best_corner(self, directions: Floats) -> Floats:
        """(D, K) the extreme row that is farthest in each direction."""
        parts = []
        for number, corners in enumerate(self._corners):
            along = directions[:, 2 * number : 2 * number + 2] @ corners.T
            parts.append(corners[along.argmax(axis=1)])
        return np.hstack(parts)


def _largest(terms: Sequence[Term], region: _Region) -> float:
    """The largest value of a metric in a region: steps along the gradient, from several starts."""
    points = region.middle[None]
    if all(term.is_mean for term in terms):  # the gradient is the same everywhere
        return float(_values(terms, region.farthest(_gradients(terms, points)))[0])
    if len(terms) > 1 or terms[0].kind == "product":  # a ratio has a single maximum
        size = len(region.middle)
        axes = np.vstack([np.eye(size), -np.eye(size)])
        points = np.vstack([region.farthest(np.vstack([axes, _gradients(terms, points)])), points])
    best = _values(terms, points)
    for _ in range(_STEPS):
        points = region.farthest(_gradients(terms, points))
        found = _values(terms, points)
        if (found <= best + _ENOUGH).all():  # one start may stay at a saddle point while another is still on its way
            break
        best = np.maximum(best, found)
    return float(np.maximum(best, found).max())


def _values(terms: Sequence[Term], points: Floats) -> Floats:
    parts = [term.value(points[:, 2 * k], points[:, 2 * k + 1]) for k, term in enumerate(terms)]
    total: Floats = np.sum(parts, axis=0)
    return total


def _gradients(terms: Sequence[Term], points: Floats) -> Floats:
    parts = [term.gradient(points[:, 2 * k], points[:, 2 * k + 1]) for k, term in enumerate(terms)]
    return np.stack([np.broadcast_to(part, len(points)) for pair in parts for part in pair], axis=1)
