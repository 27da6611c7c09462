"""Influences of the questions on an estimate, compared with leaving one question out; and outcomes by question."""

from math import isnan, sqrt

import numpy as np
import pytest

from lm_eval_cora.metrics.estimate import mean_of, ratio_of, share_of, standard_error
from tests.support.tables import MADE, QUESTIONS, estimates, found_in, made, resampled, without_errors

NO_CLOSED_FORM = ("acc_min", "acc_max", "macro_acc_min", "macro_acc_max", "recall_spread", "position_cramers_v")
OF_A_TEST = ("recall_spread_by_chance", "acc_range", "macro_acc_range", "position_chi_square", "position_p_value")


@pytest.mark.parametrize("probe", MADE)
def test_every_estimate_with_an_error_has_influences_or_an_interval_of_its_own(probe):
    for name, estimate in found_in(probe).items():
        if name.startswith(OF_A_TEST):
            assert isnan(estimate.stderr), name
            assert estimate.influence is None, name
        elif name.startswith(NO_CLOSED_FORM):
            assert estimate.influence is None, name
            assert estimate.ends is not None, name
        else:
            assert isnan(estimate.stderr) or estimate.influence is not None, name


@pytest.mark.parametrize("probe", MADE)
def test_influences_give_the_error(probe):
    means = 0
    for name, estimate in found_in(probe).items():
        if estimate.influence is None:
            continue
        assert estimate.influence.shape == (QUESTIONS,), name
        assert np.isfinite(estimate.influence).all(), name
        largest = np.abs(estimate.influence).max()
        assert estimate.influence.sum() == pytest.approx(0, abs=1e-9 * QUESTIONS * max(largest, 1)), name
        if isnan(estimate.stderr):
            continue
        error = standard_error(estimate.influence)
        assert error == pytest.approx(np.std(estimate.influence, ddof=1) / sqrt(QUESTIONS)), name
        if error < 1e-12:  # no question differs: the error is the width of the interval / (2 * 1.96)
            low, high = estimate.interval
            assert estimate.stderr == pytest.approx((high - low) / 3.919928, rel=1e-5), name
        elif estimate.products:  # products add parts of second order
            assert estimate.stderr == pytest.approx(error, rel=0.2), name
        else:  # n / (n - 1) of a subset of n questions instead of N / (N - 1)
            means += 1
            size = 1 / (1 - (1 - 1 / QUESTIONS) * (error / estimate.stderr) ** 2)
            assert size == pytest.approx(round(size), rel=1e-6), name
            assert np.count_nonzero(estimate.influence) <= round(size) <= QUESTIONS, name
            if estimate.outcomes is not None:
                assert round(size) == np.count_nonzero(~np.isnan(estimate.outcomes)), name
    assert means > 2


@pytest.mark.parametrize("probe", MADE)
def test_influences_agree_with_leaving_a_question_out(probe):
    (chosen, table), whole = made(probe), found_in(probe)
    kept = {name for name, estimate in whole.items() if estimate.influence is not None}
    assert len(kept) > 5
    chosen = {name: metric for name, metric in chosen.items() if any(key.split()[0] == name for key in kept)}
    changes, left_out = {name: [] for name in kept}, range(0, QUESTIONS, 2)
    with without_errors():
        for place in left_out:
            rest = estimates(chosen, resampled(table, np.delete(np.arange(QUESTIONS), place)))
            for name in kept:
                # The factor N - 1 is exact for a mean.
                without = rest[name].value if name in rest else np.nan
                changes[name].append((QUESTIONS - 1) * (whole[name].value - without))
    for name in kept:
        change, influence = np.array(changes[name]), whole[name].influence[left_out]
        if np.isnan(change).any():  # undefined without this question
            assert isnan(whole[name].stderr) or np.isnan(change).sum() == 1, name
            continue
        largest = np.abs(influence).max()
        # A subset of n questions has influences of about N / n. The second-order term is their square / N.
        assert change == pytest.approx(influence, abs=4 * (largest**2 + largest) / QUESTIONS + 1e-9), name
        if largest > 1e-9 and np.abs(change).max() > 1e-9:
            assert np.corrcoef(change, influence)[0, 1] > 0.98, name


@pytest.mark.parametrize("probe", MADE)
def test_the_mean_of_the_outcomes_is_the_value(probe):
    shares = 0
    for name, estimate in found_in(probe).items():
        if estimate.outcomes is None or isnan(estimate.value):
            continue
        shares += 1
        assert estimate.outcomes.shape == (QUESTIONS,), name
        counted = estimate.outcomes[~np.isnan(estimate.outcomes)]
        assert set(counted.tolist()) <= {0.0, 1.0}, name
        assert counted.mean() == pytest.approx(estimate.value), name
    assert shares >= 1


def test_a_share_of_some_questions():
    found = share_of(np.array([True, False, True]), np.array([True, True, False]))
    assert found.value == 0.5
    assert found.outcomes[:2].tolist() == [1, 0]
    assert np.isnan(found.outcomes[2])
    members = np.array([1.0, 1.0, 0.0])
    assert ratio_of(np.array([1.0, 0.0, 0.0]), members).interval == found.interval
    # Several answers, an answer that is not 0 or 1, and a change that may be -1 are no shares of questions.
    assert ratio_of(np.array([1.0, 0.0, 1.0]), np.array([1.0, 2.0, 1.0])).outcomes is None
    assert mean_of(np.array([1.0, 0.5, 0.0])).outcomes is None
    assert mean_of(np.array([1.0, 0.0, 0.0]), between=(-1.0, 1.0)).interval[0] < 0
