"""Standard errors, the bootstrap and confidence intervals: published values, values by hand, and properties."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv

from lm_eval_cora import metrics
from lm_eval_cora.metrics import difference
from lm_eval_cora.metrics.estimate import (
    IN_95_PERCENT,
    REPLICATES,
    beta_quantile,
    bootstrap,
    bounded,
    clopper_pearson,
    mean_of,
    product_of,
    ratio_of,
    tango,
    trials_with_error,
    unvaried,
    wilson,
)
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import oracles_errors as slow
from tests.support.oracles_errors import bootstrap_error, splits


def test_each_stratum_has_one_draw_less_than_questions():
    sums = bootstrap(lambda weights: np.stack([w.sum(axis=1) for w in weights], axis=1), [2, 7, 30])
    assert sums.shape == (REPLICATES, 3)
    assert REPLICATES == 5_000
    assert (sums == [1, 6, 29]).all()


def test_large_tables_are_drawn_in_parts_and_the_seed_is_fixed():
    sizes = []

    def first(weights):
        sizes.append(len(weights[0]))
        return weights[0][:, :1]

    once, again = bootstrap(first, [3_000]), bootstrap(first, [3_000])
    assert len(sizes) > 2
    assert max(sizes) * 3_000 <= 10_000_000  # 80 MB
    assert (once == again).all()
    # The parts are different samples: a question is drawn 2,999 / 3,000 times on average, with variance 1.
    assert once.mean() == pytest.approx(1, abs=0.06)
    assert once.var() == pytest.approx(1, abs=0.1)


def test_the_samples_do_not_depend_on_how_many_are_drawn_at_once():
    first = bootstrap(lambda weights: weights[0][:, :5], [3_000])[:40]
    drawn = np.random.default_rng(0).integers(0, 3_000, size=(40, 2_999))
    assert (first == [np.bincount(row, minlength=3_000)[:5] for row in drawn]).all()


SHARES = (0.0, 0.05, 0.1, 0.5, 0.9, 1.0)


def products(rows):
    """A product for each pair of columns."""
    columns = np.array(rows).T
    return [product_of(*columns[place : place + 2]) for place in range(0, len(columns), 2)]


def pairs_of(columns, most):
    return st.lists(st.tuples(*[st.sampled_from(SHARES)] * columns), min_size=2, max_size=most)


@given(pairs_of(2, most=6))
def test_the_error_of_a_product_is_that_of_all_bootstrap_samples(rows):
    (found,) = products(rows)
    expected = bootstrap_error(lambda a, b: a * b, rows)
    if expected > 1e-9:  # else it is that of a sample that does not vary
        assert found.stderr == pytest.approx(expected, abs=1e-9)
    else:
        assert found.ends is not None
        assert found.stderr > 0


@given(pairs_of(4, most=5))
def test_the_error_of_a_difference_of_products_is_that_of_all_bootstrap_samples(rows):
    before, after = products(rows)
    expected = bootstrap_error(lambda a, b, c, d: c * d - a * b, rows)
    found = difference(before, after)
    if expected > 1e-9:
        assert found.stderr == pytest.approx(expected, abs=1e-9)
    assert difference(after, before) == pytest.approx((-found.value, found.stderr, -found.high, -found.low), abs=1e-9)


@pytest.mark.parametrize("questions", [10, 14, 25, 60])
@pytest.mark.parametrize("part", [1.0, 0.8, 0.5])
def test_the_error_of_a_mean_of_some_questions_is_close_to_all_bootstrap_samples(questions, part):
    # Subsets of ten or more questions, of which 10% to 90% are right.
    size, places = max(10, round(part * questions)), np.arange(questions)
    for right in {1, size // 4, size // 2, size - 1}:
        values, inside = places < right, places < size
        rows = np.stack([values, inside], axis=1).astype(float).tolist()
        expected = bootstrap_error(lambda a, b, default=right / size: a / b if b else default, rows)
        assert mean_of(values.astype(float), inside).stderr == pytest.approx(expected, rel=0.05), right


@pytest.mark.parametrize("least", [1e-300, 1e-160, 1e-20])
def test_tiny_numbers_keep_their_error(least):
    # Probabilities of 1, 2 and 3 times a tiny number: the error of the mean is sd / sqrt(3) = 1 / sqrt(3) of it.
    values = np.array([1.0, 2.0, 3.0]) * least
    assert mean_of(values).stderr == pytest.approx(least / sqrt(3))
    # A ratio to tiny numbers is huge, and so is its error.
    right = np.array([1.0, 0.0, 1.0])
    huge, plain = (ratio_of(right, sizes, between=(0.0, float("inf"))) for sizes in (values, values / least))
    assert huge.stderr == pytest.approx(plain.stderr / least)


@pytest.mark.parametrize("values", [[1.0] * 5, [0.0] * 2, [0.1] * 7, [1 / 3] * 49])
def test_a_sample_that_does_not_vary_has_no_influences(values):
    for found in (mean_of(np.array(values)), ratio_of(np.array(values) * 0.7, np.full(len(values), 0.7))):
        assert not found.influence.any()
        assert found.ends is not None


def test_a_ratio_that_overflows_is_undefined():
    assert np.isnan(ratio_of(np.ones(3), np.full(3, 1e-320), between=(0.0, float("inf"))).value)


def assert_is(found, expected, within=1e-6):
    assert found == pytest.approx(expected, rel=0, abs=within)


# ---- Wilson
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_agrees_with_published_intervals(successes, trials, low, high):
    # Newcombe 1998, Statistics in Medicine 17, 857, table I, method 3.
    assert_is(wilson(successes, trials), (low, high), within=5e-5)
    assert_is(wilson(trials - successes, trials), (1 - high, 1 - low), within=5e-5)


# ---- Tango
def test_published_intervals_of_a_paired_difference():
    # Airway reactivity before and after a transplantation, 7 and 1 changes of 21: Fagerland, Lydersen and Laake 2014.
    assert_is(tango(lost=7, gained=1, questions=21), (-0.517, -0.026), within=5e-4)
    # 25 and 28 changes of 618, at 90%: the R package PropCIs.
    assert_is(tango(lost=25, gained=28, questions=618, z=1.6448536), (-0.0148, 0.0247), within=5e-5)


@pytest.mark.parametrize("questions", [1, 2, 5, 30])
def test_interval_of_a_paired_difference_agrees_with_its_oracle(questions):
    for lost, gained, _ in list(splits(questions, 3))[:: 1 + 2 * questions]:
        assert_is(tango(lost, gained, questions), slow.paired_interval(lost, gained, questions), within=1e-6)


# ---- Means of several answers
@pytest.mark.parametrize("right", ["22020", "20120", "222"])
def test_the_same_number_from_the_same_answers_has_the_same_interval(right):
    table = ResponseTable.from_hits([np.arange(2) < int(hits) for hits in right])
    one, same = metrics.acc(table), metrics.mcqa_plus(table)
    assert (*one, *one.interval) == pytest.approx((*same, *same.interval))


def test_a_mean_has_the_interval_of_a_share_with_the_same_error():
    # 0.25 with the error 0.05: 0.25 * 0.75 / 0.0025 = 75 trials.
    assert trials_with_error(0.25, 0.05) == pytest.approx(75)
    assert_is(bounded(0.25, 0.05), wilson(18.75, 75))
    # From -1 to 1 the value -0.5 is a quarter of the way, and the error 0.1 is 0.05 of the range.
    low, high = wilson(18.75, 75)
    assert_is(bounded(-0.5, 0.1, (-1.0, 1.0)), (2 * low - 1, 2 * high - 1))
    assert_is(bounded(7.0, 2.0, (0.0, inf)), (7 - 2 * IN_95_PERCENT, 7 + 2 * IN_95_PERCENT))
    assert_is(bounded(1.0, 2.0, (0.0, inf)), (0.0, 1 + 2 * IN_95_PERCENT))


def test_a_sample_that_does_not_vary_by_hand():
    # w = 3.8415 / 43.8415 = 0.0876 of the questions may have 0 or 1 instead of 0.25.
    rare = 3.8414588 / 43.8414588
    assert_is(unvaried(0.25, 40), (0.25 - 0.25 * rare, 0.25 + 0.75 * rare))
    assert_is(unvaried(1.0, 40), wilson(40, 40))
    assert_is(unvaried(0.0, 40, (-1.0, 1.0)), tango(0, 0, 40))


def test_one_further_question_as_far_as_the_farthest_by_hand():
    # 1, 1, 1, 0.5 of the mean 0.875: deviations 0.125 and -0.375, variance 0.1875 / 3, error 0.125.
    found = mean_of(np.array([1.0, 1.0, 1.0, 0.5]))
    assert found.stderr == pytest.approx(0.125)
    assert found.cautious_stderr == pytest.approx(sqrt(0.125**2 + (0.375 / 4) ** 2))
    assert_is(found.interval, bounded(0.875, found.cautious_stderr))


def test_clopper_and_pearson_by_hand():
    # 0 of 10: (1 - p)^10 = 0.025. 10 of 10: p^10 = 0.025.
    assert_is(clopper_pearson(0, 10), (0, 1 - 0.025**0.1))
    assert_is(clopper_pearson(10, 10), (0.025**0.1, 1))


def test_a_higher_level_has_a_wider_interval():
    # cora of questions that are right in all variants, in the original only, or wrong in the original
    outcomes = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    before, after = (product_of(*np.repeat(outcomes, counts, axis=0).T) for counts in ((5, 3, 4), (5, 2, 5)))
    levels = (0.1, 0.5, 1.0, 1.96, 3.0, 6.0)
    for make in (
        lambda z: wilson(3, 10, z),
        lambda z: tango(3, 1, 10, z),
        lambda z: bounded(0.3, 0.1, z=z),
        lambda z: unvaried(0.3, 10, z=z),
        lambda z: difference(before, after, z=z)[2:],
    ):
        lows, highs = zip(*map(make, levels), strict=True)
        assert list(lows) == sorted(lows, reverse=True)
        assert list(highs) == sorted(highs)
        assert -1 <= lows[-1] <= highs[-1] <= 1


@pytest.mark.parametrize(("a", "b"), [(0.5, 3), (30, 71.5), (1e5, 3.5), (4e6, 1e6), (7, 1e7)])
def test_quantiles_of_beta_distributions_are_those_of_scipy(a, b):
    for tail in (0.1, 0.025, 1e-6):
        x, rest = beta_quantile(a, b, tail)
        assert x == pytest.approx(betaincinv(a, b, tail), rel=1e-10)
        assert rest == pytest.approx(1 - x, rel=1e-9)


@pytest.mark.parametrize("successes", [0, 5e-6, 3.5, 44_004])
def test_an_interval_is_wider_the_smaller_its_tails_are_however_small(successes):
    ends = [clopper_pearson(successes, 44_004, tail) for tail in (0.4, 0.025, 1e-17, 1e-137, 1e-300, 0.0)]
    lows, highs = zip(*ends, strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)
    assert ends[-1] == (0, 1)
