"""McNemar's test: values worked out by hand, its oracle, and estimates that it does not apply to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics import Estimate, McNemar, difference, mcnemar
from lm_eval_cora.metrics.estimate import UNDEFINED, share_of
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import oracles_compare as compared
from tests.support.tables import METRICS, table_of


def shares(before: Sequence[float], after: Sequence[float]) -> tuple[Estimate, Estimate]:
    return share_of(np.array(before, dtype=np.bool_)), share_of(np.array(after, dtype=np.bool_))


def test_one_lost_and_eight_gained() -> None:
    # 9 changes. 9 in one direction: 1 of 2^9 ways, 8: 9 ways, of which half counts. Twice, for both directions:
    # 2 * (1 + 9 / 2) / 512 = 11 / 512.
    before = [1] + [0] * 8 + [1] * 5 + [0] * 4
    after = [0] + [1] * 8 + [1] * 5 + [0] * 4
    assert mcnemar(*shares(before, after)) == (1, 8, pytest.approx(11 / 512))
    assert mcnemar(*shares(after, before)) == (8, 1, pytest.approx(11 / 512))


@pytest.mark.parametrize(
    ("lost", "gained", "p_value"),
    [
        (0, 0, 1),  # nothing changed
        (1, 0, 1 / 2),  # 2 * (1/2) / 2
        (0, 2, 1 / 4),  # 2 * (1/4) / 2
        (0, 4, 1 / 16),  # 2 * (1/16) / 2
        (0, 5, 1 / 32),
        (1, 1, 1),  # 2 * 1/4, and all of 1/2: both directions are the same split
        (3, 3, 1),
        (1, 3, 3 / 8),  # 2 * (1 + 4/2) / 16
        (2, 6, 23 / 128),  # 2 * (1 + 8 + 28/2) / 256
    ],
)
def test_p_values_by_hand(lost: int, gained: int, p_value: float) -> None:
    before = [1] * lost + [0] * gained + [1, 0]
    after = [0] * lost + [1] * gained + [1, 0]
    found = mcnemar(*shares(before, after))
    assert isinstance(found, McNemar)
    assert found == (lost, gained, pytest.approx(p_value))


def test_mcnemar_of_mcqa_by_hand() -> None:
    # Originals 1, 1, 0, 0, 1 and then 0, 1, 1, 1, 1: one lost, two gained, 2 * (1 + 3/2) / 8 = 5/8.
    before = ResponseTable.from_hits([[1, 0], [1, 1], [0, 0], [0, 1], [1, 1]])
    after = ResponseTable.from_hits([[0, 0], [1, 0], [1, 0], [1, 0], [1, 0]])
    assert mcnemar(metrics.mcqa(before), metrics.mcqa(after)) == (1, 2, 5 / 8)
    # Right in all variants: questions 2 and 5, then none: two lost, 2 * (1/4) / 2.
    full = (metrics.bmca(table, level=1.0) for table in (before, after))
    assert mcnemar(*full) == (2, 0, 0.25)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_agrees_with_its_oracle(answers: list[tuple[bool, bool]]) -> None:
    before, after = zip(*answers, strict=True)
    found = mcnemar(*shares(before, after))
    assert found == pytest.approx(compared.mcnemar(before, after))
    assert 0 < found.p_value <= 1
    back = mcnemar(*shares(after, before))
    assert back == (found.gained, found.lost, found.p_value)


def test_shares_of_a_subset_are_tested_if_both_have_the_same_subset() -> None:
    right, some = np.array([True, True, False, False]), np.array([True, False, True, False])
    # First lost, third gained.
    assert mcnemar(share_of(right, some), share_of(~right, some)) == (1, 1, 1)
    # Shares of different subsets, such as the questions that a model answered right, cannot be tested.
    assert mcnemar(share_of(right, some), share_of(~right, ~some)) is None
    assert mcnemar(share_of(right), share_of(right, some)) is None


def test_mcnemar_does_not_apply_to_other_metrics_than_shares_of_questions() -> None:
    table = ResponseTable.from_hits([[1, 0], [1, 1], [0, 0], [0, 1]])
    share = metrics.mcqa(table)
    for metric in ("mcqa_plus", "acc", "cora", "core", "acc_min", "acc_max"):
        assert mcnemar(share, METRICS[metric](table)) is None, metric
        assert mcnemar(METRICS[metric](table), share) is None, metric
    assert mcnemar(share, UNDEFINED) is None
    assert mcnemar(metrics.mcqa(table_of([])), metrics.mcqa(table_of([]))) is None


def changed(lost: int, gained: int, questions: int) -> tuple[Estimate, Estimate]:
    same = questions - lost - gained
    return shares([1] * lost + [0] * gained + [0] * same, [0] * lost + [1] * gained + [0] * same)


def test_interval_and_test_of_four_of_thirty_agree() -> None:
    # 0 against 4 of 30: the p-value 1/16 is not below 0.05, so the interval contains 0. Tango's begins at 0.0047.
    before, after = changed(0, 4, 30)
    assert mcnemar(before, after).p_value == pytest.approx(1 / 16)
    found = difference(before, after)
    assert (found.value, found.low, found.high) == (pytest.approx(4 / 30), 0, pytest.approx(0.2968, abs=5e-5))


@pytest.mark.parametrize("changes", range(61))
def test_the_interval_excludes_0_if_and_only_if_the_test_rejects(changes: int) -> None:
    # All numbers of lost and gained questions up to 60. Neither p nor whether Tango's interval excludes 0 depends on
    # N: at d = 0 the condition is (gained - lost)^2 <= z^2 (lost + gained). So one N for each is enough.
    for lost in range(changes + 1):
        gained = changes - lost
        before, after = changed(lost, gained, max(2, changes, 60 if lost % 2 else changes))
        found, test = difference(before, after), mcnemar(before, after)
        assert -1 <= found.low <= found.value <= found.high <= 1
        assert found.low < found.high
        assert (found.low > 0 or found.high < 0) == (test.p_value < 0.05), (lost, gained)
