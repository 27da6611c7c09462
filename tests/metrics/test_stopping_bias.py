"""The bias of a budget: the estimate by hand, and in simulated runs with the code of real ones."""

from __future__ import annotations

from statistics import covariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.metrics.stopping import Bias, Moments, bias_of_budget

ANSWERS = st.lists(st.sampled_from([(False, False), (True, False), (True, True)]), min_size=2, max_size=40)


def moments(costs: list[int], right: list[bool], always: list[bool]) -> Moments:
    of = [sum(cost for cost, each in zip(costs, which, strict=True) if each) for which in (right, always)]
    return Moments(len(costs), sum(costs), sum(right), of[0], sum(always), of[1])


@given(ANSWERS, st.integers(0, 1_000))
def test_the_bias_is_the_covariance_with_the_costs_per_request(answers: list[tuple[bool, bool]], seed: int) -> None:
    costs = np.random.default_rng(seed).integers(1, 27, len(answers)).tolist()
    right, always = [x for x, _ in answers], [y for _, y in answers]
    found = bias_of_budget(moments(costs, right, always))
    of_m, of_b = (covariance(costs, [int(one) for one in which]) / sum(costs) for which in (right, always))
    assert found.mcqa == pytest.approx(of_m)
    assert found.bmca == pytest.approx(of_b)


def test_without_two_questions_the_bias_is_unknown() -> None:
    assert bias_of_budget(Moments()) == bias_of_budget(Moments(1, 26, 1, 26, 1, 26)) == Bias()
