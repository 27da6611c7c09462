"""Metrics of SCORE's probes: values worked out by hand."""

from math import isnan, sqrt

import pytest

from lm_eval_cora import metrics
from tests.support.tables import A, C, D, asked, assert_is, hits, table_of, written


def test_the_original_is_the_swap_that_keeps_the_order():
    # With answer C the original is the third variant. Only it is right: mcqa 1, all right 0, ci 0, cora 0.
    table = table_of([asked("q", [D, D, C, A], answer=2)])
    assert [metric(table).value for metric in (metrics.mcqa, metrics.ci, metrics.cora)] == [1, 0, 0]


def outliers(*right, of=10):
    """Return which kinds are outliers, for the given numbers of right answers to each kind."""
    rows = ["".join("01"[number < count] for count in right) for number in range(of)]
    kinds = [f"template {place}" for place in range(len(right))]
    return [metrics.each_kind(hits(rows, kinds))[kind]["outlier"] for kind in kinds]


def test_an_outlier_is_outside_one_and_a_half_interquartile_ranges():
    # Ten questions; right answers by kind 1, 6, 6, 7, 8: sorted, quartiles at places 1 and 3 are 6 and 7, so the
    # fences are 6 - 1.5 = 4.5 and 7 + 1.5 = 8.5: 1 is outside.
    assert outliers(1, 6, 6, 7, 8) == [True, False, False, False, False]
    assert outliers(5, 6, 6, 7, 9) == [False, False, False, False, True]
    # On the fence. Thirds: 0, 1, 1, 2, quartiles at places 0.75 and 2.25 are 3/4 and 5/4; fences 3/4 - 3/4 = 0 and
    # 5/4 + 3/4 = 2.
    assert outliers(2, 0, 1, 1, of=3) == [False] * 4


def test_eight_of_ten():
    # 10, 8 (with two invalid), 7 and 5 equal answers: one of four questions is all equal, two reach 0.8. Equal wrong
    # answers count, too.
    table = hits(["0" * 10, "1" * 8 + "--", "1" * 7 + "000", "0" * 5 + "1" * 5])
    assert_is(metrics.all_equal(table), 0.25, 0.25)
    assert_is(metrics.equal_at(table, level=0.8), 0.5, sqrt(1 / 3) / 2)
    # Pairs of 45: 45, 28, 21 + 3, 10 + 10.
    assert metrics.consistency_rate(table).value == pytest.approx((45 + 28 + 24 + 20) / 45 / 4)


def test_timeouts():
    # First question: three answers, 3 comparisons with the reference and 3 between answers; the two between "slow" and
    # another answer ran out of time. Second: two answers and an empty one, 2 + 1 comparisons, none ran out. 2 of 9.
    table = written(["5", "slow", "x=5"], ["7", None, "7"], ran_out=["slow"])
    # R = 2/9: 2 - R * 6 = 2/3 and 0 - R * 3 = -2/3, sqrt(2 / 1 * 2 * 4/9) / 9 = 4/27.
    assert_is(metrics.timeouts(table), 2 / 9, 4 / 27)
    # All comparisons with the reference run out: 3 of 6.
    assert metrics.timeouts(written(["5", "5", "5"], matches=None)).value == 0.5
    # A comparison that runs out counts as not equivalent: one pair of three agrees.
    assert metrics.consistency_rate(written(["5", "slow", "5"], ran_out=["slow"])).value == pytest.approx(1 / 3)
    # Nothing to compare.
    assert isnan(metrics.timeouts(written([None, None])).value)
    assert isnan(metrics.timeouts(hits(["10"])).value)
