"""Requirements that end a run: how they are written, and when they are certain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.decide.verdicts import Requirement, parse_until, settled
from lm_eval_cora.metrics.sequences import Course
from tests.support.messages import user_error


def test_the_texts_of_requirements_that_end_a_run():
    assert parse_until(" my task: mcqa <= .5 ") == Requirement("mcqa", "<=", 0.5, "my task")
    assert parse_until("no-worse t:cora:0") == Requirement("cora", "no worse by", 0.0, "t")
    assert parse_until("same pass^k:0.02") == Requirement("pass^k", "same within", 0.02)
    for text, expected in (
        ("cora:0.02", "METRIC±NUMBER, 'no-worse METRIC:MARGIN'"),
        ("cora±1", "half the width of an interval"),
        ("same cora>=0.1", "[TASK:]METRIC:MARGIN"),
    ):
        with user_error("--until", "expected", expected):
            parse_until(text)


# ---- when they are certain
def course(share, asked, total=1_000, spread=(0.0, 1.0)):
    """The first questions of many of which a share has the value 1 and the others 0; the two alternate."""
    values = np.floor(np.arange(1, asked + 1) * share) - np.floor(np.arange(asked) * share)
    return Course(values[None], np.array([spread]), total)


@pytest.mark.parametrize(
    ("sign", "number", "before", "higher"),
    [
        (">=", 0.75, 0.0, None),
        ("<=", 0.75, 0.0, None),
        ("no worse by", 0.1, 0.85, True),
        ("no worse by", 0.1, 0.65, False),
        ("same within", 0.1, 0.65, None),
        ("same within", 0.1, 0.85, None),
        ("±", 1e-6, 0.0, None),
    ],
)
def test_after_all_questions_a_value_that_equals_the_bound_passes(sign, number, before, higher):
    def verdict(value):
        return settled(course(value, 1_000), Requirement("m", sign, number), before, higher)

    assert verdict(0.75) == "pass"
    assert sign == "±" or "fail" in {verdict(0.749), verdict(0.751)}  # nothing is left open


BOUND = st.floats(0.0, 1.0)


@given(BOUND, st.integers(0, 300), st.sampled_from([">=", "<=", "no worse by", "same within", "±"]), BOUND, BOUND)
def test_a_verdict_agrees_with_the_interval_of_its_level(share, asked, sign, number, before):
    known, higher = course(share, asked, 400), share > 0.5
    low, high = known.interval(0.90 if sign == "same within" else 0.95)
    verdict = settled(known, Requirement("m", sign, number), before, higher)
    if sign == "±":
        assert (verdict == "pass") == (high - low <= 2 * number)
        return
    least, most = {
        ">=": (number, np.inf),
        "<=": (-np.inf, number),
        "no worse by": (before - number, np.inf) if higher else (-np.inf, before + number),
        "same within": (before - number, before + number),
    }[sign]
    near = 0.001  # halving ends near the bound that is certain
    if least <= low and high <= most:
        assert verdict == "pass"
    elif high < least or low > most:
        assert verdict == "fail"
    elif low < least - near < least + near < high or low < most - near < most + near < high:
        assert verdict == "undecided"


# ---- the ends of the range
@pytest.mark.parametrize(
    ("sign", "number", "before", "end"),
    [
        (">=", 1.0, 0.0, 1.0),
        ("<=", 0.0, 0.0, 0.0),
        ("no worse by", 0.0, 1.0, 1.0),
        ("same within", 1e-6, 1.0, 1.0),
        ("same within", 1e-6, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("means", [1, 2])
def test_a_requirement_at_an_end_of_the_range_fails_with_the_first_exception(sign, number, before, end, means):
    def verdict(*values):
        known = Course(np.array([values] * means), np.array([(0.0, 1.0)] * means), 40)
        return settled(known, Requirement("m", sign, number), before, higher=True)

    assert verdict(*[end] * 39) == "undecided"
    assert verdict(*[end] * 40) == "pass"
    assert verdict(*[end] * 30, 1 - end) == "fail"
    every = Requirement("m", sign, {">=": 0.0, "<=": 1.0}.get(sign, 1.0))
    assert settled(course(0.5, 1), every, before, higher=True) == "pass"  # all values meet it
