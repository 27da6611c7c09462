"""What is certain about the value for all questions of a benchmark while they are asked in random order, at every look.

A confidence sequence is an interval for each number of questions asked. All of them together contain the value with the
given probability, so a run may look at it after each question and stop when it is narrow or decides something.

The method is betting. The values w_1, w_2, ... of the questions are drawn without replacement from those of all N
questions. If their mean is at most c, the mean of those not yet asked, (N c - w_1 - ... - w_(t-1)) / (N - t + 1), is at
least the expected value of w_t. So a player who starts with 1 and bets in each step that w_t is above it wins nothing
on average, and ever reaches 1 / a with a probability of at most a (Ville's inequality). A player who reaches it makes
certain that the mean is above c. Several constant bets are played side by side, and their average counts. Source:
Waudby-Smith and Ramdas 2024, section 5 (betting, without replacement), and 2020 (arXiv:2006.04347).

`cora` is a product m k of two means, of x_i and 1 - x_i + y_i of `ci`. It is at most c exactly if the mean of
q x_i + (1 - x_i + y_i), q m + k, is at most 2 sqrt(q c) for q = k / m, by the inequality of arithmetic and geometric
means. So m k is above c if that is certain for all q; it is below c if it is certain for one q, which may change from
step to step. The q from 0.0092 to 108 are tested, all that matter for c from 0.0092: beyond them m or k, and so m k, is
smaller.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, partialmethod
from math import isnan, log, sqrt
from statistics import fmean
from typing import NamedTuple

import numpy as np

from lm_eval_cora.metrics.estimate import SHARES, Estimate, Interval, last_by_halving
from lm_eval_cora.metrics.responses import Floats, ResponseTable
from lm_eval_cora.questions.randomness import draw

_STEP = 1.25  # factor between two values of q
_MOST = 21  # largest power of the factor
_RATIOS = _STEP ** np.arange(-float(_MOST), _MOST + 1)
# Between two values of q the bound 2 sqrt(q c) is above the line through its values there, by this factor at most.
_BETWEEN = (1 + sqrt(_STEP)) / (2 * _STEP**0.25)
_RISKED = 0.75  # largest share of what a player has that is lost in a step
_HALVINGS = 12
_ROUNDING = 1e-9


class _Players(NamedTuple):
    """P players who bet in each of T steps that a weighted sum of the means is above a bound, and all have to win."""

    values: Floats  # (P, T) the weighted sums
    before: Floats  # (P, T) their sums before each step
    low: Floats  # (P, T or 1) the lowest and the highest possible value
    high: Floats
    bounds: Callable[[float], Floats]  # (P, T or 1) of the weighted sum, for a bound of the metric


@dataclass(frozen=True, eq=False)
class Course:
    """The values of the questions asked so far, in the random order of asking, for a mean or a product of two.

    Questions that share a passage are one unit, and its value is their sum, times units / questions of the benchmark.

    Attributes:
        values: (K, T) values of T units for each of the K means, one or two, whose product is the metric.
        ranges: (K, 2) lowest and highest value that a unit can have.
        total: Number of units of the benchmark, at least T.
        between: Lowest and highest value that the metric can have.
    """

    values: Floats
    ranges: Floats
    total: int
    between: Interval = SHARES

    @property
    def value(self) -> float:
        """The metric of the units asked so far."""
        return float(self.values.mean(axis=1).prod())

    @cached_property
    def possible(self) -> Interval:
        """The lowest and the highest value for all units, whatever the others are; equal after all units."""
        left = self.total - self.values.shape[1]
        means = (self.values.sum(axis=1)[:, None] + left * self.ranges) / self.total
        low, high = np.clip(means, *self.between).prod(axis=0).tolist()
        return low, high

    def _is_beyond(self, sign: int, bound: float, tail: float, *, strictly: bool = False) -> bool:
        """Whether the value for all units is at least a bound, or for the sign -1 at most.

        It is wrong with a probability of at most `tail`, ever.
        """
        near, far = sorted(sign * (end - bound) for end in self.possible)
        if near > (_ROUNDING if strictly else -_ROUNDING):
            return True
        is_open = far - near > _ROUNDING  # after all units nothing is
        return is_open and bool((self._most_of(self._players[sign], bound) * tail >= 1).all())

    is_above, is_below = partialmethod(_is_beyond, 1), partialmethod(_is_beyond, -1)

    def interval(self, level: float = 0.95) -> Interval:
        """The ends of the interval; with those after fewer units it contains the value in `level` of the orders."""
        tail, (least, most) = (1 - level) / 2, self.possible
        start = min(max(self.value, least), most) if self.values.size else (least + most) / 2
        low = last_by_halving(lambda bound: self.is_above(bound, tail), least, start, _HALVINGS)
        return low, last_by_halving(lambda bound: self.is_below(bound, tail), most, start, _HALVINGS)

    @cached_property
    def _players(self) -> dict[int, _Players]:
        """Those who bet that the metric is above a bound, for the sign 1, and below it, for -1."""
        if len(self.values) == 1:
            return {sign: self._betting_on(np.full((1, 1, 1), sign), partial(np.multiply, sign)) for sign in (1, -1)}
        tested, (first, second) = _RATIOS[:, None], self._before
        # The q of a step comes from those before it, which makes no difference to what a player wins on average.
        chosen = np.clip((second + 2) / (first + 1), _RATIOS[0], _RATIOS[-1])[None]
        above, below = (np.stack([ratios, np.ones_like(ratios)]) for ratios in (tested, chosen))
        return {
            # For a lower bound q could be outside the values that are tested.
            1: self._betting_on(above, lambda bound: _BETWEEN * 2 * np.sqrt(tested * max(bound, _RATIOS[0]))),
            -1: self._betting_on(-below, lambda bound: -2 * np.sqrt(chosen * max(bound, 0.0))),
        }

    def _betting_on(self, weights: Floats, bounds: Callable[[float], Floats]) -> _Players:
        """The players with these (K, P, T or 1) weights of the means."""
        values, before = ((weights * each[:, None]).sum(axis=0) for each in (self.values, self._before))
        low, high = (weights * end[:, None, None] for end in self.ranges.T)
        return _Players(values, before, np.minimum(low, high).sum(axis=0), np.maximum(low, high).sum(axis=0), bounds)

    @property
    def _before(self) -> Floats:
        """(K, T) sums of the units before each one."""
        sums: Floats = np.cumsum(self.values, axis=1) - self.values
        return sums

    def _most_of(self, players: _Players, bound: float) -> Floats:
        """The most that each player ever had, who starts with 1."""
        low, width = players.low, players.high - players.low
        unasked = self.total - np.arange(self.values.shape[1])
        expected = np.clip((self.total * players.bounds(bound) - players.before) / unasked, low, players.high)
        surplus = (players.values - expected) / width
        largest = _RISKED / np.maximum((expected - low) / width, _ROUNDING)
        bets = 2.0 ** -np.arange(-1, max(1, int(log(self.total / 8, 4)) + 1))
        with np.errstate(over="ignore"):  # whoever has so much has won
            have = np.mean([np.cumprod(1 + np.minimum(bet, largest) * surplus, axis=1) for bet in bets], axis=0)
        most: Floats = have.max(axis=1, initial=1.0)
        return most


Mean = Callable[[ResponseTable], Estimate]


def in_drawn_order(units: Iterable[str], seed: int) -> list[str]:
    """The units of a benchmark, questions or passages, in the order that a seed draws. It is the order of asking."""
    return sorted(set(units), key=lambda unit: draw(2**64, seed, "questions", unit))


def course_of(
    means: Sequence[Mean], table: ResponseTable, seed: int, before: ResponseTable | None = None
) -> Course | None:
    """The course of a metric that is the product of these means.

    It is None if one of them is not a mean over questions, or if the units asked are not the first ones of the order.
    The last passage may be asked in part, if the requests ran out; it is left out.

    With a table of answers to all questions, `before`, the values are differences to its answers to the same question,
    plus its mean: their mean over all questions is the same, and they vary less.
    """
    whole = before or table
    sizes, answered = Counter([*whole.unit_of.values(), *whole.unasked]), Counter(table.unit_of.values())
    complete = {unit for unit, count in answered.items() if count == sizes[unit]}
    asked, scale = in_drawn_order(sizes, seed)[: len(complete)], len(sizes) / max(1, sizes.total())
    if complete != {*asked}:
        return None
    values, ranges, between = [], [], SHARES  # a product of means from 0 to 1
    for mean in means:
        (own, (low, high)), (known, _) = _values_of(mean, table), _values_of(mean, before) if before else ({}, ())
        if not own or (before and not known):
            return None
        sums, shifts = defaultdict[str, float](float), defaultdict[str, float](float)
        for question, unit in table.unit_of.items():
            sums[unit] += own[question]
        average = fmean(known.values()) if known else 0.0
        for question, unit in whole.unit_of.items():
            shifts[unit] += average - known.get(question, average)
        values.append([(sums[unit] + shifts[unit]) * scale for unit in asked])
        ends = [(low * size + shifts[unit], high * size + shifts[unit]) for unit, size in sizes.items()]
        ranges.append([min(least for least, _ in ends) * scale, max(most for _, most in ends) * scale])
        between = (low, high) if len(means) == 1 else between
    return Course(np.array(values), np.array(ranges), len(sizes), between)


def _values_of(mean: Mean, table: ResponseTable) -> tuple[dict[str, float], Interval]:
    """The values of the questions whose mean a metric is, and their range; empty if it is not a mean over questions."""
    found = mean(replace(table, clusters=("",) * len(table.sizes)))
    if not found.is_mean or isnan(found.value):
        return {}, SHARES
    values = found.value + (np.zeros(1) if found.influence is None else found.influence)  # None: a single question
    return dict(zip(table.question_ids, values.tolist(), strict=True)), found.between
