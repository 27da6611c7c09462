"""Answers that are scored by their log-likelihoods."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.letter import LETTER
from lm_eval_cora.answers.yes_no import YES_NO


def most_likely(values, printed=(4, 0, 26)):
    return LETTER.pick(values, {"printed": printed})


def yes_or_no(*values):
    return YES_NO.pick(values, {"printed": [4]})


def test_the_first_of_the_most_likely_letters_is_picked_and_a_tie_is_marked():
    # Printed A = option 4, B = option 0, C = "None of the above": B is the most likely.
    answer = most_likely([-3.0, -0.5, -0.6])
    assert (answer.picked, answer.position, answer.tied, answer.reason) == (0, 1, False, None)
    answer = most_likely([-3.0, -0.5, -0.5])
    assert (answer.picked, answer.tied) == (0, True)
    # Two letters of the same option are not a tie.
    assert not most_likely([-0.5, -0.5, -3.0], [1, 1, 0]).tied
    assert most_likely([-inf, -inf], [0, 1]).tied


@given(st.lists(st.tuples(st.floats(max_value=0, allow_nan=False), st.integers(0, 26)), min_size=1, max_size=26))
def test_any_likelihoods_of_letters(scored):
    values, printed = [value for value, _ in scored], [identity for _, identity in scored]
    answer = most_likely(values, printed)
    assert answer.picked == printed[values.index(max(values))]
    rivals = {identity for value, identity in scored if value == max(values)}
    assert answer.tied == (len(rivals) > 1)


@given(st.floats(max_value=0, allow_nan=False), st.floats(max_value=0, allow_nan=False))
def test_yes_is_selected_unless_no_is_more_likely(yes, no):
    answer = yes_or_no(yes, no)
    assert (answer.selected, answer.tied) == (() if no > yes else (4,), yes == no)
    assert (answer.likelihood_yes, answer.likelihood_no, answer.picked, answer.reason) == (yes, no, None, None)


class Overflowing:
    """A number of another library that fails to convert."""

    def __float__(self):
        raise RuntimeError("value cannot be converted without overflow")


@pytest.mark.parametrize("scalar", [float, np.float32, np.float64, np.float16, np.array, Fraction])
def test_numbers_of_other_libraries(scalar):
    assert most_likely([scalar(-2.0), scalar(-0.5), -3]).picked == 0
    answer = yes_or_no(scalar(-2.0), scalar(-0.5))
    assert (answer.selected, answer.likelihood_yes, answer.likelihood_no) == ((), -2.0, -0.5)
    # Tables and files need Python's own types.
    assert (type(answer.likelihood_yes), type(answer.likelihood_no), type(answer.tied)) == (float, float, bool)
    assert yes_or_no(scalar(-0.5), scalar(-0.5)).tied is True


@pytest.mark.parametrize(
    "values",
    [
        [nan, -1.0],
        [-1.0, None],
        [-1.0],
        [-1.0, -2.0, -3.0],
        [],
        ["-1", -2.0],
        [b"-1", -2.0],
        [True, -1.0],
        [np.array([1, 2]), -1.0],
        [10**400, -1.0],
        [object(), -1.0],
        [Overflowing(), -1.0],
    ],
)
def test_a_value_that_is_not_a_likelihood_makes_the_answer_invalid(values):
    answer = most_likely(values, [0, 1])
    assert (answer.picked, answer.reason) == (None, Reason.NO_LIKELIHOOD)
    answer = yes_or_no(*values)
    assert (answer.selected, answer.reason) == (None, Reason.NO_LIKELIHOOD)
    assert (answer.likelihood_yes, answer.likelihood_no, answer.tied) == (None, None, False)
