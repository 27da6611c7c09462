"""Coverage of the intervals of small samples of means of several answers."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from unittest import mock

import numpy as np
from scipy.special import ndtri

from lm_eval_cora.metrics import acc_max, macro_acc
from lm_eval_cora.metrics.responses import ResponseTable


def drawn(rng: np.random.Generator, questions: int, accuracy: float, kinds: int, variants: int) -> ResponseTable:
    """Return answers that are alike within a kind of a question, and less so between its kinds."""
    shape = questions, kinds, variants
    latent = sqrt(0.5) * rng.standard_normal((questions, 1, 1)) + sqrt(0.4) * rng.standard_normal((*shape[:2], 1))
    right = latent + sqrt(0.1) * rng.standard_normal(shape) < ndtri(accuracy)
    return ResponseTable.from_columns(
        [f"q{number:04d}" for number in range(questions)],
        np.full(questions, kinds * variants),
        right.ravel(),
        kinds=[f"kind {number}" for number in range(kinds)],
        kind=np.tile(np.repeat(np.arange(kinds), variants), questions),
    )


def test_coverage_of_the_highest_of_kinds_with_several_variants() -> None:
    # The kind with the fewest misses has few questions that differ. 0.95 - 3 * sqrt(0.95 * 0.05 / 200) = 0.904.
    rng, held = np.random.default_rng(0), 0
    with mock.patch("lm_eval_cora.metrics.ranges.bootstrap", return_value=np.ones((2, 2))):  # no errors needed
        for _ in range(200):
            low, high = acc_max(drawn(rng, 100, 0.97, kinds=8, variants=4)).interval
            held += low <= 0.97 <= high
    assert held / 200 > 0.904


def test_coverage_of_macro_acc_with_categories_of_one_and_two_questions() -> None:
    # The two questions of a category are often alike, so its variance is often 0.
    rng, held = np.random.default_rng(0), 0
    categories = tuple(name for name, count in {"a": 1, "b": 2, "c": 40, "d": 80}.items() for _ in range(count))
    for _ in range(200):
        table = drawn(rng, 123, 0.7, kinds=1, variants=1)
        low, high = macro_acc(replace(table, categories=categories)).interval
        held += low <= 0.7 <= high
    assert held / 200 > 0.904
