"""Probabilities of "yes" in MCQA+ and REVAS: values worked out by hand."""

from __future__ import annotations

from math import exp, sqrt

import pytest

from lm_eval_cora import metrics
from tests.support.oracles_errors import ratio_error
from tests.support.study_answers import assert_is, of_some, original, scored, table


def test_option_probabilities_of_mcqa_plus_table_5() -> None:
    answers = table(
        original(0, 0) + scored((0.3008, 0.3008), (0.1, 0.3), (0.2496, 0.1664), (0.01, 0.99)),
        original(0, 0) + scored((0.4, 0.1), (0.4, 0.4), (0.1, 0.0), (0.0, 0.5)),
        original(0, 1) + scored((0.9, 0.1), (0.9, 0.1), (0.9, 0.1), (0.9, 0.1)),  # not always right
    )
    # C_c = (0.3008 + 0.4) / 2; N = 3; k - R m = -0.0496, 0.0496: sqrt(3/2 * 2) * 0.0496 / 2.
    assert_is(metrics.confidence_right(answers), 0.3504, of_some(sqrt(3) * 0.0248, 3, 2))
    # C_d = (0.2496 + 0.4) / 2, the largest value of each question.
    assert_is(metrics.confidence_wrong(answers), 0.3248, of_some(sqrt(3) * 0.0376, 3, 2))
    ratio = metrics.confidence_ratio(answers)
    assert round(100 * ratio.value, 2) == 92.69  # 32.48 / 35.04; the mean of the two ratios would be 91.49
    assert_is(ratio, 0.3248 / 0.3504, ratio_error([(0.2496, 0.3008), (0.4, 0.4), (0, 0)]))


def test_option_probabilities_normalised() -> None:
    answers = table(
        original(0, 0) + scored((0.3, 0.3), (0.1, 0.3), (0.2, 0.3), (0.01, 0.99)),  # 1/2; 1/4, 2/5, 1/100
        original(0, 0) + scored((0.4, 0.1), (0.1, 0.4), (0.01, 0.0), (0.0, 0.5)),  # 4/5; 1/5, 1, 0
        original(0, 1) + scored((0.9, 0.1), (0.9, 0.1), (0.9, 0.1), (0.9, 0.1)),  # not always right
    )
    # 1/2 and 4/5; 2/5 and 1: the largest share can belong to another option than the largest probability. N = 3:
    # sqrt(3) * half of the difference / 2.
    assert_is(metrics.confidence_right(answers, normalised=True), 0.65, of_some(sqrt(3) * 0.15 / 2, 3, 2))
    assert_is(metrics.confidence_wrong(answers, normalised=True), 0.7, of_some(sqrt(3) * 0.3 / 2, 3, 2))
    error = ratio_error([(0.4, 0.5), (1, 0.8), (0, 0)])
    assert_is(metrics.confidence_ratio(answers, normalised=True), 1.4 / 1.3, error)


def test_a_question_with_a_missing_probability_is_left_out() -> None:
    whole = original(0, 0) + scored((0.5, 0.25), (0.25, 0.5))
    for missing in (scored(None, (0.9, 0.1)), scored((0.9, 0.1), None)):
        answers = table(whole, original(0, 0) + missing)
        assert_is(metrics.confidence_right(answers), 0.5, float("nan"))
        assert_is(metrics.confidence_wrong(answers), 0.25, float("nan"))
        assert_is(metrics.confidence_ratio(answers), 0.5, float("nan"))
    # Both probabilities are 0: P(yes) is 0, and its share of the two is 0/0.
    answers = table(whole, original(0, 0) + scored((0.0, 0.0), (0.25, 0.5)))
    assert metrics.confidence_right(answers).value == 0.25
    assert metrics.confidence_right(answers, normalised=True).value == pytest.approx(2 / 3)
    assert metrics.confidence_wrong(answers, normalised=True).value == pytest.approx(1 / 3)


def test_a_probability_of_zero_is_a_probability() -> None:
    answers = table(*[original(0, 0) + scored((p, 0.1), (0.2, 0.5)) for p in (0.0, 0.8)])
    assert_is(metrics.confidence_right(answers), 0.4, 0.4)
    # R = 1/2: 0.2 - R * 0 = 0.2 and 0.2 - R * 0.8 = -0.2, sqrt(2 / 1 * 2 * 0.04) / 0.8.
    assert_is(metrics.confidence_ratio(answers), 0.5, 0.5)
    # Only zeros: the ratio is undefined.
    answers = table(*[original(0, 0) + scored((0.0, 0.1), (0.2, 0.5)) for _ in range(2)])
    # 0 of two questions: the interval goes up to z^2 / (2 + z^2) = 0.6576; / (2 * 1.96).
    assert_is(metrics.confidence_right(answers), 0.0, 3.8414588 / 5.8414588 / 3.9199280)
    assert_is(metrics.confidence_ratio(answers), float("nan"), float("nan"))


def test_probabilities_too_small_for_floats_still_have_a_share() -> None:
    parts = original(0, 0) + scored((0.5, 0.25), (0.25, 0.5))
    parts[2] |= {"yes": -800.0, "no": -801.0}
    answers = table(parts)
    assert metrics.confidence_right(answers).value == 0.0
    assert metrics.confidence_right(answers, normalised=True).value == pytest.approx(exp(1) / (exp(1) + 1))


def test_the_mass_on_yes_and_no() -> None:
    # P(yes) + P(no) of three variants: 1, 0.75, 0.5, whatever the answers to the original.
    answers = table(original(1, 1) + scored((0.75, 0.25), (0.5, 0.25), (0.25, 0.25)))
    assert metrics.yes_no_mass(answers).value == pytest.approx(0.75)
