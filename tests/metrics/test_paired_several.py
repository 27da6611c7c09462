"""Several models or estimates: p-values and intervals that hold together, and the models that lead."""

from dataclasses import replace
from itertools import combinations
from math import isnan, nan

import numpy as np
import pytest
from scipy.stats import norm

from lm_eval_cora import metrics
from lm_eval_cora.metrics import acc_min
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of, share_of
from lm_eval_cora.metrics.paired import (
    difference,
    differences_together,
    differs,
    distinguishable_groups,
    leading,
    p_value,
    pairwise,
    together,
)
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.tables import hits


def cora_of(seed, keeps, questions=60):
    """CoRA of a model that knows 7 of 10 questions and answers a variant of them correctly with a probability."""
    rng = np.random.default_rng([seed, int(1000 * keeps)])
    return metrics.cora((rng.random((questions, 1)) < 0.7) & (rng.random((questions, 6)) < keeps))


def test_adjusted_p_values_by_hand():
    # 7, 10 and 3 of 40 questions change, all in one direction: alone 2^-7, 2^-10 and 2^-3. Together they are at most
    # three times as large, and a small one is.
    first, second, third = (share_of(np.arange(40) < right) for right in (10, 17, 20))
    pairs = list(pairwise([first, second, third]).values())
    assert [pair.p_value for pair in pairs] == [2**-7, 2**-10, 2**-3]
    assert 2 * 2**-7 < pairs[0].p_together < 3 * 2**-7
    assert pairs[1].p_together == 3 * 2**-10
    assert 2 * 2**-3 < pairs[2].p_together < 1 - (1 - 2**-3) ** 3
    assert pairwise([first, third])[0, 1].p_together == 2**-10


@pytest.mark.parametrize("models", [2, 3, 10])
def test_the_adjusted_p_value_and_the_interval_of_a_pair_agree(models):
    rng, told = np.random.default_rng(models), set()
    for _ in range(25):
        known = (rng.random((100, 1)) < rng.choice([0.5, 0.6, 0.7], models)) ^ (rng.random((100, models)) < 0.1)
        of_pairs = [metrics.cora(np.stack([right, right & known[:, 0]], axis=1)) for right in known.T]
        for pair in (pair for own in (shares(known), of_pairs) for pair in pairwise(own).values()):
            assert (pair.p_together < 0.05) == differs(pair.together), pair
            assert (pair.p_value < 0.05) == differs(pair.change), pair
            told.add(differs(pair.together))
    assert len(told) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (cora_of(1, 0.97), cora_of(101, 0.9)),
        (mean_of(np.tile([0.2, 0.9], 20)), mean_of(np.tile([0.1, 0.8], 20))),  # no question differs
    ],
)
def test_the_interval_at_the_level_of_the_p_value_ends_at_zero(one, other):
    z = norm.isf(p_value(one, other) / 2)
    assert differs(difference(one, other, z=0.99 * z))
    assert not differs(difference(one, other, z=1.01 * z))


def by_swaps(one, other, cluster, rng):
    """Oracle: share of 4,000 random swaps of the two models' answers to a passage with at least this difference.

    If the models are equally good, who gave which answer does not matter.
    """
    is_swapped = (rng.random((4_000, cluster.max() + 1)) < 0.5)[:, cluster]
    is_swapped[0] = False  # the answers as they are

    def cora(first, second):
        m, b = (np.where(is_swapped, *pair).mean(axis=1) for pair in zip(second, first, strict=True))
        return m * (1 - m + b)

    one, other = ((hits[:, 0], hits.all(axis=1)) for hits in (one, other))
    gaps = np.abs(cora(other, one) - cora(one, other))
    return (gaps >= gaps[0] - 1e-12).mean()


@pytest.mark.parametrize(
    ("questions", "size", "within"), [(300, 1, 0.02), (40, 1, 0.06), (12, 1, 0.25), (300, 5, 0.04)]
)
def test_the_normal_p_value_of_cora_is_that_of_random_swaps(questions, size, within):
    rng, cluster, found = np.random.default_rng(questions), np.arange(questions) // size, []
    clusters = tuple(map(str, cluster)) if size > 1 else ()
    for keeps in (0.9, 0.87, 0.83, 0.75):
        known = rng.random(cluster.max() + 1)[cluster] < 0.75
        both = [known[:, None] & (rng.random((questions, 3)) < each) for each in (0.9, keeps)]
        one, other = (metrics.cora(replace(ResponseTable.from_hits(hits), clusters=clusters)) for hits in both)
        pair, same = pairwise([one, other])[0, 1], pairwise([one, one])[0, 1]
        assert pair.method == ("t" if clusters else "normal")
        assert (same.value, same.p_value) == (0, 1)
        found.append((pair.p_value, pytest.approx(by_swaps(*both, cluster, rng), abs=within)))
    assert [p for p, _ in found] == [p for _, p in found]


def test_the_pairs_and_mcnemars_p_value_of_shares():
    one, other = (share_of(np.arange(40) < right) for right in (20, 29))
    pair = pairwise([one, other])[0, 1]
    assert (pair.test.lost, pair.test.gained, pair.p_value) == (0, 9, pair.test.p_value)
    models = [cora_of(seed, 0.9) for seed in range(4)]
    assert list(pairwise(models, baseline=2)) == [(2, 0), (2, 1), (2, 3)]
    assert len(pairwise(models)) == 6


def test_models_that_lead():
    good, alike, bad = (share_of(np.arange(50) < right) for right in (45, 44, 10))
    assert leading([bad, good, alike]) == {1, 2}
    assert leading([bad, good, alike], higher=False) == {0}
    assert leading([good]) == {0}
    assert leading([good, UNDEFINED]) == {0}
    assert leading([UNDEFINED, UNDEFINED]) == set()
    # Without an interval nobody leads.
    assert leading([Estimate(0.9, 0.01), Estimate(0.1, 0.01)]) == set()
    model = cora_of(3, 0.9)
    assert p_value(model, model) == 1.0
    assert leading([model, model, model]) == {0, 1, 2}


def test_intervals_of_leading_models_hold_for_all_pairs():
    rights = (50, 38, 37, 36, 35, 34)
    models = [share_of(np.roll(np.arange(60) < right, 10 * place)) for place, right in enumerate(rights)]
    changes = together(models, list(combinations(range(6), 2)))[:5]  # all with the first model, the best
    assert leading(models) == {0, *(k for k, change in enumerate(changes, 1) if not differs(change))} == {0, 2, 3, 4, 5}
    # With the narrower intervals of the five pairs alone the last two would be behind.
    assert [differs(change) for change in together(models, [(0, k) for k in range(1, 6)])][3:] == [True, True]


def test_undefined_estimates_give_undefined_pairs():
    first, second, _ = pairwise([cora_of(1, 0.9), UNDEFINED, cora_of(2, 0.9)]).values()
    assert all(map(isnan, (first.value, first.p_value, first.p_together)))
    assert (first.method, second.method) == ("", "normal")


@pytest.mark.parametrize("questions", [2, 4, 8, 30, 100])
def test_the_p_value_of_a_model_that_is_always_right(questions):
    """Its error is 0, so the interval ends at 0 far below difference / standard error."""
    always = metrics.cora(np.ones((questions, 3)))
    known = np.arange(questions) % 2 == 0
    weak = metrics.cora(np.stack([known, known & False], axis=1))
    p = p_value(weak, always)
    assert p == p_value(always, weak)
    assert (p < 0.05) is (difference(weak, always).low > 0)
    for factor, excludes in ((0.99, True), (1.01, False)):
        if 0 < p < 1:
            assert (difference(weak, always, z=factor * norm.isf(p / 2)).low > 0) is excludes


def test_groups_do_not_return_to_an_earlier_one():
    """The last model cannot be told apart from the first one, because its error is large, but the second can."""
    models = [Estimate(0.8, 0.01), Estimate(0.7, 0.01), Estimate(0.69, 0.2)]
    assert distinguishable_groups(models, paired=False) == [[0], [1, 2]]


def test_groups_without_errors():
    known, unknown = cora_of(1, 0.9), Estimate(0.5, nan)
    assert (
        distinguishable_groups([known, unknown])
        == distinguishable_groups([known, unknown], paired=False)
        == distinguishable_groups([])
        == []
    )
    scores_only = [Estimate(0.9, 0.01), Estimate(0.1, 0.01)]
    assert distinguishable_groups(scores_only) == []
    assert distinguishable_groups(scores_only, paired=False) == [[0], [1]]
    assert distinguishable_groups(scores_only, paired=False, higher=False) == [[1], [0]]
    assert distinguishable_groups([known]) == [[0]]


def test_unpaired_groups_by_hand():
    """With two models the quantile is 1.96. The error of the difference is 0.05, so 0.09 is within and 0.11 is not."""
    for gap, groups in ((0.09, [[0, 1]]), (0.11, [[0], [1]])):
        assert distinguishable_groups([Estimate(0.5, 0.03), Estimate(0.5 - gap, 0.04)], paired=False) == groups


def shares(rights):
    return [share_of(column) for column in rights.T]


def test_intervals_together_are_wider_than_each_alone():
    rng = np.random.default_rng(0)
    before, after = shares(rng.random((60, 6)) < 0.6), shares(rng.random((60, 6)) < 0.7)
    for joint, alone in zip(differences_together(before, after), map(difference, before, after), strict=True):
        assert (joint.value, joint.stderr) == (alone.value, alone.stderr)
        assert joint.low < alone.low <= alone.high < joint.high
    (single,) = differences_together(before[:1], after[:1])
    assert single == pytest.approx(difference(before[0], after[0]), abs=0.01)


def test_identical_models_and_kinds_that_do_not_vary():
    right = np.ones((40, 3), dtype=np.bool_)
    for found in differences_together(shares(right), shares(right)):
        assert found.value == 0
        # Alone, Tango's interval of 0 lost and 0 gained of 40 is 0.0876 to both sides.
        assert found.low < -0.0876 < 0.0876 < found.high


def test_an_estimate_without_a_closed_form_has_no_interval():
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
