from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.metrics import acc, only_own, own_score, unrecognised
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.oracles_errors import bootstrap_error

SCORES = st.sampled_from([0.0, 0.5, 1.0, nan])
QUESTIONS = st.lists(st.lists(st.tuples(st.booleans(), SCORES), min_size=1, max_size=3), min_size=2, max_size=4)


def table_of(questions):
    hits = [[float(right) for right, _ in answers] for answers in questions]
    own = np.array([score for answers in questions for _, score in answers])
    return ResponseTable.from_hits(hits, original=None, own=own)


@given(QUESTIONS)
def test_values_and_errors_agree_with_an_oracle(questions):
    table = table_of(questions)
    known = [[(right, score) for right, score in answers if not isnan(score)] for answers in questions]
    pairs = [pair for answers in known for pair in answers]
    for metric, value in (
        (own_score, lambda right, score: score),
        (unrecognised, lambda right, score: max(0.0, right - score)),
        (only_own, lambda right, score: max(0.0, score - right)),
    ):
        if not pairs:
            assert isnan(metric(table).value)
            continue
        assert metric(table).value == pytest.approx(sum(value(*pair) for pair in pairs) / len(pairs))
    if len(pairs) == len(table.correct):
        parts = own_score(table).value + unrecognised(table).value - only_own(table).value
        assert acc(table).value == pytest.approx(parts)


def test_the_error_is_that_of_questions():
    rows = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, 0.0)]
    table = table_of([[(True, one), (False, other)] for one, other in rows])
    expected = bootstrap_error(lambda one, other: (one + other) / 2, rows)
    assert own_score(table).stderr == pytest.approx(expected)
