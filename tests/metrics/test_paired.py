"""Differences between two sets of answers to the same questions, and McNemar's test."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import hypot, inf, isnan, sqrt
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics import difference, mcnemar
from lm_eval_cora.metrics.estimate import UNDEFINED, mean_of, ratio_of, share_of
from lm_eval_cora.metrics.paired import differs, pairwise
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import oracles
from tests.support import oracles_compare as compared
from tests.support.tables import METRICS, Members, estimates, few_questions, table_of


def differences(chosen, before, after):
    one, other = estimates(chosen, before), estimates(chosen, after)
    return {name: difference(one[name], other[name]) for name in one if name in other}


def test_interval_of_a_difference_of_means_by_hand():
    # Differences 1/2, 0, 0: mean 1/6, variance 1/12, error 1/6. The farthest is 1/3 from the mean: one more such
    # question gives sqrt(1/36 + 1/81) = 0.2003.
    before, after = mean_of(np.array([0.0, 1.0, 0.0])), mean_of(np.array([0.5, 1.0, 0.0]))
    half = 1.9599640 * sqrt(1 / 36 + 1 / 81)
    assert difference(before, after) == pytest.approx((1 / 6, 1 / 6, 1 / 6 - half, 1 / 6 + half), abs=1e-7)
    assert difference(before, after, z=9)[2:] == (-1, 1)


def test_a_difference_of_identical_runs_without_limits():
    score = mean_of(np.array([3.0, 8.0, 5.0]), between=(3.0, 8.0))
    # The share z^2 / (3 + z^2) of the questions could differ by up to 5.
    assert difference(score, score)[2:] == pytest.approx((-5 * 3.8414588 / 6.8414588, 5 * 3.8414588 / 6.8414588))
    # With infinite limits it is unknown.
    ratio = ratio_of(np.array([1.0, 2.0]), np.array([1.0, 3.0]), between=(0.0, inf))
    assert all(map(isnan, difference(ratio, ratio)[1:]))


@mock.patch("lm_eval_cora.metrics.estimate.REPLICATES", 40)  # it holds for any number of samples
@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_means_agree_with_differences_within_questions(seed):
    members = few_questions("divergent", seed, least=2)
    after = answered_again(members, seed)
    plain: dict[str, Callable[[Members], float]]
    plain = {name: getattr(oracles, name) for name in ("mcqa", "mcqa_plus", "mv", "ci")}
    plain |= {f"bmca@{level}": partial(oracles.bmca, level=level) for level in (0.7, 1.0)}
    found = differences({name: METRICS[name] for name in plain}, table_of(members), table_of(after))
    for name, metric in plain.items():
        values = ([float(metric([records])) for records in answers] for answers in (members, after))
        value, error = compared.mean_difference(*values)
        if error < 1e-12 and not (name == "ci" and max(map(len, members)) == 1):  # no question differs from the others
            error = (found[name].high - found[name].low) / 3.919928
            assert error > 0, name
        assert found[name][:2] == pytest.approx((value, error), rel=1e-5, abs=1e-12), name


@mock.patch("lm_eval_cora.metrics.estimate.REPLICATES", 40)
@settings(max_examples=30)
@given(st.integers(0, 10_000), st.booleans())
def test_the_p_value_is_below_5_percent_exactly_if_the_interval_excludes_0(seed, in_passages):
    members = few_questions("divergent", seed, least=2)
    tables = [table_of(each) for each in (members, answered_again(members, seed))]
    if in_passages:
        tables = [replace(table, clusters=tuple(str(n // 2) for n in range(len(members)))) for table in tables]
    before, after = (estimates(METRICS, table) for table in tables)
    for name in before:
        pair = pairwise([before[name], after[name]])[0, 1]
        assert (pair.p_value < 0.05) == differs(pair.change), (name, pair)
        assert isnan(pair.p_value) == isnan(pair.change.low) == (not pair.method), (name, pair)


def answered_again(members, seed):
    """Return the same variants with other answers to about half of them."""
    rng = random.Random(seed)

    def again(record):
        if rng.random() < 0.5:
            return record
        picked = rng.choice([None, *record.printed])
        position = None if picked is None else record.printed.index(picked)
        return replace(record, picked=picked, position=position, tied=not record.tied)

    return [[again(record) for record in records] for records in members]


def test_one_question_has_a_difference_without_an_error():
    before, after = ResponseTable.from_hits([[1, 0, 0]]), ResponseTable.from_hits([[1, 1, 0]])
    found = differences({name: METRICS[name] for name in METRICS if name != "letter_mass"}, before, after)
    # 1/3 before, 2/3 after; the only kind besides the original rises from 0 to 1/2.
    assert found["mcqa_plus"].value == pytest.approx(1 / 3)
    assert found["acc_min"].value == pytest.approx(1 / 2)
    for name, (value, *rest) in found.items():
        assert not isnan(value), name
        assert all(map(isnan, rest)), name


def test_the_interval_of_two_differences_counts_a_question_as_far_as_the_farthest_of_either():
    hits = np.repeat(np.random.default_rng(0).random((1, 40, 5)) < 0.7, 2, axis=0)
    hits[1, :3, 4] ^= True
    before, after = (metrics.mcqa_plus_diff(ResponseTable.from_hits(each)) for each in hits)
    found = difference(before, after)
    influences = before.influence, after.influence, after.influence - before.influence
    farthest = max(np.abs(influence).max() for influence in influences)
    assert found.high - found.value == pytest.approx(1.959964 * hypot(found.stderr, farthest / 40))


def test_a_metric_that_is_undefined_on_one_side_has_no_difference():
    # The error of a mean over one question is undefined, and so is the error of a difference to it.
    values = np.array([0.2, 0.4, 0.6])
    one, defined = mean_of(values, np.array([True, False, False])), mean_of(values)
    assert isnan(one.stderr)
    for before, after in ((one, one), (one, defined), (defined, one)):
        assert isnan(difference(before, after).stderr)
    assert all(map(isnan, (*difference(defined, UNDEFINED), *difference(UNDEFINED, defined))))


# `difference` is not tried with one question: its error is undefined, so `difference` does not pair it.
@pytest.mark.parametrize(("compare", "one", "other"), [(difference, 3, 5), (mcnemar, 3, 5), (mcnemar, 1, 5)])
def test_estimates_of_different_numbers_of_questions_are_refused(compare, one, other):
    with pytest.raises(ValueError, match=rf"{one}\D+{other}|{other}\D+{one}"):
        compare(share_of(np.ones(one, dtype=np.bool_)), share_of(np.zeros(other, dtype=np.bool_)))


def shares(before, after):
    return share_of(np.array(before, dtype=np.bool_)), share_of(np.array(after, dtype=np.bool_))


@pytest.mark.parametrize(
    ("lost", "gained", "p_value"),
    [
        (0, 0, 1),  # nothing changed
        (0, 4, 1 / 16),  # 2 * (1/16) / 2
        (1, 1, 1),  # 2 * 1/4, and all of 1/2: both directions are the same split
        (8, 1, 11 / 512),  # 9 changes in one direction: 1 of 2^9 ways; 8: 9 ways, half counts: 2 * (1 + 9/2) / 512
    ],
)
def test_p_values_by_hand(lost, gained, p_value):
    found = mcnemar(*shares([1] * lost + [0] * gained + [1, 0], [0] * lost + [1] * gained + [1, 0]))
    assert found == (lost, gained, pytest.approx(p_value))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_agrees_with_its_oracle(answers):
    before, after = zip(*answers, strict=True)
    found = mcnemar(*shares(before, after))
    assert found == pytest.approx(compared.mcnemar(before, after))
    assert 0 < found.p_value <= 1
    assert mcnemar(*shares(after, before)) == (found.gained, found.lost, found.p_value)


def test_shares_of_a_subset_are_tested_if_both_have_the_same_subset():
    right, some = np.array([True, True, False, False]), np.array([True, False, True, False])
    # First lost, third gained.
    assert mcnemar(share_of(right, some), share_of(~right, some)) == (1, 1, 1)
    # Shares of different subsets, such as the questions that a model answered right, cannot be tested.
    assert mcnemar(share_of(right, some), share_of(~right, ~some)) is None
    assert mcnemar(share_of(right), share_of(right, some)) is None


def test_mcnemar_does_not_apply_to_other_metrics_than_shares_of_questions():
    table = ResponseTable.from_hits([[1, 0], [1, 1], [0, 0], [0, 1]])
    share = metrics.mcqa(table)
    for other in (*(METRICS[name](table) for name in ("mcqa_plus", "acc", "cora", "core", "acc_min")), UNDEFINED):
        assert mcnemar(share, other) is mcnemar(other, share) is None


def test_the_interval_excludes_0_if_and_only_if_the_test_rejects():
    # All numbers of lost and gained questions up to 40. Neither p nor whether Tango's interval excludes 0 depends on
    # N: at d = 0 the condition is (gained - lost)^2 <= z^2 (lost + gained). So one N for each is enough.
    for lost, gained in ((lost, changes - lost) for changes in range(41) for lost in range(changes + 1)):
        same = [0] * max(2 - lost - gained, 60 - lost - gained if lost % 2 else 0)
        before, after = shares([1] * lost + [0] * gained + same, [0] * lost + [1] * gained + same)
        found, test = difference(before, after), mcnemar(before, after)
        assert -1 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high
        assert (found.low > 0 or found.high < 0) == (test.p_value < 0.05), (lost, gained)
        at_90 = difference(before, after, z=1.6448536)
        assert (at_90.low > 0 or at_90.high < 0) == (test.p_value < 0.1), (lost, gained)
