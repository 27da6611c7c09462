"""Abstentions and order gaps: values and errors worked out by hand."""

from math import isnan, sqrt

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics import abstained, acc_answered, answered, order_gap, penalised
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import ABSTAIN, Question
from lm_eval_cora.variants.abstain import abstain
from tests.support.tables import OF_PROBE, answer_to, assert_is, table_of

OF = OF_PROBE["abstain"]


def asked(*picks):
    """One question per triple of picks: in the original, with "I don't know", and with the warning. 0 is right."""
    variants = abstain(Question("q", "Which?", ("Ice", "Fog", "Dew"), 0))
    rows = [
        [answer_to(one, f"q{number}", 3, pick) for one, pick in zip(variants, row, strict=True)]
        for number, row in enumerate(picks)
    ]
    return table_of(rows)


FIVE = asked(
    (0, 0, 0),  # knows
    (0, ABSTAIN, 0),  # abstains where it would be right
    (1, ABSTAIN, ABSTAIN),  # and where it would be wrong
    (1, 2, ABSTAIN),
    (None, None, ABSTAIN),  # an invalid answer is wrong, and no abstention
)
EXPECTED = {
    "mcqa": (2 / 5, sqrt(2 / 5 * 3 / 5 / 4)),
    "answered": (3 / 5, sqrt(3 / 5 * 2 / 5 / 4)),
    "acc_answered": (1 / 3, sqrt(1 / 3 * 2 / 3 / 2)),
    "abstained_when_wrong": (1 / 3, sqrt(1 / 3 * 2 / 3 / 2)),
    "abstained_when_right": (1 / 2, sqrt(1 / 2 * 1 / 2 / 1)),
    # 1, 0, 0, -1, -1: squares of the deviations from -1/5 are 36, 1, 1, 16, 16, / 25
    "penalised": (-1 / 5, sqrt(70 / 25 / 4 / 5)),
    "answered_warned": (2 / 5, sqrt(2 / 5 * 3 / 5 / 4)),
    "abstained_when_wrong_warned": (1, None),
    "abstained_when_right_warned": (0, None),
    "acc_answered_warned": (1, None),
    "penalised_warned": (2 / 5, sqrt(2 / 5 * 3 / 5 / 4)),
    "invalid": (2 / 15, None),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_metrics_of_five_questions(name):
    value, error = EXPECTED[name]
    found = OF[name](FIVE)
    assert_is(found, value, found.stderr if error is None else error)
    assert 0 < found.stderr < 1


def test_the_cost_of_a_wrong_answer_is_a_parameter():
    once = FIVE.where(~FIVE.is_kind("abstain_warned"))
    assert [penalised(once, cost=cost).value for cost in (0, 0.5, 3)] == pytest.approx([1 / 5, 0, -1])
    assert penalised(once, cost=3).interval[0] >= -3


def test_the_option_does_not_change_the_level_of_chance():
    assert metrics.chance(FIVE).value == pytest.approx(1 / 3)
    # An abstention cannot be compared with the original, which lacks the option.
    assert isnan(metrics.consistency_rate(asked((0, ABSTAIN, ABSTAIN)).where(np.array([True, True, False]))).value)


def test_without_such_variants_all_are_undefined():
    table = ResponseTable.from_hits([[1, 0], [0, 1]])
    values = [one(table).value for one in (answered, acc_answered, penalised)]
    assert all(map(isnan, [*values, abstained(table, right=True).value]))


# ---- gaps
def test_the_gap_of_the_published_order_is_paired():
    # x_i - share of the others: 1 - 1/3, 1 - 1, 0 - 0: mean 2/9, squares (4/9)^2 + 2 (2/9)^2 = 24/81, / 2, / 3
    table = ResponseTable.from_hits([[1, 1, 0, 0], [1, 1], [0, 0, 0]])
    assert_is(order_gap(table), 2 / 9, sqrt(24 / 81 / 6))
    assert order_gap(table).interval[0] < 0 < order_gap(table).interval[1]


def test_the_gap_is_negative_if_other_orders_help_and_undefined_without_one():
    assert order_gap(ResponseTable.from_hits([[0, 1], [0, 1], [0, 0]])).value == pytest.approx(-2 / 3)
    for nothing in (ResponseTable.from_hits([[1], [0]]), ResponseTable.from_hits([[1, 0]], original=None)):
        assert isnan(order_gap(nothing).value)
