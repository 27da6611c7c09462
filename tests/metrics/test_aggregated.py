"""SCORE's aggregated row without questions, and if all answers are right."""

from math import isnan

import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.tables import A, B, C, asked, hits, table_of

TEMPLATES = ["brief", "long", "single_letter_only"]


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
