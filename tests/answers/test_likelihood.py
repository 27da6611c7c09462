from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.likelihood import most_likely


def test_the_most_likely_letter() -> None:
    # Printed A = option 4, B = option 0, C = "None of the above": B is the most likely.
    answer = most_likely([-3.0, -0.5, -0.6], [4, 0, 26])
    assert (answer.picked, answer.tied, answer.reason) == (0, False, None)


def test_a_tie_takes_the_first_and_is_marked() -> None:
    answer = most_likely([-3.0, -0.5, -0.5], [4, 0, 26])
    assert (answer.picked, answer.tied) == (0, True)
    # A tie below the highest is none.
    assert not most_likely([-0.5, -3.0, -3.0], [4, 0, 26]).tied
    # Two letters that stand for one option cannot contradict each other.
    assert not most_likely([-0.5, -0.5, -3.0], [1, 1, 0]).tied


def test_minus_infinity_is_a_likelihood() -> None:
    assert most_likely([-inf, -9.0], [0, 1]).picked == 1
    assert most_likely([-inf, -inf], [0, 1]).tied


def test_numbers_of_other_libraries() -> None:
    assert most_likely([np.float32(-2), np.float64(-1), -3], [4, 0, 26]).picked == 0
    assert most_likely([np.array(-2.0), Fraction(-1, 2)], [4, 0]).picked == 0


class Overflowing:
    """A number that fails as those of a library may."""

    def __float__(self) -> float:
        raise RuntimeError("value cannot be converted without overflow")


@pytest.mark.parametrize(
    "values",
    [
        *([nan, -1.0], [-1.0, None], [-1.0], [-1.0, -2.0, -3.0], [], ["-1", -2.0], [True, -1.0]),
        *([np.float32("nan"), -1.0], [np.array([1, 2]), -1.0], [10**400, -1.0], [object(), -1.0], [1j, -1.0]),
        [Overflowing(), -1.0],
    ],
)
def test_what_is_no_likelihood_is_invalid_and_not_a_pick_by_chance(values: list[Any]) -> None:
    answer = most_likely(values, [0, 1])
    assert (answer.picked, answer.reason) == (None, Reason.NO_LIKELIHOOD)


@given(st.lists(st.tuples(st.floats(max_value=0, allow_nan=False), st.integers(0, 26)), min_size=1, max_size=26))
def test_the_first_of_the_most_likely_ones(scored: list[tuple[float, int]]) -> None:
    values, printed = [value for value, _ in scored], [identity for _, identity in scored]
    answer = most_likely(values, printed)
    assert answer.picked == printed[values.index(max(values))]
    rivals = {identity for value, identity in scored if value == max(values)}
    assert answer.tied == (len(rivals) > 1)
