"""Numbers as text: an interval looks as it is decided."""

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.report.content import Number, end_as_text


@pytest.mark.parametrize(
    ("end", "bounds", "text"),
    [
        (-0.0024, [0.0], "-0.002"),
        (0.00004, [0.0], "+0.00004"),
        (-0.0051, [0.0], "-0.01"),
        (0.0, [0.0], "+0.00"),
        (-0.0024, [], "+0.00"),
        (0.01996, [-0.02, 0.02], "+0.01996"),
        (-0.0204, [-0.02, 0.02], "-0.0204"),
        (nan, [0.0], "+nan"),
    ],
)
def test_an_end_has_the_digits_that_show_its_side(end: float, bounds: list[float], text: str) -> None:
    assert end_as_text(end, 2, "+", bounds) == text


@given(st.floats(-1, 1), st.sampled_from([0.0, 0.02, -0.125, 0.4567]))
def test_a_printed_end_is_on_the_side_of_the_true_one(end: float, bound: float) -> None:
    if abs(end - bound) > 1e-8 or end == bound:
        told = float(end_as_text(end, 3, "+", [bound]))
        assert (told > bound, told < bound) == (end > bound, end < bound)


def test_only_differences_and_values_with_bounds_need_more_digits() -> None:
    ends = (-0.2, -0.0003)
    assert Number(-0.1, 0.05, signed=True, ends=ends).interval == "-0.200 to -0.0003"
    assert Number(-0.1, 0.05, ends=ends).interval == "-0.200 to 0.000"
    assert Number(0.5, 0.05, ends=(0.4497, 0.5503), bounds=(0.45, 1.0)).interval == "0.4497 to 0.550"
