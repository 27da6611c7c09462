"""Standard errors of products and ratios, compared with every bootstrap sample of a few questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import sqrt
from statistics import pstdev
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.metrics import terms as terms_module
from lm_eval_cora.metrics.consistency import OUTCOMES
from lm_eval_cora.metrics.estimate import mean_of, ratio_of
from lm_eval_cora.metrics.terms import Term, influence_of, negated, scaled, stderr_of, value_of
from tests.support.oracles_errors import bootstrap_error, ratio_error, ratio_series_error, samples, splits

Rows = Sequence[Sequence[float]]

CORNERS = np.array([[0.0, 0.0], [1.0, 1.0]])

SHARES = (0.0, 0.05, 0.1, 0.5, 0.9, 1.0)
SIZES = (1.0, 8.0, 14.0, 26.0)


def products(rows: Rows, weights: Sequence[float] = (1.0,)) -> list[Term]:
    """One product for each pair of columns."""
    columns = np.array(rows)
    return [Term(columns[:, 2 * k : 2 * k + 2], CORNERS, "product", weight) for k, weight in enumerate(weights)]


def ratios(rows: Rows, weights: Sequence[float] = (1.0,)) -> list[Term]:
    columns = np.array(rows)
    return [Term(columns[:, 2 * k : 2 * k + 2], CORNERS, "ratio", weight) for k, weight in enumerate(weights)]


def of_outcomes(counts: Sequence[int]) -> Term:
    """The term of cora for questions that are right in all variants, in the original only, or wrong in the original."""
    return Term(np.repeat(OUTCOMES, counts, axis=0), OUTCOMES, "product")


def test_the_oracle_has_every_bootstrap_sample() -> None:
    rows = [(0.0, 1.0), (0.0, 1.0), (0.5, 0.25), (1.0, 0.0)]
    means = [np.mean(drawn, axis=0) for drawn in product(rows, repeat=4)]  # 4^4 samples, equally likely
    assert samples(rows)[0].sum() == pytest.approx(1)
    expected = pstdev([a * b for a, b in means]) * sqrt(4 / 3)
    assert bootstrap_error(lambda a, b: a * b, rows) == pytest.approx(expected, abs=1e-12)


def pairs_of(values: Sequence[float], columns: int, most: int = 6) -> st.SearchStrategy[list[tuple[float, ...]]]:
    return st.lists(st.tuples(*[st.sampled_from(values)] * columns), min_size=2, max_size=most)


@given(pairs_of(SHARES, 2))
def test_the_error_of_a_product_is_that_of_all_bootstrap_samples(rows: Rows) -> None:
    assert stderr_of(products(rows)) == pytest.approx(bootstrap_error(lambda a, b: a * b, rows), abs=1e-9)


@given(pairs_of(SHARES, 4, most=5))
def test_the_error_of_a_difference_of_products_is_that_of_all_bootstrap_samples(rows: Rows) -> None:
    expected = bootstrap_error(lambda a, b, c, d: a * b - c * d, rows)
    assert stderr_of(products(rows, (1.0, -1.0))) == pytest.approx(expected, abs=1e-9)


@given(pairs_of(SHARES, 6, most=4), st.tuples(*[st.sampled_from((-2.0, -0.5, 0.25, 3.0))] * 3))
def test_the_error_of_a_sum_of_products_is_that_of_all_bootstrap_samples(rows: Rows, weights: Sequence[float]) -> None:
    def total(*means: float) -> float:
        return sum(weight * means[2 * k] * means[2 * k + 1] for k, weight in enumerate(weights))

    assert stderr_of(products(rows, weights)) == pytest.approx(bootstrap_error(total, rows), abs=1e-9)


def test_the_error_of_cora_of_every_sample_of_ten_questions() -> None:
    # All 66 ways to divide ten questions into the three outcomes. 0 only if all questions have the same outcome.
    for counts in splits(10, 3):
        term = of_outcomes(counts)
        expected = bootstrap_error(lambda a, b: a * b, term.columns.tolist())
        assert stderr_of([term]) == pytest.approx(expected, abs=1e-9), counts
        assert (expected > 1e-9) == (max(counts) < 10), counts


@pytest.mark.parametrize("questions", [2, 4, 10, 50, 1_000])
def test_the_error_of_cora_where_its_gradient_is_0(questions: int) -> None:
    # mcqa 0.5 and bmca 0: cora is m (1 - m) = 1/4 - d^2, where d = m - 1/2 is a share of N fair coins, minus 1/2.
    # E d^2 = 1 / (4 N) and E d^4 = (3 N - 2) / (16 N^3), so the variance of d^2 is (2 N - 2) / (16 N^3). Times
    # N / (N - 1) this is 1 / (8 N^2), and the error is 1 / sqrt(8) / N: 0.1768, 0.0354 and 0.0071 for 2, 10 and 50.
    half = questions // 2
    assert stderr_of([of_outcomes((0, half, half))]) == pytest.approx(1 / sqrt(8) / questions)


def test_the_error_of_a_mean_is_its_standard_deviation() -> None:
    # Mean of 1, 1, 0, 0: sd = sqrt(4 * 0.25 / 3), / sqrt(4).
    assert stderr_of(ratios([(1, 1), (1, 1), (0, 1), (0, 1)])) == pytest.approx(sqrt(1 / 3) / 2)
    assert stderr_of(ratios([(1, 2), (1, 2), (0, 2), (0, 2)])) == pytest.approx(sqrt(1 / 3) / 4)


def test_the_error_of_a_ratio_by_hand() -> None:
    # 1 of 1 and 0 of 2: R = 1/3. The four samples of two questions have the ratios 1, 0, 1/3 and 1/3: the mean is 5/12,
    # the mean of the squares 11/36, the variance 11/36 - 25/144 = 19/144. Times N / (N - 1) = 2.
    assert stderr_of(ratios([(1, 1), (0, 2)])) == pytest.approx(sqrt(2 * 19 / 144))


def test_the_error_of_a_ratio_of_many_questions_by_hand() -> None:
    # The first terms of the Taylor series, for 1 of 1 and 0 of 2 as if two were many: R = 1/3. e = (k - R m) / 1.5 =
    # 4/9, -4/9, and s = m / 1.5 - 1 = -1/3, 1/3. Of the four samples of two questions, one has the means e = 4/9 and
    # s = -1/3, one -4/9 and 1/3, and two 0 and 0. e - e s = 4/9 + 4/27 = 16/27, then -4/9 + 4/27 = -8/27, and 0 twice:
    # the mean is 2/27, the mean of the squares (256 + 64) / 729 / 4 = 80/729, the variance 76/729. e s^2 = 4/81, -4/81:
    # the covariance with e is 2 * 16/729 / 4 = 8/729. 76/729 + 2 * 8/729 = 92/729, times N / (N - 1) = 2.
    with patch.object(terms_module, "_FEW", 0):
        assert stderr_of(ratios([(1, 1), (0, 2)])) == pytest.approx(sqrt(2 * 92 / 729))


sized = st.tuples(st.sampled_from((0.0, 0.25, 0.5, 1.0)), st.sampled_from(SIZES)).map(
    lambda row: (row[0] * row[1], row[1])
)


two_sized = st.tuples(sized, sized).map(lambda both: both[0] + both[1])


@given(st.lists(sized, min_size=2, max_size=7))
def test_the_error_of_a_ratio_is_that_of_all_bootstrap_samples(rows: Rows) -> None:
    assert stderr_of(ratios(rows)) == pytest.approx(ratio_error(rows), abs=1e-7)


@given(st.lists(two_sized, min_size=2, max_size=5))
def test_the_error_of_a_difference_of_ratios_is_that_of_all_bootstrap_samples(rows: Rows) -> None:
    weights = (1.0, -1.0)
    assert stderr_of(ratios(rows, weights)) == pytest.approx(ratio_error(rows, weights), abs=1e-7)


@given(
    st.lists(st.one_of(two_sized, st.just((0.0, 0.0, 0.0, 0.0)), sized.map(lambda row: (*row, 0.0, 0.0))), max_size=4)
)
def test_questions_that_do_not_count_in_a_ratio_may_be_missing_in_a_bootstrap_sample(rows: Rows) -> None:
    rows = [(1.0, 8.0, 2.0, 14.0), *rows, (0.0, 0.0, 0.0, 0.0)]
    weights = (1.0, -1.0)
    assert stderr_of(ratios(rows, weights)) == pytest.approx(ratio_error(rows, weights), abs=1e-7)


@given(st.lists(sized, min_size=2, max_size=7))
def test_the_error_of_a_ratio_of_many_questions_agrees_with_its_oracle(rows: Rows) -> None:
    with patch.object(terms_module, "_FEW", 0):
        assert stderr_of(ratios(rows)) == pytest.approx(ratio_series_error(rows), rel=1e-7, abs=1e-8)


@given(st.lists(two_sized, min_size=2, max_size=5))
def test_the_error_of_a_difference_of_ratios_of_many_questions_agrees_with_its_oracle(rows: Rows) -> None:
    weights = (1.0, -1.0)
    with patch.object(terms_module, "_FEW", 0):
        expected = ratio_series_error(rows, weights)
        assert stderr_of(ratios(rows, weights)) == pytest.approx(expected, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("questions", [30, 50])
def test_exact_errors_of_ratios_join_those_of_many_questions(questions: int) -> None:
    rng = np.random.default_rng(questions)
    for _ in range(20):
        sizes = rng.choice([8.0, 14.0, 26.0, 74.0], size=questions)
        rows = np.stack([rng.binomial(sizes.astype(int), rng.beta(0.5, 0.5, questions)), sizes], axis=1)
        exact = stderr_of(ratios(rows.tolist()))
        with patch.object(terms_module, "_FEW", 0):
            assert stderr_of(ratios(rows.tolist())) == pytest.approx(exact, rel=0.03)


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


def populations(count: int) -> list[list[int]]:
    """Numbers of ten questions with each of 9 joint outcomes of two models that often agree."""
    generator = np.random.default_rng(1)
    found = []
    for number in range(count):
        one, other = generator.dirichlet([0.5, 0.5, 0.5], 2)
        if number % 3 == 0:  # close to mcqa 0.5 and bmca 0
            one = other = np.array([0.02, 0.49, 0.49])
        joint = 0.6 * np.diag(one) + 0.4 * np.outer(one, other)
        found.append(generator.multinomial(10, joint.ravel()).tolist())
    return found


def test_the_error_of_a_difference_of_two_coras_with_ten_questions() -> None:
    # 36 populations, with the edge at which the gradient of both is 0. Every bootstrap sample has its probability.
    joint = np.array([[*one, *other] for one in OUTCOMES for other in OUTCOMES])
    for counts in populations(36):
        rows = np.repeat(joint, counts, axis=0)
        expected = bootstrap_error(lambda a, b, c, d: a * b - c * d, rows.tolist())
        assert stderr_of(products(rows, (1.0, -1.0))) == pytest.approx(expected, abs=1e-9), counts


@given(pairs_of((0.1, 0.25, 0.5, 1.0), 4), st.sampled_from(["product", "ratio"]))
def test_influences_are_the_derivative_by_the_weight_of_a_question(rows: Rows, kind: str) -> None:
    terms = (products if kind == "product" else ratios)(rows, (1.0, -0.5))
    influence = influence_of(terms)
    assert influence.sum() == pytest.approx(0, abs=1e-12)
    count, step = len(rows), 1e-6
    for place in range(count):
        shares = np.full(count, (1 - step) / count) + step * (np.arange(count) == place)
        moved = sum(term.value(*(shares @ term.columns)) for term in terms)
        assert (moved - value_of(terms)) / step == pytest.approx(influence[place], abs=1e-3)


@pytest.mark.parametrize("kind", ["product", "ratio"])
def test_gradients_are_differences_of_values(kind: str) -> None:
    term = Term(np.ones((2, 2)), CORNERS, kind, -1.5)
    step = 1e-6
    for a, b in ((0.3, 0.7), (2.0, 0.1), (0.0, 1.0)):
        by_first, by_second = term.gradient(a, b)
        assert by_first == pytest.approx((term.value(a + step, b) - term.value(a - step, b)) / (2 * step), rel=1e-5)
        assert by_second == pytest.approx(
            (term.value(a, b + step) - term.value(a, b - step)) / (2 * step), rel=1e-5, abs=1e-9
        )


@given(pairs_of((0.25, 0.5, 1.0), 4), st.randoms(use_true_random=False))
def test_the_error_does_not_depend_on_the_order_of_the_questions_or_on_the_sign(rows: Rows, rng) -> None:  # type: ignore[no-untyped-def]
    mixed = list(rows)
    rng.shuffle(mixed)
    for make in (products, ratios):
        expected = stderr_of(make(rows, (1.0, -1.0)))
        assert stderr_of(make(mixed, (1.0, -1.0))) == pytest.approx(expected, abs=1e-9)
        assert stderr_of(negated(make(rows, (1.0, -1.0)))) == expected
        assert stderr_of(make(rows, (-1.0, 1.0))) == expected
        assert stderr_of(make(rows, (3.0, -3.0))) == pytest.approx(3 * expected, abs=1e-9)


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 3.0, 1e200])
def test_the_unit_of_the_columns_does_not_matter(factor: float) -> None:
    rows = [(1.0, 2.0), (0.0, 1.0), (3.0, 3.0), (2.0, 4.0)]
    (plain,) = ratios(rows)
    both = Term(plain.columns * factor, plain.corners * factor)
    assert value_of([both]) == pytest.approx(value_of([plain]))
    assert stderr_of([both]) == pytest.approx(stderr_of([plain]))
    numerators = Term(plain.columns * [factor, 1], plain.corners * [factor, 1])
    assert stderr_of([numerators]) == pytest.approx(factor * stderr_of([plain]))
    (product,) = products(rows)
    factors = Term(product.columns * [factor, 1 / factor], product.corners * [factor, 1 / factor], "product")
    assert stderr_of([factors]) == pytest.approx(stderr_of([product]))


@given(pairs_of(SHARES, 4), st.sampled_from((1e-60, 1e-20, 1.0, 1e30)))
def test_scaled_terms_have_the_same_value(rows: Rows, factor: float) -> None:
    terms = [
        Term(term.columns * factor, term.corners * factor, "product", term.weight) for term in products(rows, (1, -1))
    ]
    found, unit = scaled(terms)
    assert unit * value_of(found) == pytest.approx(value_of(terms), rel=1e-9, abs=1e-12 * factor**2)
    assert max(abs(term.weight) for term in found) == 1
    assert max(np.abs(term.columns).max() for term in found) <= 1


@pytest.mark.parametrize("rows", [[(1.0, 1.0)] * 5, [(0.0, 3.0)] * 2, [(0.1, 0.1)] * 7, [(1 / 3, 0.7)] * 49])
def test_a_sample_that_does_not_vary_has_the_error_0(rows: Rows) -> None:
    assert stderr_of(products(rows)) == stderr_of(ratios(rows)) == 0
    twice = [row + row for row in rows]
    assert stderr_of(products(twice, (1.0, -1.0))) == stderr_of(ratios(twice, (1.0, -1.0))) == 0


def test_identical_answers_have_a_difference_without_an_error() -> None:
    rows = [(a, b, a, b) for a, b in np.random.default_rng(0).random((40, 2))]
    assert stderr_of(products(rows, (1.0, -1.0))) == stderr_of(ratios(rows, (1.0, -1.0))) == 0


@pytest.mark.parametrize("least", [1e-300, 1e-160, 1e-20])
def test_tiny_numbers_keep_their_error(least: float) -> None:
    # Probabilities of 1, 2 and 3 times a tiny number: the error of the mean is sd / sqrt(3) = 1 / sqrt(3) of it.
    values = np.array([1.0, 2.0, 3.0]) * least
    corners = np.array([[0.0, 1.0], [least * 4, 1.0]])
    assert stderr_of([Term(np.stack([values, np.ones(3)], axis=1), corners)]) == pytest.approx(least / sqrt(3))
    # A ratio to tiny numbers is huge, and so is its error.
    right = np.array([1.0, 0.0, 1.0])
    huge, plain = (
        ratio_of(right, sizes, corners=np.stack([right, sizes], axis=1)) for sizes in (values, values / least)
    )
    assert huge.stderr == pytest.approx(plain.stderr / least)
