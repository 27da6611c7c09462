"""Standard errors of products and ratios, compared with every bootstrap sample of a few questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import sqrt
from statistics import pstdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.metrics.estimate import Estimate, mean_of, product_of, ratio_of
from lm_eval_cora.metrics.paired import difference
from tests.support.oracles_errors import bootstrap_error, samples

Rows = Sequence[Sequence[float]]

SHARES = (0.0, 0.05, 0.1, 0.5, 0.9, 1.0)


def products(rows: Rows) -> list[Estimate]:
    """A product for each pair of columns."""
    columns = np.array(rows).T
    return [product_of(*columns[place : place + 2]) for place in range(0, len(columns), 2)]


def pairs_of(columns: int, most: int) -> st.SearchStrategy[list[tuple[float, ...]]]:
    return st.lists(st.tuples(*[st.sampled_from(SHARES)] * columns), min_size=2, max_size=most)


def test_the_oracle_has_every_bootstrap_sample() -> None:
    rows = [(0.0, 1.0), (0.0, 1.0), (0.5, 0.25), (1.0, 0.0)]
    means = [np.mean(drawn, axis=0) for drawn in product(rows, repeat=4)]  # 4^4 samples, equally likely
    assert samples(rows)[0].sum() == pytest.approx(1)
    expected = pstdev([a * b for a, b in means]) * sqrt(4 / 3)
    assert bootstrap_error(lambda a, b: a * b, rows) == pytest.approx(expected, abs=1e-12)


@given(pairs_of(2, most=6))
def test_the_error_of_a_product_is_that_of_all_bootstrap_samples(rows: Rows) -> None:
    (found,) = products(rows)
    expected = bootstrap_error(lambda a, b: a * b, rows)
    if expected > 1e-9:  # else it is that of a sample that does not vary
        assert found.stderr == pytest.approx(expected, abs=1e-9)
    else:
        assert found.ends is not None
        assert found.stderr > 0


@given(pairs_of(4, most=5))
def test_the_error_of_a_difference_of_products_is_that_of_all_bootstrap_samples(rows: Rows) -> None:
    before, after = products(rows)
    expected = bootstrap_error(lambda a, b, c, d: c * d - a * b, rows)
    found = difference(before, after)
    if expected > 1e-9:
        assert found.stderr == pytest.approx(expected, abs=1e-9)
    assert difference(after, before) == pytest.approx((-found.value, found.stderr, -found.high, -found.low), abs=1e-9)


@pytest.mark.parametrize("questions", [10, 14, 25, 60])
@pytest.mark.parametrize("part", [1.0, 0.8, 0.5])
def test_the_error_of_a_mean_of_some_questions_is_close_to_all_bootstrap_samples(questions: int, part: float) -> None:
    # Subsets of ten or more questions, of which 10% to 90% are right.
    size = max(10, round(part * questions))
    inside = np.arange(questions) < size
    for right in {1, size // 4, size // 2, size - 1}:
        values = np.arange(questions) < right
        rows = np.stack([values, inside], axis=1).astype(float).tolist()
        expected = bootstrap_error(lambda a, b, default=right / size: a / b if b else default, rows)
        assert mean_of(values.astype(float), inside).stderr == pytest.approx(expected, rel=0.05), right


def test_the_error_of_a_pooled_share_is_close_to_all_bootstrap_samples() -> None:
    # Three kinds of questions with 14 or 26 variants, ten of them.
    for counts in ((5, 3, 2), (1, 8, 1), (3, 4, 3), (8, 1, 1), (2, 2, 6)):
        for right in ((14, 0, 13), (7, 26, 0), (1, 20, 26), (14, 26, 24)):
            rows = np.repeat(np.stack([right, (14, 26, 26)], axis=1).astype(float), counts, axis=0)
            expected = bootstrap_error(lambda a, b: a / b, rows.tolist())
            assert ratio_of(*rows.T).stderr == pytest.approx(expected, rel=0.05), (counts, right)


@pytest.mark.parametrize("least", [1e-300, 1e-160, 1e-20])
def test_tiny_numbers_keep_their_error(least: float) -> None:
    # Probabilities of 1, 2 and 3 times a tiny number: the error of the mean is sd / sqrt(3) = 1 / sqrt(3) of it.
    values = np.array([1.0, 2.0, 3.0]) * least
    assert mean_of(values).stderr == pytest.approx(least / sqrt(3))
    # A ratio to tiny numbers is huge, and so is its error.
    right = np.array([1.0, 0.0, 1.0])
    huge, plain = (ratio_of(right, sizes, between=(0.0, float("inf"))) for sizes in (values, values / least))
    assert huge.stderr == pytest.approx(plain.stderr / least)


@pytest.mark.parametrize("values", [[1.0] * 5, [0.0] * 2, [0.1] * 7, [1 / 3] * 49])
def test_a_sample_that_does_not_vary_has_no_influences(values: list[float]) -> None:
    for found in (mean_of(np.array(values)), ratio_of(np.array(values) * 0.7, np.full(len(values), 0.7))):
        assert not found.influence.any()
        assert found.ends is not None


def test_a_ratio_that_overflows_is_undefined() -> None:
    assert np.isnan(ratio_of(np.ones(3), np.full(3, 1e-320), between=(0.0, float("inf"))).value)
