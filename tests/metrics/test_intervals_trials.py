"""Intervals of means of several answers: the number of trials that varies as much, and coverage of small samples."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from lm_eval_cora.metrics import acc_max, macro_acc
from lm_eval_cora.metrics.intervals import trials_with_error, wilson, wilson_with_error
from lm_eval_cora.responses import ResponseTable


@given(st.integers(2, 5_000), st.data())
def test_a_share_of_questions_has_as_many_trials_as_questions(questions: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, questions))
    share = right / questions
    error = sqrt(share * (1 - share) / (questions - 1))
    assert trials_with_error(share, error, questions) == pytest.approx(questions)
    assert wilson_with_error(share, error, questions) == pytest.approx(wilson(right, questions))


def test_trials_by_hand() -> None:
    # 40 questions with 0.25 and two each with 0 and 1: mean 12 / 44 = 3/11. Squares 40 * (1/44)^2 + 2 (9 + 64) / 121
    # = (2.5 + 146) / 121 = 148.5 / 121, times 1/44 is the variance. A share of 3/11 has 24/121: 24 / 148.5 * 44 = 7.11
    # times as much, so 40 questions count as 284 trials.
    assert trials_with_error(0.25, 0.0, 40) == pytest.approx(40 * 44 * 24 / 148.5)
    # Ten questions with 0.6: mean 8 / 14 = 4/7. Squares 10 * (1/35)^2 + 2 (16 + 9) / 49 = 1.0286, times 1/14 is the
    # variance. A share of 4/7 has 12/49: 10 questions count as 10 * 14 * 12/49 / 1.0286 = 33.3 trials.
    assert trials_with_error(0.6, 0.0, 10) == pytest.approx(33.333, abs=0.001)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 300))
def test_an_interval_contains_the_value_and_has_a_width(share: float, part: float, questions: int) -> None:
    error = part * sqrt(share * (1 - share) / (questions - 1))
    low, high = wilson_with_error(share, error, questions)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1
    assert high - low > 1e-4


def drawn(rng: np.random.Generator, questions: int, accuracy: float, kinds: int, variants: int) -> ResponseTable:
    """Return answers that are alike within a kind of a question, and less so between its kinds."""
    shape = questions, kinds, variants
    latent = sqrt(0.5) * rng.standard_normal((questions, 1, 1)) + sqrt(0.4) * rng.standard_normal((*shape[:2], 1))
    right = latent + sqrt(0.1) * rng.standard_normal(shape) < ndtri(accuracy)
    return ResponseTable.from_columns(
        [f"q{number:04d}" for number in range(questions)],
        np.full(questions, kinds * variants),
        right.ravel(),
        kinds=[f"kind {number}" for number in range(kinds)],
        kind=np.tile(np.repeat(np.arange(kinds), variants), questions),
    )


def test_coverage_of_the_highest_of_kinds_with_several_variants() -> None:
    # The kind with the fewest misses has few questions that differ. 0.95 - 3 * sqrt(0.95 * 0.05 / 200) = 0.904.
    rng, held = np.random.default_rng(0), 0
    with mock.patch("lm_eval_cora.metrics.extremes.bootstrap", return_value=np.ones((2, 2))):  # no errors needed
        for _ in range(200):
            low, high = acc_max(drawn(rng, 100, 0.97, kinds=8, variants=4)).interval
            held += low <= 0.97 <= high
    assert held / 200 > 0.904


def test_coverage_of_macro_acc_with_categories_of_one_and_two_questions() -> None:
    # The two questions of a category are often alike, so its variance is often 0.
    rng, held = np.random.default_rng(0), 0
    categories = tuple(name for name, count in {"a": 1, "b": 2, "c": 40, "d": 80}.items() for _ in range(count))
    for _ in range(200):
        table = drawn(rng, 123, 0.7, kinds=1, variants=1)
        low, high = macro_acc(replace(table, categories=categories)).interval
        held += low <= 0.7 <= high
    assert held / 200 > 0.904
