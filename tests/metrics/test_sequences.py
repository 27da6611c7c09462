"""Intervals that hold at every look: by hand, against plain loops, and over all orders of a small benchmark."""

from itertools import permutations, product
from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lm_eval_cora.metrics.sequences import Course

SHARE = (0.0, 1.0)
PAIRED = (-1.0, 1.0)
LEVEL, TAIL = 0.95, 0.025


def course(*means, total=None, ranges=None):
    values = np.array(means, dtype=np.float64).reshape(len(means), -1)
    ranges = ranges or [SHARE] * len(means)
    return Course(values, np.array(ranges), total or values.shape[1], between_of(ranges))


def between_of(ranges):
    """The values that a single mean can have are those of a unit here; a product of shares is a share."""
    return ranges[0] if len(ranges) == 1 else SHARE


def outcomes(always, once, never):
    """x_i and 1 - x_i + y_i of questions that are right in all variants, in the original only, and not at all."""
    return [1.0] * (always + once) + [0.0] * never, [1.0] * always + [0.0] * once + [1.0] * never


# ---- the bets
def test_the_gain_of_two_right_answers_by_hand():
    # Of four questions two must be right if half of all are. The first bets are 1.5, the most with which 3/4 may be
    # lost, and 1; 1 + 1.5 / 2 and 1 + 1 / 2 remain. Then one of three must be right, and the bets are 2 and 1.
    gain = ((1 + 1.5 / 2) * (1 + 2 * 2 / 3) + (1 + 1 / 2) * (1 + 2 / 3)) / 2
    asked = course([1, 1], total=4)
    assert asked.is_above(0.5, 1.001 / gain, strictly=True)
    assert not asked.is_above(0.5, 0.999 / gain, strictly=True)
    assert course([0, 0], total=4).is_below(0.5, 1.001 / gain, strictly=True)
    assert not course([0, 0], total=4).is_below(0.5, 0.999 / gain, strictly=True)


def test_each_end_of_the_interval_is_wrong_with_half_of_the_rest():
    asked = course([1, 0, 1, 1, 0, 1, 1, 1] * 5, total=200)
    low, high = asked.interval(LEVEL)
    assert (asked.is_above(low - 1e-3, TAIL), asked.is_above(low + 1e-3, TAIL)) == (True, False)
    assert (asked.is_below(high + 1e-3, TAIL), asked.is_below(high - 1e-3, TAIL)) == (True, False)


def gain_of(steps, low, high, total):
    """The most that the players ever had, by plain loops; a step is a value, the sum before it, and the bound."""
    bets, size = [2.0, 1.0], 1
    while 8 * 4**size <= total:
        bets.append(2.0**-size)
        size += 1
    have, most = [1.0] * len(bets), 1.0
    for asked, (value, before, bound) in enumerate(steps):
        left = max(low, min((total * bound - before) / (total - asked), high))
        room = max((left - low) / (high - low), 1e-9)
        have = [
            had * (1 + min(bet, 0.75 / room) * (value - left) / (high - low))
            for had, bet in zip(have, bets, strict=True)
        ]
        most = max(most, sum(have) / len(have))
    return most


def check(is_certain, bound, gain, surplus):
    """It is certain with the probability 1 / gain, and not with a smaller one; without a bet if there is a surplus."""
    gain = float("inf") if surplus > 1e-9 else gain
    assume(abs(surplus) > 1e-8)
    assert is_certain(bound, max(1e-12, min(1.0, 1.01 / gain)))
    assert not 1 < gain < float("inf") or not is_certain(bound, 0.99 / gain)


def steps_of(values, bound):
    return [(value, sum(values[:place]), bound) for place, value in enumerate(values)]


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), max_size=12), st.integers(13, 600), st.floats(0.05, 0.95))
def test_a_mean_is_above_as_plain_loops_say(values, total, bound):
    gain = gain_of(steps_of(values, bound), 0.0, 1.0, total)
    check(course(values, total=total).is_above, bound, gain, sum(values) / total - bound)


@given(st.lists(st.sampled_from([(1, 1), (1, 0), (0, 1)]), max_size=8), st.integers(9, 300), st.floats(0.05, 0.9))
def test_a_product_is_above_as_plain_loops_say(pairs, total, bound):
    xs, ks = ([float(pair[place]) for pair in pairs] for place in (0, 1))
    between = (1 + sqrt(1.25)) / (2 * 1.25**0.25)
    gains = []
    for power in range(-21, 22):
        q = 1.25**power
        values = [q * x + k for x, k in zip(xs, ks, strict=True)]
        gains.append(gain_of(steps_of(values, between * 2 * sqrt(q * bound)), 0.0, q + 1, total))
    check(course(xs, ks, total=total).is_above, bound, min(gains), sum(xs) * sum(ks) / total**2 - bound)


@given(st.lists(st.sampled_from([(1, 1), (1, 0), (0, 1)]), max_size=8), st.integers(9, 300), st.floats(0.05, 0.9))
def test_a_product_is_below_as_plain_loops_say(pairs, total, bound):
    steps, x_sum, k_sum = [], 0.0, 0.0
    for x, k in pairs:
        q = (k_sum + 2) / (x_sum + 1)
        # The player bets that the negative sum is above the negative bound; all are divided by the range, q + 1.
        steps.append((-(q * x + k) / (q + 1), -(q * x_sum + k_sum) / (q + 1), -2 * sqrt(q * bound) / (q + 1)))
        x_sum, k_sum = x_sum + x, k_sum + k
    gain = gain_of(steps, -1.0, 0.0, total)
    most = (x_sum + total - len(pairs)) * (k_sum + total - len(pairs)) / total**2
    is_below = course([pair[0] for pair in pairs], [pair[1] for pair in pairs], total=total).is_below
    check(is_below, bound, gain, bound - most)


# ---- what is certain
@pytest.mark.parametrize("tail", [0.1, 0.25])
@pytest.mark.parametrize(
    "values", [(0, 0, 0, 1, 1, 1), (0, 1, 1, 1, 1, 1), (-1, -1, 0, 0, 1, 1), (0, 0.5, 0.5, 1, 2, 3)]
)
def test_of_all_orders_of_a_benchmark_few_say_something_false_at_any_look(values, tail):
    low, high = min(0, *values), max(values)
    ranges, mean = [(low, high)], sum(values) / len(values)
    orders = list(permutations(values))
    for is_wrong in (
        lambda asked: asked.is_above(mean + 1e-6, tail),
        lambda asked: asked.is_below(mean - 1e-6, tail),
    ):
        # What is certain after some units stays so, so the last look before the end has all of them.
        wrong = sum(is_wrong(course(order[:-1], total=len(order), ranges=ranges)) for order in orders)
        assert wrong <= tail * len(orders)


@pytest.mark.parametrize("counts", [(2, 2, 2), (1, 4, 1), (4, 1, 1), (0, 3, 3), (1, 1, 4)])
def test_the_same_for_cora(counts):
    x, k = outcomes(*counts)
    value, tail = sum(x) * sum(k) / 36, 0.2
    orders = list(permutations(range(6)))
    for is_wrong in (
        lambda asked: asked.is_above(value + 1e-6, tail),
        lambda asked: asked.is_below(value - 1e-6, tail),
    ):
        asked = [course([x[i] for i in order[:-1]], [k[i] for i in order[:-1]], total=6) for order in orders]
        assert sum(map(is_wrong, asked)) <= tail * len(orders)


KINDS = {
    "a share": ([[1.0] * 180 + [0.0] * 120], [SHARE]),
    "cora": (outcomes(90, 120, 90), [SHARE] * 2),
    "a high cora": (outcomes(270, 20, 10), [SHARE] * 2),
    "a paired difference": ([[1.0] * 8 + [-1.0] * 4 + [0.0] * 288], [PAIRED]),
    "passages": ([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0] * 50], [(0.0, 5.0)]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_in_random_orders_the_intervals_hold_at_every_look(kind):
    means, ranges = KINDS[kind]
    values, rng, wrong = np.array(means), np.random.default_rng(0), 0
    total = values.shape[1]
    value = values.mean(axis=1).prod()
    for _ in range(200):
        asked = Course(values[:, rng.permutation(total)[:-1]], np.array(ranges), total, between_of(ranges))
        wrong += asked.is_above(value + 1e-6, TAIL) or asked.is_below(value - 1e-6, TAIL)
    assert wrong <= 0.05 * 200


def test_the_interval_contains_what_is_possible_only():
    # 2 of 3 are right, and one of four is left: 2 or 3 of 4 are right.
    low, high = course([1, 1, 0], total=4).interval(LEVEL)
    assert (low, high) == (pytest.approx(0.5, abs=1e-3), pytest.approx(0.75, abs=1e-3))
    assert low <= 0.5
    assert high >= 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_becomes_narrow_and_ends_in_the_value(kind):
    means, ranges = KINDS[kind]
    values = np.array(means)
    order = np.random.default_rng(1).permutation(values.shape[1])
    widths = []
    for asked in (0, 30, 100, 290, 300):
        found = Course(values[:, order[:asked]], np.array(ranges), 300, between_of(ranges))
        low, high = found.interval(LEVEL)
        assert low <= values.mean(axis=1).prod() <= high
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0


@given(st.lists(st.sampled_from([(1, 1), (1, 0), (0, 1)]), min_size=1, max_size=40), st.floats(0, 1), st.floats(0, 1))
def test_what_is_above_a_bound_is_above_a_lower_one(pairs, one, other):
    asked = course(*zip(*pairs, strict=True), total=50)
    low, high = sorted((one, other))
    assert asked.is_above(low, TAIL) or not asked.is_above(high, TAIL)
    assert asked.is_below(high, TAIL) or not asked.is_below(low, TAIL)


def test_a_product_is_above_a_tiny_bound_only_if_it_is_above_one_for_which_all_weights_are_tested():
    # Four of 4,000 questions are right, always: q is 1,000, and the largest that is tested is 108. For q = 108 the sum
    # q m + k = 1.108 is above 2 sqrt(108 * 0.001) = 0.66, although m k is not above 0.001.
    asked = course(*outcomes(4, 0, 3980), total=4000)
    assert not asked.is_above(0.001, TAIL)
    assert asked.is_above(0.0005, TAIL)  # by counting: 4 / 4,000 times 3,984 / 4,000


@pytest.mark.parametrize(("means", "value"), [(([1, 0, 1, 1],), 0.75), (outcomes(2, 1, 1), 0.75 * 0.75)])
def test_after_all_questions_everything_is_certain(means, value):
    asked = course(*means)
    assert asked.interval(LEVEL) == (value, value)
    assert asked.is_above(value, TAIL)
    assert asked.is_below(value, TAIL)
    assert not asked.is_above(value + 1e-6, TAIL)
    assert not asked.is_below(value - 1e-6, TAIL)


def test_without_a_question_nothing_is_known():
    for count, (low, high) in product((1, 2), [SHARE]):
        assert course(*[[]] * count, total=9).interval(LEVEL) == (low, high)
