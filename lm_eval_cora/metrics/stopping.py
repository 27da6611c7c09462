"""Early stopping: the order of the variants, the bias of a budget, and values of a benchmark from two-phase samples.

In the first phase of a two-phase sample, the originals of a random sample of the questions are asked. In the second
phase a random sample of the questions with a right original is followed: their variants are asked until one is wrong.
Then m = mcqa is the share of right originals, r is the share of the followed questions that are right in all variants,
and cora = m (1 - m (1 - r)). The errors are about the finite benchmark, not about other questions of the same kind.
They are 0 when all originals are asked and all right ones are followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isnan, nan, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import IN_95_PERCENT, UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import Bools, Floats, Ints, ResponseTable

EXACT = "exact"
"""The only stopping rule: a question ends with its first wrong answer. CoRA, CI, MCQA and BMCA(1.0) stay exact."""

ENOUGH = 300  # number of questions from which the bias of a budget is small compared with the standard error
_ANGLES = np.linspace(0, pi / 2, 46)


def place_of(doc: Mapping[str, Any], hardest_first: Sequence[str]) -> tuple[bool, int, int]:
    """Sort key of a variant in the order of asking: the original, the hardest kinds, and all others in order."""
    kind = doc["kind"]
    place = hardest_first.index(kind) if kind in hardest_first else len(hardest_first)
    return not doc["original"], place, doc["ordinal"]


def requests_until_wrong(table: ResponseTable, hardest_first: Sequence[str], costs: Ints) -> Ints:
    """Number of requests for each question if it ends with its first wrong answer, before all skipped variants."""
    docs = [{"kind": kind, "original": False, "ordinal": 0} for kind in table.kinds]
    places = np.array([place_of(doc, hardest_first)[1] for doc in docs], dtype=np.int64)
    order = np.lexsort((places[table.kind], ~table.original, table.question))  # a stable sort keeps the ordinals
    wrong = ~table.correct[order]
    before: Ints = np.cumsum(wrong) - wrong
    is_asked: Bools = before == before[table.starts][table.question[order]]
    return np.bincount(table.question[order][is_asked], costs[order][is_asked], len(table.sizes)).astype(int)


class Moments(NamedTuple):
    """Sums over the n questions asked: 1, c_i requests, x_i (right original), c_i x_i, y_i (all right), c_i y_i."""

    questions: int = 0
    requests: int = 0
    right: int = 0
    requests_of_right: int = 0
    always: int = 0
    requests_of_always: int = 0


class Bias(NamedTuple):
    """By how much mcqa and bmca@1.0 are too high."""

    mcqa: float = 0.0
    bmca: float = 0.0


def bias_of_budget(moments: Moments) -> Bias:
    """Estimate by how much shares of questions are too high because a budget decided the number of questions.

    If many of the first questions need many requests, because all their variants are right, few others follow. To first
    order the bias of a share is Cov(c, x) / B, with B requests in total; it is of the order 1 / n.
    """
    n, requests, right, of_right, always, of_always = moments
    if n < 2 or not requests:
        return Bias()
    shares = ((right, of_right), (always, of_always))
    return Bias(*((of_part - requests * part / n) / (n - 1) / requests for part, of_part in shares))


class Phases(NamedTuple):
    """Numbers of questions in a two-phase sample: N in total, n1 asked, R1 right, n2 followed, s always right."""

    questions: int
    asked: int = 0
    right: int = 0
    followed: int = 0
    always: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether all originals are asked and all right ones are followed, so that nothing is estimated."""
        return self.asked == self.questions and self.followed == self.right


class Share(NamedTuple):
    """A share in a finite population of N, from a random sample without replacement: n trials, the fraction n / N."""

    value: float
    trials: int
    fraction: float

    @property
    def variance(self) -> float:
        """Estimated variance (1 - f) p (1 - p) / (n - 1), Wilson's if all are alike; nan for one of several members."""
        if self.fraction >= 1:
            return 0.0
        if self.trials < 2:
            return nan
        if 0 < self.value < 1:
            return (1 - self.fraction) * self.value * (1 - self.value) / (self.trials - 1)
        low, high = self.ends(np.array([IN_95_PERCENT]))
        return float(((high - low)[0] / 2 / IN_95_PERCENT) ** 2)

    def ends(self, z: Floats) -> tuple[Floats, Floats]:
        """Ends of Wilson's intervals with quantiles z, (Z,), inside the certain range f p to 1 - f (1 - p)."""
        certain = self.fraction * self.value, 1 - self.fraction * (1 - self.value)
        if not self.trials:
            return np.zeros_like(z), np.ones_like(z)
        size = self.trials / self.fraction
        # A sample of n of N is as precise as n (N - 1) / (N - n) with replacement.
        square = z**2 / (self.trials * (size - 1) / (size - self.trials) if self.fraction < 1 else inf)
        middle = (self.value + square / 2) / (1 + square)
        half = np.sqrt(square * (self.value * (1 - self.value) + square / 4)) / (1 + square)
        return np.clip(middle - half, certain[0], self.value), np.clip(middle + half, self.value, certain[1])


def shares_of(phases: Phases) -> tuple[Share, Share]:
    """The two shares of a two-phase sample: m, right originals; r, right ones that are always right, from n2 of m N."""
    n, asked, right, followed, always = phases
    first = Share(right / asked if asked else 0.0, asked, asked / n if n else 1.0)
    if asked == n and not right:
        return first, Share(0.0, 0, 1.0)  # no question of the benchmark is right, so there is nothing to follow
    fraction = followed * asked / (right * n) if right else 0.0
    return first, Share(always / followed if followed else 0.0, followed, fraction)


FORMULAS: Mapping[str, Callable[[Any, Any], tuple[Any, Any, Any, Any, Any]]] = {
    "mcqa": lambda m, r: (m, 1, 0, 0, 0),
    "bmca@1.0": lambda m, r: (m * r, r, m, 0, 1),
    "ci": lambda m, r: (1 - m * (1 - r), r - 1, m, 0, 1),
    "cora": lambda m, r: (m * (1 - m * (1 - r)), 1 - 2 * m * (1 - r), m * m, -2 * (1 - r), 2 * m),
}
"""The metrics that a two-phase sample estimates: g and its derivatives g_m, g_r, g_mm and g_mr for m and r."""


def estimate(metric: str, phases: Phases) -> Estimate:
    """Estimate the value of a metric for all questions of a benchmark.

    With m = R1 / n1 and r = s / n2, mcqa is m, bmca@1.0 is m r, ci is 1 - m (1 - r), and cora is m (1 - m (1 - r)). The
    two shares are uncorrelated, because the followed questions are a random sample of the right ones. With the
    variances V_m = (1 - n1 / N) m (1 - m) / (n1 - 1) and V_r = (1 - n2 / (m N)) r (1 - r) / (n2 - 1), the squared
    standard error of a metric g is g_m^2 V_m + g_r^2 V_r + g_mm^2 V_m^2 / 2 + g_mr^2 V_m V_r, with the derivatives of
    g. The last two terms are of second order.

    The interval goes from the smallest to the largest g(m', r') of all m' and r' with z_m^2 + z_r^2 <= 1.96^2. Here z_m
    is the quantile at which Wilson's interval for m, with the finite population correction, ends in m'; z_r likewise.
    """
    if not phases.asked or (phases.right and not phases.followed):
        return UNDEFINED
    first, second = shares_of(phases)
    value, by_m, by_r, by_m_twice, by_both = FORMULAS[metric](first.value, second.value)
    if phases.is_complete or (metric == "mcqa" and phases.asked == phases.questions):
        return Estimate(value, 0.0, ends=(value, value))
    of_m, of_r = first.variance, second.variance if second.trials and (by_r or by_both) else 0.0
    squares = by_m**2 * of_m + by_m_twice**2 * of_m**2 / 2
    stderr = sqrt(squares + by_r**2 * of_r + by_both**2 * of_m * of_r)
    if isnan(stderr):
        return Estimate(value, stderr)
    low, high = _ends(metric, first, second)
    if not stderr:  # without a right original, the derivatives of bmca@1.0 are 0
        stderr = (high - low) / 2 / IN_95_PERCENT
    return Estimate(value, stderr, ends=(min(value, low), max(value, high)))  # they differ only by rounding


def _ends(metric: str, first: Share, second: Share) -> tuple[float, float]:
    """The smallest and the largest value of a metric; on the edge, because no metric has an extreme inside of it."""
    of_m = np.concatenate(first.ends(IN_95_PERCENT * np.cos(_ANGLES)))
    lows, highs = second.ends(IN_95_PERCENT * np.sin(_ANGLES))
    values = np.concatenate([FORMULAS[metric](of_m, np.tile(ends, 2))[0] for ends in (lows, highs)])
    return float(values.min()), float(values.max())


def half_width(first: Share, second: Share) -> float:
    """Half the width of the 95% interval of cora for the full benchmark."""
    low, high = _ends("cora", first, second)
    return (high - low) / 2


def phases_of(table: ResponseTable) -> Phases:
    """Count the questions of a two-phase sample; a right one is followed to a wrong answer or through all variants."""
    count, right = len(table.sizes), table.original_correct
    if right is None:
        return Phases(count + table.not_begun)
    has_miss = table.any_by_question(~table.correct & ~table.skipped)
    followed = right & (has_miss | ~table.any_by_question(table.skipped))
    always = table.hits == table.sizes
    return Phases(count + table.not_begun, count, int(right.sum()), int(followed.sum()), int(always.sum()))
