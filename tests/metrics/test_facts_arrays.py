"""Metrics of right and wrong answers on arrays: the same values as on tables; undefined if skipped variants matter."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.responses import ResponseTable

METRICS = [
    metrics.acc,
    metrics.mcqa,
    metrics.mcqa_plus,
    metrics.mcqa_plus_diff,
    metrics.mv,
    metrics.ci,
    metrics.cora,
    metrics.core,
]


def test_by_hand() -> None:
    correct = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    # Originals 1, 1, 0, 1; all right 1, 0, 0, 1: mcqa 3/4, bmca@1.0 2/4, ci 1 - (3/4 - 2/4), cora 3/4 * 3/4.
    assert metrics.mcqa(correct).value == 0.75
    assert metrics.bmca(correct, 1.0).value == 0.5
    assert metrics.ci(correct).value == 0.75
    assert metrics.cora(correct).value == 0.5625
    assert metrics.acc(correct).value == pytest.approx(10 / 12)
    # The last variant is the original: 1, 1, 1, 1; cora is 1 * (1 - (1 - 2/4)).
    assert metrics.cora(correct, original=2).value == 0.5


@pytest.mark.parametrize(
    "correct",
    [
        np.array([[True, False], [True, True]]),
        np.array([[1, 0], [1, 1]]),
        np.array([[1.0, 0.0], [1.0, 1.0]]),
        [[True, False], [True, True]],
        ((1, 0), (1, 1)),
        pd.DataFrame([[True, False], [True, True]]),
        pd.DataFrame([[True, False], [True, True]]).astype("boolean"),
    ],
)
def test_every_kind_of_array(correct: Any) -> None:
    assert metrics.cora(correct) == metrics.cora(ResponseTable.from_hits([[1, 0], [1, 1]]))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("empty", [[], np.zeros((0, 3))])
def test_no_questions(metric: Any, empty: Any) -> None:
    assert isnan(metric(empty).value)


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        ([[1, 2]], "got 2 for variant 1 of question 0"),
        ([[1, 0], [0, -1, 1]], "got -1 for variant 1 of question 1"),
        ([True, False], "shape"),
        ([[]], "shape"),
        ([["right"]], "shape"),
        (np.zeros((2, 2, 2)), "shape"),
        (3, "shape"),
        ("ab", "shape"),
        (None, "shape"),
    ],
)
def test_wrong_arrays(correct: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metrics.acc(correct)


@pytest.mark.parametrize("original", [-1, 2, 3])
def test_a_row_that_is_too_short_for_the_original(original: int) -> None:
    with pytest.raises(ValueError, match=r"question 1 has 2 variants"):
        metrics.cora([[1, 1, 1, 1], [1, 1]], original=original)


@pytest.mark.parametrize("original", [1.5, "0", True])
def test_an_original_that_is_not_a_position(original: Any) -> None:
    with pytest.raises(ValueError, match="original: expected the position"):
        metrics.mcqa([[1, 1]], original=original)
    assert metrics.mcqa([[1, 0]], original=np.int64(1)).value == 0.0


@pytest.mark.parametrize("level", [nan, "abc", None, -0.1, 1.1])
def test_a_level_that_is_not_a_share(level: Any) -> None:
    with pytest.raises(ValueError, match="expected a share from 0 to 1"):
        metrics.bmca([[1, 1]], level)


def test_masked_values_are_skipped() -> None:
    masked = np.ma.masked_array([[1, 1], [1, 0]], mask=[[0, 0], [0, 1]])
    assert isnan(metrics.acc(masked).value)
    assert metrics.mcqa(masked).value == 1.0


def test_a_skipped_original_leaves_what_does_not_need_it() -> None:
    assert metrics.bmca([[True, False], [None, False]], 1.0).value == 0.0
    assert isnan(metrics.cora([[True, False], [None, False]]).value)


def test_kinds_are_those_that_there_are() -> None:
    assert ResponseTable.from_hits([[1], [0]]).kinds == ("original",)
    assert ResponseTable.from_hits([[1, 1]], original=None).kinds == ("variant",)


def test_without_an_original() -> None:
    assert isnan(metrics.cora([[1, 1]], original=None).value)
    assert metrics.acc(ResponseTable.from_hits([[1, 1]], original=None)).value == 1.0


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=5))
def test_the_same_as_records(correct: list[list[bool]]) -> None:
    """Oracle: the table that the harness' Records make."""
    table = ResponseTable.from_records(
        Record(
            f"{number:09d}",
            len(row),
            place,
            "variant" if place else "original",
            (0, 1),
            0,
            picked=0 if hit else 1,
            position=0 if hit else 1,
            original=not place,
            followed=True,
        )
        for number, row in enumerate(correct)
        for place, hit in enumerate(row)
    )
    for metric in [*METRICS, metrics.all_equal, metrics.consistency_rate, metrics.followed]:
        one: Estimate = metric(ResponseTable.from_hits(correct))
        other: Estimate = metric(table)
        assert np.array_equal([*one], [*other], equal_nan=True), metric
