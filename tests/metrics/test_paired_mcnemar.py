"""McNemar's test: values worked out by hand, its oracle, and estimates that it does not apply to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics import Estimate, McNemar, mcnemar
from lm_eval_cora.metrics.estimate import UNDEFINED, share_of
from lm_eval_cora.responses import ResponseTable
from tests.support import oracles
from tests.support import oracles_compare as compared
from tests.support.paired import Members, some_changed
from tests.support.tables import METRICS, random_questions, table_of


def shares(before: Sequence[float], after: Sequence[float]) -> tuple[Estimate, Estimate]:
    return share_of(np.array(before, dtype=np.bool_)), share_of(np.array(after, dtype=np.bool_))


def test_one_lost_and_eight_gained() -> None:
    # 9 changes, of which 8 or more in one direction: 9 + 1 of 2^9 ways; twice for both directions: 2 * 10 / 512.
    before = [1] + [0] * 8 + [1] * 5 + [0] * 4
    after = [0] + [1] * 8 + [1] * 5 + [0] * 4
    assert mcnemar(*shares(before, after)) == (1, 8, pytest.approx(0.0390625))
    assert mcnemar(*shares(after, before)) == (8, 1, pytest.approx(0.0390625))


@pytest.mark.parametrize(
    ("lost", "gained", "p_value"),
    [
        (0, 0, 1),  # nothing changed
        (1, 0, 1),  # 2 * 1/2
        (0, 2, 1 / 2),  # 2 * 1/4
        (0, 5, 1 / 16),  # 2 * 1/32
        (1, 1, 1),  # 2 * 3/4 is more than 1
        (3, 3, 1),
        (1, 3, 5 / 8),  # 2 * (4 + 1) / 16
        (2, 6, 37 / 128),  # 2 * (28 + 8 + 1) / 256
    ],
)
def test_p_values_by_hand(lost: int, gained: int, p_value: float) -> None:
    before = [1] * lost + [0] * gained + [1, 0]
    after = [0] * lost + [1] * gained + [1, 0]
    found = mcnemar(*shares(before, after))
    assert isinstance(found, McNemar)
    assert found == (lost, gained, pytest.approx(p_value))


def test_mcnemar_of_mcqa_by_hand() -> None:
    # Originals 1, 1, 0, 0, 1 and then 0, 1, 1, 1, 1: one lost, two gained, 2 * (3 + 1) / 8 = 1.
    before = ResponseTable.from_hits([[1, 0], [1, 1], [0, 0], [0, 1], [1, 1]])
    after = ResponseTable.from_hits([[0, 0], [1, 0], [1, 0], [1, 0], [1, 0]])
    assert mcnemar(metrics.mcqa(before), metrics.mcqa(after)) == (1, 2, 1)
    # Right in all variants: questions 2 and 5, then none: two lost, 2 * 1/4.
    full = (metrics.bmca(table, level=1.0) for table in (before, after))
    assert mcnemar(*full) == (2, 0, 0.5)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_agrees_with_its_oracle(answers: list[tuple[bool, bool]]) -> None:
    before, after = zip(*answers, strict=True)
    found = mcnemar(*shares(before, after))
    assert found == pytest.approx(compared.mcnemar(before, after))
    assert 0 < found.p_value <= 1
    back = mcnemar(*shares(after, before))
    assert back == (found.gained, found.lost, found.p_value)


def test_ten_thousand_changes_have_a_p_value() -> None:
    # 5,100 and 4,900 are 100 from the middle; the standard deviation is sqrt(10,000) / 2 = 50. With the continuity
    # correction 99.5 / 50 = 1.99, and the normal distribution gives 2 * 0.0233 = 0.0466.
    found = mcnemar(*shares([1] * 4_900 + [0] * 5_100, [0] * 4_900 + [1] * 5_100))
    assert found == (4_900, 5_100, pytest.approx(0.0466, abs=2e-4))


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


def test_mcnemar_of_the_metrics_that_are_shares_of_questions() -> None:
    before, after = some_changed(lambda seed: random_questions(50, 6, seed), 3)
    one, other = table_of(before), table_of(after)
    plain: dict[str, Callable[[Members], float]] = {
        "mcqa": oracles.mcqa,
        "mv": oracles.mv,
        "ci": oracles.ci,
        "bmca@0.5": partial(oracles.bmca, tenths=5),
        "bmca@1.0": partial(oracles.bmca, tenths=10),
    }
    for name, metric in plain.items():
        counted = ([metric([records]) == 1 for records in answers] for answers in (before, after))
        expected = compared.mcnemar(*counted)
        assert min(expected[:2]) > 0, name
        assert mcnemar(METRICS[name](one), METRICS[name](other)) == pytest.approx(expected), name
