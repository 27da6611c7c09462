"""Lowest and highest accuracy of kinds: errors, intervals, the range by chance, and Cochran's Q."""

from itertools import permutations, product
from math import hypot, isfinite, isnan, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chi2

from lm_eval_cora.metrics import acc_max, acc_mean, acc_min, acc_range, acc_range_by_chance, acc_range_p, macro_acc
from lm_eval_cora.metrics.estimate import clopper_pearson, trials_with_error
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.tables import hits, of_kinds

pytestmark = pytest.mark.filterwarnings("error")


# ---- values, errors and intervals
@pytest.mark.parametrize(("questions", "kinds"), [(10, 2), (12, 6), (100, 10)])
def test_the_errors_agree_with_a_bootstrap_of_all_questions(questions, kinds):
    rng = np.random.default_rng(kinds)
    right = rng.random((questions, kinds)) < rng.random((questions, 1))
    means = right[rng.integers(questions, size=(8_000, questions))].mean(axis=1) * sqrt(questions / (questions - 1))
    assert acc_min(of_kinds(right)).stderr == pytest.approx(means.min(axis=1).std(), rel=0.05)
    assert acc_max(of_kinds(right)).stderr == pytest.approx(means.max(axis=1).std(), rel=0.05)


def test_the_macro_errors_agree_with_a_bootstrap_within_categories():
    rng = np.random.default_rng(1)
    right = rng.random((100, 5)) < rng.random((100, 1))
    table = of_kinds(right, categories=["a"] * 30 + ["b"] * 70)
    parts = [part[rng.integers(len(part), size=(8_000, len(part)))] for part in (right[:30], right[30:])]
    means = np.mean([part.mean(axis=1) for part in parts], axis=0)
    # The factors sqrt(30 / 29) = 1.017 and sqrt(70 / 69) = 1.007 are below the tolerance.
    assert acc_min(table, macro=True).stderr == pytest.approx(means.min(axis=1).std() * 1.013, rel=0.04)
    assert acc_max(table, macro=True).stderr == pytest.approx(means.max(axis=1).std() * 1.013, rel=0.04)


def test_a_mean_of_several_variants_has_the_interval_of_a_share_with_the_same_error():
    # 1 and 1/2, 20 times each: 3/4, deviations 1/4, error 1/4 / sqrt(39), and one further question of the 40.
    error = hypot(0.25 / sqrt(39), 0.25 / 40)
    trials = trials_with_error(0.75, error)
    found = acc_max(ResponseTable.from_hits([[1, 1], [1, 0]] * 20, original=None))
    assert found.interval == pytest.approx(clopper_pearson(0.75 * trials, trials), abs=0.002)


def test_all_right_has_an_error_and_an_interval():
    # Four kinds that do not vary count as independent: (2 Phi(z) - 1)^4 = 0.95, z = 2.491: tails of
    # 0.00637. The lower end is 0.00637^(1/40) = 0.8812; the error is half the width / 1.96 = 0.0303.
    for extreme in (acc_min(hits(["1111"] * 40)), acc_max(hits(["1111"] * 40))):
        assert extreme.value == extreme.interval[1] == 1
        assert extreme.interval[0] == pytest.approx(0.8812, abs=0.003)
        assert extreme.stderr == pytest.approx(0.0303, abs=0.001)


def test_a_kind_of_one_question_has_the_interval_of_one_question():
    # The second kind: 1 of 1, so its interval starts below 0.025. The first one: 20 of 21.
    right, present = np.ones((21, 2), dtype=np.bool_), np.ones((21, 2), dtype=np.bool_)
    right[0, 0], present[1:, 1] = False, False
    low, high = acc_max(of_kinds(right, present)).interval
    assert high == 1
    assert acc_min(of_kinds(right, present)).interval[0] < 0.025
    assert 0.6 < low < 20 / 21


def test_the_accuracy_of_a_category_is_the_mean_of_its_kinds():
    # Two questions lack the second kind. The accuracies are 3/4 and 1/2.
    right = np.array([[1, 1], [0, 0], [1, 0], [1, 0]], dtype=np.bool_)
    present = np.array([[1, 1], [1, 1], [1, 0], [1, 0]], dtype=np.bool_)
    one, two = (of_kinds(np.tile(right, (n, 1)), np.tile(present, (n, 1)), [*"aaaabbbb"][: 4 * n]) for n in (1, 2))
    assert acc_mean(one).value == (3 / 4 + 1 / 2) / 2
    assert tuple(macro_acc(one)) == pytest.approx(tuple(acc_mean(one)))
    assert tuple(macro_acc(two)) == pytest.approx((acc_mean(one).value, acc_mean(one).stderr / sqrt(2)))


@given(st.integers(0, 10**9), st.booleans())
def test_nothing_is_undefined_from_two_questions_on(seed, positions):
    rng = np.random.default_rng(seed)
    questions, kinds = int(rng.integers(2, 14)), int(rng.integers(1, 6))
    present = rng.random((questions, kinds)) < rng.choice([0.2, 0.6, 1.0])
    present[np.arange(questions), rng.integers(0, kinds, questions)] = True
    present = present[:, present.any(axis=0)]
    assume(present.sum(axis=1).max() > 1)
    right = rng.random(present.shape) < rng.choice([0.0, 0.5, 1.0])
    right = right[:, [0] * right.shape[1]] if rng.random() < 0.2 else right
    categories = [f"c{number}" for number in rng.integers(0, rng.choice([1, 2, 5, 50]), questions)]
    table = of_kinds(right, present, categories)
    low, high = (extreme(table, positions=positions).value for extreme in (acc_min, acc_max))
    assert low - 1e-12 <= acc_mean(table, positions=positions).value <= high + 1e-12
    for macro in (False, True):
        for extreme in (acc_min, acc_max):
            found = extreme(table, positions=positions, macro=macro)
            low, high = found.interval
            assert low <= found.value <= high
            assert found.stderr > 0
            assert low < high
        assert acc_range(table, positions=positions, macro=macro).value >= 0
        by_chance = acc_range_by_chance(table, positions=positions, macro=macro).value
        assert by_chance >= 0 if questions >= 10 else isnan(by_chance)
    assert macro_acc(table).stderr > 0
    p_value = acc_range_p(table).value
    assert 0 < p_value <= 1 if questions >= 10 and len(table.kinds) > 1 else isnan(p_value)


# ---- the range by chance
@pytest.mark.parametrize(("questions", "expected"), [(100, 0.122), (500, 0.055), (2_340, 0.026)])
def test_the_range_of_ten_equal_kinds_by_chance(questions, expected):
    # Ten independent kinds, accuracy 0.8: 3.078 * sqrt(0.16 / N) = 0.123, 0.055, 0.0255.
    right = np.random.default_rng(0).random((questions, 10)) < 0.8
    assert acc_range_by_chance(of_kinds(right)).value == pytest.approx(expected, rel=0.06)


# ---- Cochran's Q
def test_cochrans_q_by_hand():
    # 3 kinds, 120 questions: 40 times 100, 30 times 010, 50 times 011. Right answers by kind 40, 80, 50, T = 170, row
    # totals 70 times 1 and 50 times 2. Q = (k - 1) (k sum C^2 - T^2) / (k T - sum R^2)
    # = 2 (3 * (1600 + 6400 + 2500) - 28900) / (510 - (70 + 200)) = 2 * 2600 / 240 = 21.667. Without effect: 111, 000.
    table = hits(["100"] * 40 + ["010"] * 30 + ["011"] * 50 + ["111"] * 9 + ["000"] * 7)
    assert acc_range_p(table).value == pytest.approx(chi2.sf(5200 / 240, 2), rel=1e-9)


def test_few_informative_questions_have_the_exact_p_value_of_the_sign_test():
    # 8 lost, 2 gained: 2 (1 + 10 + 45) / 1024 = 0.109. 1,999 exchanges: an error of 0.007.
    about = pytest.approx(112 / 1024, abs=0.028)
    for lost, gained, p_value in ((8, 2, about), (5, 5, 1), (0, 0, 1), (14, 0, pytest.approx(0, abs=2 / 2000))):
        assert acc_range_p(hits(["10"] * lost + ["01"] * gained + ["11"] * 10)).value == p_value, (lost, gained)


def test_the_permutation_test_agrees_with_all_exchanges():
    # Three kinds, six questions: 3^6 = 729 exchanges. The statistic grows with the sum of squared totals.
    rows = ["100", "100", "110", "101", "010", "100"]
    exchanges = [sorted(set(permutations(row))) for row in rows]
    totals = [np.sum([list(map(int, row)) for row in each], axis=0) for each in product(*exchanges)]
    squares = np.array([(total**2).sum() for total in totals])
    observed = (np.sum([list(map(int, row)) for row in rows], axis=0) ** 2).sum()
    expected = (squares >= observed).mean()
    assert 0.05 < expected < 0.5
    # 4 * sqrt(0.25 / 1,999) = 0.045 at most.
    assert acc_range_p(hits([*rows, "111", "000", "111", "111"])).value == pytest.approx(expected, abs=0.045)


def test_missing_kinds_are_not_exchanged():
    # Kinds 0 and 2 share 120 questions and are equally good. Kinds 0 and 1 share 120 others: kind 0 is right in all of
    # them and kind 1 in none; in the second table each is right in 60.
    right, present = np.zeros((240, 3), dtype=np.bool_), np.ones((240, 3), dtype=np.bool_)
    present[:120, 1], present[120:, 2] = False, False
    right[:60, 0], right[60:120, 2], right[120:, 0] = True, True, True
    assert acc_range_p(of_kinds(right, present)).value < 1e-9
    right[120:180, 0], right[120:180, 1] = False, True
    assert acc_range_p(of_kinds(right, present)).value == pytest.approx(1)


def test_when_the_p_value_is_not_printed():
    assert isnan(acc_range_p(hits(["10"] * 9)).value)
    assert isfinite(acc_range_p(hits(["10"] * 10)).value)
    assert isnan(acc_range_p(hits(["1"] * 20)).value)
    # `from_hits` has the original and two shuffled variants: the mean of two answers varies less.
    assert isnan(acc_range_p(ResponseTable.from_hits([[1, 0, 1]] * 20)).value)
