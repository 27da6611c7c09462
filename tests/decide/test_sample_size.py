"""The number of questions: values worked out by hand, and the power in simulations."""

from itertools import product
from math import inf, isnan

import numpy as np
import pytest
from scipy.stats import binom

from lm_eval_cora.decide import sample_size
from lm_eval_cora.decide.sample_size import Contrast, Level, correlation_of, questions_for_same, questions_needed
from lm_eval_cora.metrics import cora, core, mcqa
from lm_eval_cora.metrics.estimate import Estimate, clopper_pearson, mean_of, share_of
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.outcomes import joint, share_found, tables

METRICS = {"cora": cora, "mcqa": mcqa}

CASES = [((0.74, 0.18), (0.76, 0.24), 0.6), ((0.85, 0.73), (0.88, 0.78), 0.5), ((0.38, 0.11), (0.42, 0.15), 0.0)]
"""(mcqa, bmca@1.0) of two models, and the share of questions that both answer alike."""


def normal(spread):
    """A contrast with the interval value -+ z s / sqrt(N)."""
    return Contrast(spread, np.zeros(1))


def test_values_by_hand():
    # ((1.959964 + 0.841621) * 0.5 / 0.1)^2 = 14.00793^2 = 196.2
    assert questions_needed(normal(0.5), 0.1, 0.0) == 197
    # ((1.959964 + 1.281552) * 0.5 / 0.1)^2 = 16.20758^2 = 262.7
    assert questions_needed(normal(0.5), 0.1, 0.0, power=0.9) == 263
    # ((2.575829 + 0.841621) * 0.5 / 0.1)^2 = 17.08725^2 = 292.0 (rounded up)
    assert questions_needed(normal(0.5), 0.1, 0.0, level=0.99) == 292
    # The same distance to another bound, from the other side.
    assert questions_needed(normal(0.5), 0.2, 0.3) == 197
    # Two shares of 0.5 of independent models: s = sqrt(2) * 0.5, so 2 * 196.2 = 392.4.
    assert questions_needed(normal(sample_size.spread_of_difference(0.5, 0.5, 0.0)), 0.1, 0.0) == 393
    # s^2 = 0.09 + 0.16 - 2 * 0.5 * 0.12
    assert sample_size.spread_of_difference(0.3, 0.4, 0.5) == pytest.approx(0.13**0.5)


@pytest.mark.parametrize(
    ("right", "questions", "bound", "needed"), [(0, 100, 0.02, 189), (40, 40, 0.95, 73), (0, 40, 0.005, 765)]
)
def test_questions_where_nothing_varies(right, questions, bound, needed):
    # Wilson's interval of 0 of N ends at 3.8415 / (N + 3.8415): 0.02 for 188.2, 0.005 for 764.4; 1 - 0.05 for 73.0.
    level = Level(share_of(np.arange(questions) < right), questions)
    value = right / questions
    assert questions_needed(level, value, bound) == needed
    for count, decides in ((needed, True), (needed - 1, False)):
        low, high = Level(share_of(np.arange(count) < value * count), count).interval(value, count)
        assert ((high <= bound) if value < bound else (low >= bound)) is decides


def test_a_product_where_nothing_varies_needs_as_many_questions_as_a_share():
    for metric in (mcqa, cora, core):
        wrong = metric(ResponseTable.from_hits([[0] * 26] * 5))
        assert questions_needed(Level(wrong, 5), 0.0, 0.1) == 36  # Clopper and Pearson: 1 - 0.025^(1 / N)


def test_the_intervals_are_those_that_are_printed():
    one, other = np.random.default_rng(0).random((2, 60)) < np.array([[0.6], [0.7]])
    for before, after in ((share_of(one), share_of(other)), (mean_of(one * 0.5), mean_of(other * 0.7))):
        change = difference(before, after)
        assert Contrast.of(before, after).interval(change.value, 60) == pytest.approx((change.low, change.high))
    always = mean_of(np.full(60, 0.5))
    assert Contrast.of(always, always).interval(0.0, 60) == difference(always, always)[2:]
    share = share_of(one)
    exact, usual = clopper_pearson(one.sum(), 60), share.interval
    expected = min(exact[0], usual[0]), max(exact[1], usual[1])
    assert Level(share, 60).interval(share.value, 60) == pytest.approx(expected)
    alike = mean_of(np.full(60, 0.5), np.arange(60) < 5)  # five questions count
    far = mean_of(np.where(np.arange(60) == 0, 0.0, 0.9 + one * 0.05))  # one question is far from the others
    for estimate in (alike, far):
        low, high = Level(estimate, 60).interval(estimate.value, 60)
        assert low <= estimate.interval[0] < estimate.interval[1] <= high
    score = mean_of(one * 7.0, between=(0.0, inf))
    assert Level(score, 60).interval(score.value, 60) == pytest.approx(score.interval)


@pytest.mark.parametrize("trials", [40, 100, 1_273])
def test_a_share_at_its_bound_passes_with_at_most_the_probability_that_is_promised(trials):
    rights = np.arange(trials + 1)
    lows = np.array([Level(share_of(np.arange(trials) < k), trials).interval(k / trials, trials)[0] for k in rights])
    for bound in (0.0044, 0.0043, 0.041, 0.3, 0.5, 0.9, 0.97, 0.999):
        assert binom.pmf(rights, trials, bound)[lows >= bound].sum() <= 0.025


def test_the_smallest_difference_is_the_inverse():
    for spread, questions in ((0.3, 100), (0.5, 1273)):
        found = sample_size.smallest_found(normal(spread), questions, 0.9, 0.99)
        assert questions_needed(normal(spread), found, 0.0, 0.9, 0.99) == pytest.approx(questions, abs=1)
    assert sample_size.smallest_found(normal(2.0), 2) == inf
    # No number of questions, or the fewest.
    assert questions_needed(normal(0.5), 0.1, 0.1) is None
    assert questions_needed(normal(0.5), 1e-9, 0.0) is None
    assert questions_needed(normal(0.001), 0.9, 0.0) == 2


def test_the_same_by_hand():
    # Both ends are inside with 0.9 each: ((1.644854 + 1.281552) * 0.5 / 0.1)^2 = 14.63203^2 = 214.1
    assert questions_for_same(normal(0.5), 0.1) == 215
    # Half way, only the nearer end matters: ((1.644854 + 0.841621) * 0.5 / 0.05)^2 = 24.86475^2 = 618.3
    assert questions_for_same(normal(0.5), 0.1, 0.05) == questions_for_same(normal(0.5), 0.1, -0.05) == 619
    assert sample_size.smallest_found(normal(0.5), 215, level=0.9, same=True) == pytest.approx(0.1, abs=0.0005)
    assert questions_for_same(normal(0.5), 0.1, 0.1) is None
    assert sample_size.smallest_found(normal(2.0), 2, level=0.9, same=True) == pytest.approx(
        1
    )  # no difference is larger


@pytest.mark.parametrize("metric", METRICS)
def test_the_power_of_the_same_is_that_of_simulations(metric):
    chances = joint((0.74, 0.5), (0.74, 0.5), 0.8)
    contrast = Contrast.of(*(METRICS[metric](table) for table in tables(chances, 20_000)))
    needed = questions_for_same(contrast, 0.04)
    # Tango's interval of a share is a little longer.
    assert share_found(metric, chances, needed, 0.9, margin=0.04) == pytest.approx(0.82, abs=0.04)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("case", CASES)
def test_the_power_is_that_of_simulations(case, metric):
    chances = joint(*case)
    before, after = (METRICS[metric](table) for table in tables(chances, 20_000))
    gap = abs(after.value - before.value)
    for power, level in ((0.8, 0.95), (0.9, 0.95), (0.8, 0.99)):
        needed = questions_needed(Contrast.of(before, after), gap, 0.0, power, level)
        assert share_found(metric, chances, needed, level) == pytest.approx(power, abs=0.02)


def test_the_spread_of_another_share_is_exact():
    for share, other in ((0.8, 0.75), (0.3, 0.4), (0.5, 0.45)):
        hits = np.arange(1_000) < 1_000 * share
        found = sample_size.spread_at((share * (1 - share)) ** 0.5, hits - share, other - share)
        assert found**2 == pytest.approx(other * (1 - other))
    assert sample_size.spread_at(0.3, np.zeros(10), 0.1) == 0.3
    assert sample_size.spread_at(0.4, np.array([0.4, -0.4]), 0.9) == 0


OF_MCQA = [((0.8, 0.3), (0.75, 0.25), 0.5), ((0.4, 0.2), (0.43, 0.2), 0.0)]
OF_CORA = [((0.74, 0.18), (0.75, 0.20), 0.6), ((0.85, 0.73), (0.84, 0.71), 0.5), ((0.64, 0.33), (0.65, 0.36), 0.0)]


@pytest.mark.parametrize(("metric", "case"), [*product(["mcqa"], OF_MCQA), *product(["cora"], OF_CORA)])
def test_one_run_and_the_correlation(metric, case):
    chances = joint(*case)
    before, after = (METRICS[metric](table) for table in tables(chances, 20_000))
    gap = abs(after.value - before.value)
    contrast = sample_size.with_another(before, 20_000, gap, correlation_of(before, after))
    needed = questions_needed(contrast, gap, 0.0)
    assert share_found(metric, chances, needed, 0.95) == pytest.approx(0.8, abs=0.02)


def test_correlations():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 50)) < 0.5
    assert correlation_of(share_of(one), share_of(other)) == pytest.approx(np.corrcoef(one, other)[0, 1])
    assert correlation_of(share_of(one), share_of(one)) == pytest.approx(1)
    assert isnan(correlation_of(share_of(one), share_of(np.ones(50, dtype=bool))))
    assert isnan(correlation_of(share_of(one), Estimate(0.5, 0.1)))
