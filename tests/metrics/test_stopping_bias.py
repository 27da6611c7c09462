"""The bias of a budget: the estimate by hand, and in simulated runs with the code of real ones."""

from __future__ import annotations

from statistics import covariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.harness.rounds import Observed, Planned, send, within_budget
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


def test_the_estimate_removes_most_of_the_bias() -> None:
    # 74% right, 18% always right: the latter need 26 requests, others 1 to 9. 150 requests pay for about 18 questions.
    rng = np.random.default_rng(0)
    agenda = [Planned("t", str(number), 26) for number in range(200)]
    raw, corrected = [], []
    for _ in range(3_000):
        drawn = rng.random(200)
        costs = np.where(drawn < 0.18, 26, np.where(drawn < 0.74, rng.integers(2, 9, 200), 1))
        rounds = within_budget(agenda, 150)
        batch, asked = next(rounds, None), 0
        while batch is not None:
            asked += len(batch)
            batch = send(rounds, Observed(int(costs[:asked].sum())))
        own = drawn[:asked]
        told = bias_of_budget(moments(costs[:asked].tolist(), (own < 0.74).tolist(), (own < 0.18).tolist()))
        raw.append(np.mean(own < 0.18) - 0.18)
        corrected.append(raw[-1] - told.bmca)
    # The standard error of both means is about 0.1 / sqrt(3000) = 0.002.
    assert np.mean(raw) > 0.01
    assert abs(np.mean(corrected)) < 0.6 * np.mean(raw)
