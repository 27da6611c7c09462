"""SCORE's aggregated row: values worked out by hand, and values from its tables."""

from math import isnan

import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.tables import A, B, C, asked, assert_is, hits, table_of

TEMPLATES = ["brief", "long", "single_letter_only"]


def test_the_aggregated_row():
    # Templates: brief 2/2, long 1/2; the third, 0/2, is dropped from the accuracies only.
    prompts = hits(["110", "100"], TEMPLATES)
    # Positions, with two options: A 1/2, B 2/2.
    order = table_of([asked("q000", [A, B], 2), asked("q001", [B, B], 2)])
    # Samples: 1/2, 0/2, 1/2.
    sampling = hits(["101", "000"])
    row = metrics.aggregated(prompts=prompts, order=order, sampling=sampling)
    # (1 + 1/2 + 1/2 + 1 + 1/2 + 0 + 1/2) / 7 = 4/7. By question: q0 1, 1, 1, 1, 1, 0, 1 = 6/7; q1 1, 0, 0, 1, 0, 0,
    # 0 = 2/7: sd 4/7 / sqrt(2), / sqrt(2).
    assert_is(row.acc_mean, 4 / 7, 2 / 7)
    assert (row.acc_min.value, row.acc_max.value) == (0, 1)
    assert (row.predictions, row.questions) == (7, 2)
    # Prompts, three templates: 1/3 each. Order: q0 picks 0, 0: 1; q1 1, 0 (option 1 is at B, then option 0): 0.
    # Sampling: 1/3 and 1. By question: (1/3 + 1 + 1/3) / 3 = 5/9, (1/3 + 0 + 1) / 3 = 4/9.
    assert_is(row.cr_all, 1 / 2, 1 / 18)
    # (1/3 + 1) / 2 = 2/3, (1/3 + 0) / 2 = 1/6.
    assert_is(row.cr_prompts_order, 5 / 12, 1 / 4)


def test_the_aggregated_row_without_questions():
    nothing = ResponseTable.from_records(())
    for probes in ({}, {"order": nothing}, {"prompts": hits(["111"], TEMPLATES), "order": nothing}):
        row = metrics.aggregated(**probes)
        assert all(isnan(value) for estimate in row[:5] for value in estimate)
        assert (row.predictions, row.questions) == (0, 0)


def test_the_error_if_all_answers_are_right_is_that_of_the_accuracy_with_the_fewest_questions():
    row = metrics.aggregated(order=table_of([asked("p", [A, B], 2), asked("q", [A, B, C], 3)]))
    # One question has C. Wilson's interval of 1 of 1 is z^2 / (1 + z^2) wide: 3.841459 / 4.841459 / (2 * 1.959964).
    assert tuple(row.acc_mean) == pytest.approx((1.0, 0.202415), abs=1e-6)
    assert isnan(metrics.aggregated(order=table_of([asked("p", [A, B], 2)])).acc_mean.stderr)  # one question
