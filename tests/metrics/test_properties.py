"""Every metric against its slow oracle, and what must hold for any answers."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import pytest
from hypothesis import given

from lm_eval_cora.responses import Record
from tests import oracles

from .tables import METRICS, questions, random_questions, table_of

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def computed(members: list[list[Record]]) -> dict[str, float]:
    table = table_of(members)
    return {name: metric(table).value for name, metric in METRICS.items()}


@given(questions())
def test_every_metric_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    expected, values = oracles.all_metrics(members), computed(members)
    assert set(expected) == set(values)
    for name, value in values.items():
        if expected[name] is None:
            assert isnan(value), name
        else:
            assert value == pytest.approx(expected[name]), name


@given(questions())
def test_every_metric_lies_between_0_and_1_and_they_are_ordered(members: list[list[Record]]) -> None:
    values = computed(members)
    assert all(isnan(value) or -1e-12 <= value <= 1 + 1e-12 for value in values.values())
    curve = [values[f"bmca@{level}"] for level in LEVELS]
    assert curve == sorted(curve, reverse=True)
    assert values["bmca@1.0"] <= values["mcqa"] + 1e-12
    assert values["cora"] <= values["mcqa"] + 1e-12
    assert values["mv"] <= values["bmca@0.5"] + 1e-12
    assert values["acc_min"] <= values["acc_max"] + 1e-12


@given(questions(min_size=2))
def test_every_standard_error_is_finite(members: list[list[Record]]) -> None:
    table = table_of(members)
    for name, metric in METRICS.items():
        stderr = metric(table).stderr
        # Fewer than two questions may have a comparable pair.
        assert 0 <= stderr < inf or (name == "consistency_rate" and isnan(stderr)), name


def test_a_larger_table_agrees_with_the_oracles() -> None:
    members = random_questions(60) + [
        [replace(record, question_id=f"{record.question_id}+", variants=14) for record in records[:14]]
        for records in random_questions(40, seed=1)
    ]
    assert computed(members) == pytest.approx(oracles.all_metrics(members))
