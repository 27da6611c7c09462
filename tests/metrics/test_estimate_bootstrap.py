"""Bootstrap within strata: number of draws, variance, and the fixed seed."""

from __future__ import annotations

import numpy as np
import pytest

from lm_eval_cora.metrics.estimate import REPLICATES, bootstrap
from lm_eval_cora.metrics.responses import Floats


def test_each_stratum_has_one_draw_less_than_questions() -> None:
    sums = bootstrap(lambda weights: np.stack([w.sum(axis=1) for w in weights], axis=1), [2, 7, 30])
    assert sums.shape == (REPLICATES, 3)
    assert REPLICATES == 5_000
    assert (sums == [1, 6, 29]).all()


@pytest.mark.parametrize("questions", [2, 3, 10, 300])
def test_the_variance_of_a_mean_is_that_of_the_sample(questions: int) -> None:
    # s / sqrt(n) with ddof 1; n draws would give sqrt((n - 1) / n) times as much, 5% less for n = 10.
    values = np.random.default_rng(questions).random(questions)
    means = bootstrap(lambda weights: (weights[0] @ values / (questions - 1))[:, None], [questions])
    assert means.std(ddof=1) == pytest.approx(values.std(ddof=1) / questions**0.5, rel=0.035)
    assert means.mean() == pytest.approx(values.mean(), abs=4 * means.std() / REPLICATES**0.5)


def test_large_tables_are_drawn_in_parts_and_the_seed_is_fixed() -> None:
    sizes: list[int] = []

    def first(weights: list[Floats]) -> Floats:
        sizes.append(len(weights[0]))
        return weights[0][:, :1]

    once, again = bootstrap(first, [3_000]), bootstrap(first, [3_000])
    assert len(sizes) > 2
    assert max(sizes) * 3_000 <= 2_000_000
    assert (once == again).all()
    # The parts are different samples: a question is drawn 2,999 / 3,000 times on average, with variance 1.
    assert once.mean() == pytest.approx(1, abs=0.06)
    assert once.var() == pytest.approx(1, abs=0.1)
