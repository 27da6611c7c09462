"""Every metric compared with its slow oracle, and properties that hold for any answers."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers.records import Record
from tests.support import oracles, tables


def computed(members: list[list[Record]], metrics: tables.Metrics = tables.METRICS) -> dict[str, float]:
    return {name: estimate.value for name, estimate in tables.estimates(metrics, tables.table_of(members)).items()}


def assert_agreement(
    members: list[list[Record]], expected: dict[str, float | None], metrics: tables.Metrics = tables.METRICS
) -> None:
    with tables.without_errors():
        values = computed(members, metrics)
    assert set(expected) == set(values)
    for name, value in values.items():
        if expected[name] is None:
            assert isnan(value), name
        else:
            assert value == pytest.approx(expected[name]), name


@given(tables.questions())
def test_every_metric_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    assert_agreement(members, oracles.all_metrics(members))


@given(tables.study_questions())
def test_every_metric_of_the_study_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    assert_agreement(members, oracles.study_metrics(members), tables.STUDY)


@given(tables.study_questions(probe="plus"))
def test_every_metric_of_mcqa_plus_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    assert_agreement(members, oracles.plus_metrics(members), tables.PLUS)


@given(tables.study_questions(probe="plus"), st.integers(0, 8))
def test_one_variant_of_each_question_agrees_with_the_oracles(members: list[list[Record]], drawn: int) -> None:
    sampled = [[replace(records[drawn], ordinal=0, variants=1)] for records in members]
    expected = {"acc": oracles.acc, "mcqa_plus_sampled": oracles.mcqa_plus, "invalid": oracles.invalid}
    expected["followed"] = oracles.followed
    chosen = {name: tables.PLUS[name] for name in tables.SAMPLED}
    assert_agreement(sampled, {name: oracle(sampled) for name, oracle in expected.items()}, chosen)


@given(tables.questions(min_size=2))
def test_every_error_is_positive_and_every_interval_is_in_the_range(members: list[list[Record]]) -> None:
    table = tables.table_of(members)
    for name, metric in tables.METRICS.items():
        estimate = metric(table)
        value, stderr = estimate
        low, high = estimate.interval
        if name == "ci" and max(map(len, members)) == 1:  # it is 1 for all possible answers
            assert (value, stderr, low, high) == (1, 0, 1, 1)
            continue
        if name == "consistency_rate" and isnan(stderr):  # fewer than two questions with a comparable pair
            assert isnan(low)
            assert isnan(high)
            continue
        assert 0 < stderr < inf, name
        assert 0 <= low <= value <= high <= 1, name
        assert low < high, name


@pytest.mark.parametrize("scored", [False, True])
def test_larger_tables_of_the_study_agree_with_the_oracles(scored: bool) -> None:
    members = tables.random_study_questions(120, scored=scored)
    values = computed(members, tables.STUDY)
    assert_agreement(members, oracles.study_metrics(members), tables.STUDY)
    sizes = {name: value for name, value in values.items() if name.startswith("questions ")}
    assert min(sizes.values()) >= 5, sizes  # no subset is empty
    undefined = {name for name, value in values.items() if isnan(value) and not name.startswith("sc_buckets ")}
    forms = ("multi_share", "recall_") if scored else ("confidence_", "yes_no_mass")
    assert all(name.startswith(forms) for name in undefined)
