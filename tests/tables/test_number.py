"""Numbers as text: an interval looks as it is decided."""

from dataclasses import replace
from math import nan

import pytest

from lm_eval_cora.tables.number import Number, end_as_text


@pytest.mark.parametrize(
    ("end", "bounds", "text"),
    [
        (-0.0024, [0.0], "-0.002"),
        (0.00004, [0.0], "+0.00004"),
        (0.0, [0.0], "+0.00"),
        (0.01996, [-0.02, 0.02], "+0.01996"),
        (nan, [0.0], "+nan"),
    ],
)
def test_an_end_has_the_digits_that_show_its_side(end, bounds, text):
    assert end_as_text(end, 2, "+", bounds) == text


def test_only_differences_and_values_with_bounds_need_more_digits():
    change = Number(-0.1, signed=True, ends=(-0.2, -0.0003))
    assert change.interval == "-0.200 to -0.0003"
    assert replace(change, signed=False).interval == "-0.200 to 0.000"
    assert Number(0.5, ends=(0.4497, 0.5503), bounds=(0.45,)).interval == "0.4497 to 0.550"
