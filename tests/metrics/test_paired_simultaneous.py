"""Intervals of several estimates that hold together, and the range of equal estimates by chance."""

from __future__ import annotations

from math import isnan, pi, sqrt

import numpy as np
import pytest

from lm_eval_cora.metrics import acc_min
from lm_eval_cora.metrics.estimate import IN_95_PERCENT, Estimate, share_of
from lm_eval_cora.metrics.paired import critical_value, difference, differences_together, range_by_chance
from lm_eval_cora.metrics.responses import Bools
from tests.support.score_tables import hits


def shares(rights: Bools) -> list[Estimate]:
    return [share_of(column) for column in rights.T]


def test_critical_values() -> None:
    assert critical_value(np.array([[4.0]])) == pytest.approx(IN_95_PERCENT, abs=0.03)
    assert critical_value(np.ones((5, 5))) == pytest.approx(IN_95_PERCENT, abs=0.03)
    # Independent: (2 Phi(z) - 1)^5 = 0.95, so 2 Phi(z) - 1 = 0.98979 and z = 2.569.
    assert critical_value(np.eye(5)) == pytest.approx(2.569, abs=0.03)
    assert critical_value(np.diag([1.0, 4.0, 9.0, 1e-8, 100.0])) == pytest.approx(2.569, abs=0.03)
    # Estimates without variation in the sample count as independent ones.
    assert critical_value(np.zeros((5, 5))) == pytest.approx(2.569, abs=0.03)


def test_the_range_of_two_estimates() -> None:
    # E |X - Y| = sqrt(2 / pi) sd(X - Y), and the variance of X - Y is 1 + 4 - 2 * 0.5 = 4.
    assert range_by_chance(np.array([[1.0, 0.5], [0.5, 4.0]])) == pytest.approx(2 * sqrt(2 / pi), rel=0.02)
    assert range_by_chance(np.ones((4, 4))) == pytest.approx(0, abs=1e-4)
    assert range_by_chance(np.zeros((4, 4))) == 0
    assert range_by_chance(np.array([[1.0]])) == 0
    # Ten independent values: 3.078 standard deviations.
    assert range_by_chance(np.eye(10) * 0.0016) == pytest.approx(3.078 * 0.04, rel=0.01)


def test_intervals_together_are_wider_than_each_alone() -> None:
    rng = np.random.default_rng(0)
    before, after = shares(rng.random((60, 6)) < 0.6), shares(rng.random((60, 6)) < 0.7)
    for together, one, two in zip(differences_together(before, after), before, after, strict=True):
        alone = difference(one, two)
        assert (together.value, together.stderr) == (alone.value, alone.stderr)
        assert together.low < alone.low <= alone.high < together.high
    (single,) = differences_together(before[:1], after[:1])
    assert single == pytest.approx(difference(before[0], after[0]), abs=0.01)


def test_identical_models_and_kinds_that_do_not_vary() -> None:
    right = np.ones((40, 3), dtype=np.bool_)
    for found in differences_together(shares(right), shares(right)):
        assert found.value == 0
        # Alone, Tango's interval of 0 lost and 0 gained of 40 is 0.0876 to both sides.
        assert found.low < -0.0876 < 0.0876 < found.high


def test_an_estimate_without_a_closed_form_has_no_interval() -> None:
    # acc_min is a minimum. Its interval from percentiles missed the true difference in 40% of the samples.
    first, second = (acc_min(hits(rows)) for rows in (["110", "100", "011"] * 4, ["111", "101", "010"] * 4))
    (alone,) = differences_together([first], [second])
    assert alone.value == second.value - first.value
    assert all(map(isnan, alone[1:]))
    share = share_of(np.arange(12) < 5)
    minimum, other = differences_together([first, share], [second, share])
    assert isnan(minimum.low)
    assert not isnan(other.low)
    assert differences_together([], []) == []
