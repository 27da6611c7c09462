"""Guessing on several variants: the table of CoRA's appendix A, exact fractions, and general properties."""

from __future__ import annotations

from fractions import Fraction
from math import floor, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.metrics import at_least, msgr
from tests.support import oracles_compare as oracles

RANDOM = (1, 0.89263, 0.62419, 0.32220, 0.12087, 0.03279, 0.00637, 0.00086, 0.000078, 0.0000042, 0.0000001)
"""P(at least p of 10 right) for guesses among five options, p = 0 ... 10."""

rates = st.one_of(st.floats(0, 1), st.sampled_from((0.0, 0.2, 0.5, 1.0)))


@pytest.mark.parametrize(("p", "printed"), list(enumerate(RANDOM)))
def test_random_guessing_agrees_with_the_paper(p: int, printed: float) -> None:
    digits = len(f"{printed:.10f}".rstrip("0").partition(".")[2])
    assert round(at_least(10, 0.2)[p], digits) == printed


def test_at_least_by_hand() -> None:
    # Three trials of a fair coin: 1/8 + 3/8 + 3/8 = 7/8 for one or more, 3/8 + 1/8 for two, 1/8 for all.
    assert at_least(3, 0.5) == pytest.approx([1, 7 / 8, 1 / 2, 1 / 8], rel=1e-12)
    # Two of two with probability 1/5: 1/25; one or more: 1 - (4/5)^2 = 9/25.
    assert at_least(2, 0.2) == pytest.approx([1, 9 / 25, 1 / 25], rel=1e-12)


@given(st.integers(1, 40), rates)
def test_at_least_agrees_with_exact_fractions(variants: int, rate: float) -> None:
    expected = [float(tail) for tail in oracles.at_least(variants, Fraction(rate))]
    assert at_least(variants, rate) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("variants", [1, 2, 26, 1000])
def test_rates_of_zero_and_one(variants: int) -> None:
    assert at_least(variants, 0.0).tolist() == [1.0] + [0.0] * variants
    assert at_least(variants, 0).tolist() == [1.0] + [0.0] * variants
    assert at_least(variants, 1.0).tolist() == [1.0] * (variants + 1)


@pytest.mark.parametrize("variants", [0, -1])
def test_at_least_needs_variants(variants: int) -> None:
    with pytest.raises(ValueError, match=rf"variants is {variants}, expected 1 or more"):
        at_least(variants, 0.5)


@pytest.mark.parametrize("rate", [-0.01, 1.01, nan])
def test_at_least_needs_a_share(rate: float) -> None:
    with pytest.raises(ValueError, match=f"rate is {rate}, expected a share from 0 to 1"):
        at_least(10, rate)


PRINTED = {1: 0.54, 2: 0.66, 3: 0.75, 4: 0.82, 5: 0.88, 7: 0.96, 8: 0.98, 9: 0.99}
"""The values of table 7 that one level explains. Left out: 0.2 for 0, 0.93 for 6 and 0.9999 for 10."""


@pytest.mark.parametrize(("p", "printed"), PRINTED.items())
def test_minimum_success_rates_agree_with_the_paper(p: int, printed: float) -> None:
    assert floor(100 * msgr(10)[p]) / 100 == printed


def test_minimum_success_rates_by_hand() -> None:
    # One or more of M: 1 - (1 - r)^M = L, so r = 1 - (1 - L)^(1 / M); all M: r^M = L, so r = L^(1 / M).
    found = msgr(10)
    assert found[0] == 0
    assert found[1] == pytest.approx(1 - 0.0004 ** (1 / 10), abs=1e-12)
    assert found[10] == pytest.approx(0.9996 ** (1 / 10), abs=1e-12)
    assert msgr(1, certain=0.3) == pytest.approx([0, 0.3], abs=1e-12)
    # 9/25 and 1/25 are the tails of two trials with probability 1/5.
    assert msgr(2, certain=0.36)[1] == pytest.approx(0.2, abs=1e-12)
    assert msgr(2, certain=0.04)[2] == pytest.approx(0.2, abs=1e-12)


@given(st.integers(1, 30), st.floats(0.001, 0.9999))
def test_the_rate_is_the_smallest_that_reaches_the_level(variants: int, certain: float) -> None:
    found = msgr(variants, certain)
    assert found.shape == (variants + 1,)
    assert found[0] == 0
    assert (np.diff(found) > 0).all()
    assert ((found >= 0) & (found <= 1)).all()
    for p, rate in enumerate(found[1:].tolist(), start=1):
        assert at_least(variants, rate)[p] >= certain * (1 - 1e-12)
        assert at_least(variants, max(rate - 1e-9, 0))[p] < certain


@pytest.mark.parametrize("variants", [0, -3])
def test_minimum_success_rates_need_variants(variants: int) -> None:
    with pytest.raises(ValueError, match=f"variants is {variants}, expected 1 or more"):
        msgr(variants)


@pytest.mark.parametrize("certain", [0.0, 1.0, -0.5, 1.5, nan])
def test_minimum_success_rates_need_a_level_between_0_and_1(certain: float) -> None:
    with pytest.raises(ValueError, match=f"certain is {certain}, expected a probability between 0 and 1"):
        msgr(10, certain)
