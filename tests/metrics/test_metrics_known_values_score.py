"""Metrics of SCORE's probes: values worked out by hand."""

from math import isnan, sqrt

import pytest

from lm_eval_cora import metrics
from tests.support.tables import A, B, C, D, asked, assert_is, hits, table_of, written

OF_TWO = 3.8414588 / 5.8414588 / 3.9199280
"""The error of a share that two questions have in common: the width of the interval, z^2 / (2 + z^2), / (2 * 1.96)."""


def test_right_in_every_order():
    # Three of three, two of three, three of three with five options: 2/3; 1, 0, 1: sd = sqrt(1/3).
    table = table_of([asked("p", [A, B, C], 3), asked("q", [A, B, A], 3), asked("r", [A, B, C, D, 4], 5)])
    assert_is(metrics.acc_h(table, options="original"), 2 / 3, sqrt(1 / 3) / sqrt(3))
    # CircularEval: the answer, option 1 of three, is at B, A, C.
    rotated = table_of([asked("q", [B, A, C], 3, answer=1, orders="cyclic")])
    assert metrics.acc_h(rotated, options="original").value == 1


def test_the_original_is_the_swap_that_keeps_the_order():
    # With answer C the original is the third variant. Only it is right: mcqa 1, all right 0, ci 0, cora 0.
    table = table_of([asked("q", [D, D, C, A], answer=2)])
    assert [metric(table).value for metric in (metrics.mcqa, metrics.ci, metrics.cora)] == [1, 0, 0]


def test_positions_with_mixed_numbers_of_options():
    # p, three options: right at A and B, mean 2/3.   q, five options: right at A only, mean 1/5.
    table = table_of([asked("p", [A, B, A], 3), asked("q", [A, A, A, A, A], 5)])
    # acc_mean = (2/3 + 1/5) / 2 = 13/30.
    # A: 13/30 + ((1 - 2/3) + (1 - 1/5)) / 2 = 13/30 + 17/30 = 1, as without the adjustment: both questions have A.
    # B: 13/30 + ((1 - 2/3) + (0 - 1/5)) / 2 = 13/30 + 2/30 = 1/2.   C: 13/30 + (-2/3 - 1/5) / 2 = 0.
    # D and E, only in q: 13/30 - 1/5 = 7/30. The plain accuracy is 0.
    found = metrics.each_kind(table, positions=True)
    kinds = [found[f"answer_at_{letter}"] for letter in "ABCDE"]
    assert [kind["adjusted"].value for kind in kinds] == pytest.approx([1, 1 / 2, 0, 7 / 30, 7 / 30], abs=1e-12)
    assert [(kind["accuracy"].value, kind["questions"]) for kind in kinds] == [(1, 2), (0.5, 2), (0, 2), (0, 1), (0, 1)]
    assert metrics.acc_min(table, positions=True).value == pytest.approx(0, abs=1e-12)
    assert metrics.acc_max(table, positions=True).value == pytest.approx(1)
    # The same without the adjustment, because C is 0 too.
    assert metrics.acc_min(table).value == 0


def test_categories_have_the_same_weight():
    # law: 1, 1/2, 0; physics: 1/2 and 1/2; so (1/2 + 1/2) / 2, and (s/sqrt(n))^2: law 1/4 / 3, physics 0.
    table = hits(["11", "10", "00", "10", "01"], categories=["law"] * 3 + ["physics"] * 2)
    assert_is(metrics.macro_acc(table), 0.5, sqrt(1 / 12) / 2)
    # First sample: law 2/3, physics 1/2: 7/12.   Second: law 1/3, physics 1/2: 5/12.
    assert metrics.acc_max(table, macro=True).value == pytest.approx(7 / 12)
    assert metrics.acc_min(table, macro=True).value == pytest.approx(5 / 12)
    # Micro: 3/5 and 2/5.
    assert (metrics.acc_max(table).value, metrics.acc_min(table).value) == (0.6, 0.4)


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


def test_written_answers_by_hand():
    # Agreeing pairs of three: all; one, because the empty answer does not agree with any; none.
    table = written(["5", "5", "x=5"], ["7", None, "7"], ["7", "8", "9"])
    # 1, 1/3, 0: mean 4/9; deviations 5/9, -1/9, -4/9: squares 42/81, / 2, / 3.
    assert_is(metrics.consistency_rate(table), 4 / 9, sqrt(42 / 81 / 6))
    # 1, 0, 0.
    assert_is(metrics.all_equal(table), 1 / 3, 1 / 3)
    # 2 of 3 reach 0.6, twice.
    assert metrics.equal_at(table, level=0.6).value == pytest.approx(2 / 3)
    assert metrics.invalid(table).value == pytest.approx(1 / 9)
    assert metrics.acc(table).value == pytest.approx(8 / 9)


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


def test_picks_by_letter_with_mixed_numbers_of_options():
    # Three options: A, A, B. Four: A, D, none, A. Six picks: A 4, B 1, C 0, D 1.
    table = table_of([asked("p", [A, A, B], 3), asked("q", [A, D, None, A])])
    found = metrics.picks_by_letter(table)
    assert {letter: part["picks"] for letter, part in found.items()} == {"A": 4, "B": 1, "C": 0, "D": 1}
    # A of p: 2 of 3, of q: 2 of 3: k - R m = 0, 0. B: 1 of 3 and 0 of 3, R = 1/6: 1/2, -1/2: sqrt(2 / 2) / 6.
    # A is the share of each question.
    assert_is(found["A"]["share"], 2 / 3, OF_TWO)
    assert_is(found["B"]["share"], 1 / 6, 1 / 6)
    # Even picks: A, B and C have (3 * 1/3 + 3 * 1/4) / 6 = 7/24, D has (3 * 1/4) / 6 = 1/8.
    assert [part["even"] for part in found.values()] == pytest.approx([7 / 24, 7 / 24, 7 / 24, 1 / 8])
    assert metrics.picks_by_letter(hits(["--"])) == {}
