"""Accuracies of kinds from weights of questions, categories with one question, and covariances."""

from dataclasses import replace
from math import hypot, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.metrics import acc_mean, macro_acc
from lm_eval_cora.metrics.estimate import IN_95_PERCENT, bounded
from lm_eval_cora.metrics.kinds import (
    KindAccuracies,
    covariance_of,
    critical_value,
    normal_draws,
    note_on_small_categories,
    strata_of,
)
from tests.support.tables import hits, of_kinds


def names(*sizes):
    """Return a category for each question: sizes 2, 1 give c0, c0, c1."""
    return [f"c{number}" for number, size in enumerate(sizes) for _ in range(size)]


def grouped(*sizes):
    table = hits(["10"] * sum(sizes), categories=names(*sizes))
    return [[members.tolist() for members in stratum] for stratum in strata_of(table, macro=True)]


def random_answers(rng, questions, kinds, missing):
    """(N, G) right answers, and whether a question has a kind. It has the first one."""
    present = rng.random((questions, kinds)) >= missing
    present[:, 0] = True
    return rng.random((questions, kinds)) < 0.6, present


def errors(table, *, positions=False, macro=True):
    influence = KindAccuracies.of(table, positions=positions, macro=macro).influence()
    return np.sqrt(np.diag(covariance_of(influence))).tolist()


# ---- categories with one question
def test_which_categories_are_pooled():
    assert grouped(2, 3) == [[[0, 1]], [[2, 3, 4]]]
    assert grouped(1, 2, 1) == [[[0], [3]], [[1, 2]]]
    assert grouped(3, 1, 2) == [[[3], [4, 5]], [[0, 1, 2]]]  # the only one, with the smallest other category
    assert grouped(1, 1) == [[[0], [1]]]
    assert grouped(1) == [[[0]]]
    assert grouped() == []


def test_if_all_categories_have_one_question_the_macro_error_is_the_plain_one():
    # s / sqrt(N): C categories of 1 question, (1/C) sqrt(C s^2) = s / sqrt(C).
    table = hits(["110", "100", "111", "000", "011", "110"], categories=names(*[1] * 6))
    assert macro_acc(table).stderr == pytest.approx(acc_mean(table).stderr)
    assert errors(table) == pytest.approx(errors(table, macro=False))


def test_the_error_with_categories_of_one_question():
    # law 1, 0; art 1. Both use the variance of 1, 0, 1: s^2 = 1/3. (1/2) sqrt(1/3 / 2 + 1/3 / 1) = sqrt(1/8).
    table = hits(["11", "00", "11"], categories=["law", "law", "art"])
    assert tuple(macro_acc(table)) == pytest.approx((0.75, sqrt(1 / 8)))
    # One further question counts, of 2^2 / (1/2 + 1/1) = 8/3.
    assert macro_acc(table).interval == pytest.approx(bounded(0.75, hypot(sqrt(1 / 8), 3 / 8)))
    # c0 1, 0, 1, 0: s^2 = 1/3, / 4 = 1/12. c1 to c3 have 1, 0, 1 together: s^2 = 1/3 each. (1/4) sqrt(1/12 + 3/3).
    table = hits(["11", "00", "11", "00", "11", "00", "11"], categories=names(4, 1, 1, 1))
    assert macro_acc(table).stderr == pytest.approx(sqrt(13 / 12) / 4)
    assert errors(table) == pytest.approx([sqrt(13 / 12) / 4] * 2)


def test_the_note_on_categories_with_one_question():
    rows = ["10", "01", "11", "10"]
    assert note_on_small_categories(hits(rows, categories=names(2, 2))) == ""
    assert note_on_small_categories(hits(rows[:1], categories=names(1))) == ""
    assert note_on_small_categories(hits(rows, categories=names(3, 1))).startswith("1 category has one question")
    for rest, sizes in ((rows, (2, 1, 1)), (rows[:2], (1, 1))):
        note = note_on_small_categories(hits(rest, categories=names(*sizes)))
        assert note.startswith("2 categories have one question")


# ---- weights
@given(st.integers(0, 10**6), st.booleans())
def test_weights_are_numbers_of_copies(seed, positions):
    rng = np.random.default_rng(seed)
    (right, present), categories = random_answers(rng, 6, 3, missing=0.4), np.repeat(["a", "b"], 3)
    weight = rng.integers(0, 3, 6)
    weight[[0, 5]] = 1  # each category has a question
    copies = np.repeat(np.arange(6), weight)
    copied = of_kinds(right[copies], present[copies], categories[copies].tolist())
    expected = KindAccuracies.of(copied, positions=positions, macro=True).values()[0]
    table = of_kinds(right, present, categories.tolist())
    weights = [weight[None, :3].astype(float), weight[None, 3:].astype(float)]
    found = KindAccuracies.of(table, positions=positions, macro=True).values(weights)[0]
    assert found == pytest.approx(expected, nan_ok=True)


def test_number_of_trials():
    # The second kind: 3 of 4 questions. By category: c0 has 1 and c1 has 2 of them, so 2^2 / (1/1 + 1/2) = 8/3; the
    # first kind 2^2 / (1/2 + 1/2) = 4.
    present = np.array([[1, 1], [1, 0], [1, 1], [1, 1]], dtype=np.bool_)
    table = of_kinds(present, present, names(2, 2))
    assert KindAccuracies.of(table).trials().tolist() == [4, 3]
    assert KindAccuracies.of(table, macro=True).trials().tolist() == pytest.approx([4, 8 / 3])
    # The first two share a passage: 4^2 / (2^2 + 1 + 1). Only one of them has the second kind.
    shared = replace(table, clusters=("x", "x", "y", "z"))
    assert KindAccuracies.of(shared).trials().tolist() == pytest.approx([16 / 6, 3])


# ---- covariance
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_covariance_agrees_with_a_bootstrap(positions, missing):
    rng = np.random.default_rng(4)
    sizes = 40, 60
    table = of_kinds(*random_answers(rng, 100, 3, missing), names(*sizes))
    accuracies = KindAccuracies.of(table, positions=positions, macro=True)
    weights = [rng.multinomial(size - 1, np.full(size, 1 / size), 4_000).astype(float) for size in sizes]
    expected = np.cov(accuracies.values(weights).T)
    found = covariance_of(accuracies.influence())
    # 4,000 samples: an error of 1 / sqrt(2,000) = 2.2% for variances; ratios have terms of second order.
    assert np.diag(found).tolist() == pytest.approx(np.diag(expected).tolist(), rel=0.1)
    assert np.abs(found - expected).max() < 0.1 * np.diag(expected).max()


def test_critical_values():
    # The influences of two questions, or of ten: each kind differs from 0 in two of them, in opposite directions.
    for influence in (np.array([[2.0]]), np.ones((1, 5))):
        assert critical_value(np.concatenate([influence, -influence])) == pytest.approx(IN_95_PERCENT, abs=0.03)
    # Independent: (2 Phi(z) - 1)^5 = 0.95, so 2 Phi(z) - 1 = 0.98979 and z = 2.569. So are those without variation.
    for influence in (np.eye(5), np.diag([1.0, 2.0, 3.0, 1e-4, 10.0]), np.zeros((5, 5))):
        assert critical_value(np.concatenate([influence, -influence])) == pytest.approx(2.569, abs=0.03)


def test_the_mean_range_of_normal_draws():
    # E |X - Y| = sqrt(2 / pi) sd(X - Y), and the variance of X - Y is 1 + 4 - 2 * 0.5 = 4.
    pair = normal_draws(np.array([[1.0, 0.5], [0.5, 4.0]]))
    assert np.ptp(pair, axis=1).mean() == pytest.approx(2 * sqrt(2 / pi), rel=0.02)
    assert np.ptp(normal_draws(np.ones((4, 4))), axis=1).mean() == pytest.approx(0, abs=1e-4)
    assert not normal_draws(np.zeros((4, 4))).any()
    # Ten independent values: 3.078 standard deviations.
    assert np.ptp(normal_draws(np.eye(10) * 0.0016), axis=1).mean() == pytest.approx(3.078 * 0.04, rel=0.01)
