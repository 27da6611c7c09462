"""The number of questions: values worked out by hand, and the power in simulations."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from lm_eval_cora.metrics import cora, mcqa
from lm_eval_cora.metrics.estimate import Estimate, share_of
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.planning.sample_size import (
    correlation_of,
    questions_needed,
    smallest_difference,
    spread_at,
    spread_of,
    spread_of_difference,
    spread_with_another,
)
from tests.support.outcomes import joint, share_found, tables

METRICS = {"cora": cora, "mcqa": mcqa}

CASES = [
    ((0.74, 0.18), (0.76, 0.24), 0.6),
    ((0.85, 0.73), (0.88, 0.78), 0.5),
    ((0.38, 0.11), (0.42, 0.15), 0.0),
]
"""(mcqa, bmca@1.0) of two models, and the share of questions that both answer alike."""


def test_values_by_hand() -> None:
    # ((1.959964 + 0.841621) * 0.5 / 0.1)^2 = 14.00793^2 = 196.2
    assert questions_needed(0.5, 0.1) == 197
    # ((1.959964 + 1.281552) * 0.5 / 0.1)^2 = 16.20758^2 = 262.7
    assert questions_needed(0.5, 0.1, power=0.9) == 263
    # ((2.575829 + 0.841621) * 0.5 / 0.1)^2 = 17.08725^2 = 292.0 (rounded up)
    assert questions_needed(0.5, 0.1, level=0.99) == 292
    # Two shares of 0.5 of independent models: s = sqrt(2) * 0.5, so 2 * 196.2 = 392.4.
    assert questions_needed(spread_of_difference(0.5, 0.5, 0.0), 0.1) == 393
    # s^2 = 0.09 + 0.16 - 2 * 0.5 * 0.12
    assert spread_of_difference(0.3, 0.4, 0.5) == pytest.approx(0.13**0.5)
    assert spread_of(0.05, 100) == pytest.approx(0.5)


def test_the_smallest_difference_is_the_inverse() -> None:
    for spread, questions in ((0.3, 100), (0.5, 1273)):
        found = smallest_difference(spread, questions, 0.9, 0.99)
        assert questions_needed(spread, found, 0.9, 0.99) == pytest.approx(questions, abs=1)


def test_no_fewer_than_two_questions() -> None:
    assert questions_needed(0.001, 0.9) == 2


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("first", "second", "alike"), CASES)
def test_the_power_is_that_of_simulations(
    first: tuple[float, float], second: tuple[float, float], alike: float, metric: str
) -> None:
    chances = joint(first, second, alike)
    before, after = (METRICS[metric](table) for table in tables(chances, 20_000))
    change = difference(before, after)
    spread = spread_of(change.stderr, 20_000)
    for power, level in ((0.8, 0.95), (0.9, 0.95), (0.8, 0.99)):
        needed = questions_needed(spread, abs(change.value), power, level)
        assert share_found(metric, chances, needed, level) == pytest.approx(power, abs=0.02)


def test_the_spread_of_another_share_is_exact() -> None:
    for share, other in ((0.8, 0.75), (0.3, 0.4), (0.5, 0.45)):
        hits = np.arange(1_000) < 1_000 * share
        found = spread_at((share * (1 - share)) ** 0.5, hits - share, other - share)
        assert found**2 == pytest.approx(other * (1 - other))
    assert spread_at(0.3, np.zeros(10), 0.1) == 0.3
    assert spread_at(0.4, np.array([0.4, -0.4]), 0.9) == 0


@pytest.mark.parametrize(
    ("metric", "first", "second", "alike"),
    [
        ("mcqa", (0.8, 0.3), (0.75, 0.25), 0.5),
        ("mcqa", (0.4, 0.2), (0.43, 0.2), 0.0),
        ("cora", (0.74, 0.18), (0.75, 0.20), 0.6),
        ("cora", (0.85, 0.73), (0.84, 0.71), 0.5),
        ("cora", (0.64, 0.33), (0.65, 0.36), 0.0),
    ],
)
def test_one_run_and_the_correlation(
    metric: str, first: tuple[float, float], second: tuple[float, float], alike: float
) -> None:
    chances = joint(first, second, alike)
    before, after = (METRICS[metric](table) for table in tables(chances, 20_000))
    gap = abs(after.value - before.value)
    spread = spread_with_another(before, 20_000, gap, correlation_of(before, after))
    assert share_found(metric, chances, questions_needed(spread, gap), 0.95) == pytest.approx(0.8, abs=0.02)


def test_correlations() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 50)) < 0.5
    expected = np.corrcoef(one, other)[0, 1]
    assert correlation_of(share_of(one), share_of(other)) == pytest.approx(expected)
    assert correlation_of(share_of(one), share_of(one)) == pytest.approx(1)
    assert isnan(correlation_of(share_of(one), share_of(np.ones(50, dtype=bool))))
    assert isnan(correlation_of(share_of(one), Estimate(0.5, 0.1)))
