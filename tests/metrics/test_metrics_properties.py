"""Every metric compared with its slow oracle, and properties that hold for any answers."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_cora.answers.records import Record
from tests.support import oracles
from tests.support.tables import (
    METRICS,
    PLUS,
    SAMPLED,
    STUDY,
    Metrics,
    estimates,
    questions,
    random_study_questions,
    study_questions,
    table_of,
    without_errors,
)

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def computed(members: list[list[Record]], metrics: Metrics = METRICS) -> dict[str, float]:
    return {name: estimate.value for name, estimate in estimates(metrics, table_of(members)).items()}


def assert_agreement(
    members: list[list[Record]], expected: dict[str, float | None], metrics: Metrics = METRICS
) -> None:
    with without_errors():
        values = computed(members, metrics)
    assert set(expected) == set(values)
    for name, value in values.items():
        if expected[name] is None:
            assert isnan(value), name
        else:
            assert value == pytest.approx(expected[name]), name


@given(questions())
def test_every_metric_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    assert_agreement(members, oracles.all_metrics(members))


@given(study_questions())
def test_every_metric_of_the_study_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    assert_agreement(members, oracles.study_metrics(members), STUDY)


@given(study_questions(probe="plus"))
def test_every_metric_of_mcqa_plus_agrees_with_its_oracle(members: list[list[Record]]) -> None:
    assert_agreement(members, oracles.plus_metrics(members), PLUS)


@given(study_questions(probe="plus"), st.integers(0, 8))
def test_one_variant_of_each_question_agrees_with_the_oracles(members: list[list[Record]], drawn: int) -> None:
    sampled = [[replace(records[drawn], ordinal=0, variants=1)] for records in members]
    expected = {"acc": oracles.acc, "mcqa_plus_sampled": oracles.mcqa_plus, "invalid": oracles.invalid}
    expected["followed"] = oracles.followed
    chosen = {name: PLUS[name] for name in SAMPLED}
    assert_agreement(sampled, {name: oracle(sampled) for name, oracle in expected.items()}, chosen)


@given(questions())
def test_every_metric_is_between_0_and_1_and_they_are_ordered(members: list[list[Record]]) -> None:
    values = computed(members)
    assert all(isnan(value) or -1e-12 <= value <= 1 + 1e-12 for value in values.values())
    curve = [values[f"bmca@{level}"] for level in LEVELS]
    assert curve == sorted(curve, reverse=True)
    assert values["bmca@1.0"] <= values["mcqa"] + 1e-12
    assert values["cora"] <= values["mcqa"] + 1e-12
    assert values["mv"] <= values["bmca@0.5"] + 1e-12
    assert values["acc_min"] <= values["acc_max"] + 1e-12


@given(questions(min_size=2))
def test_every_error_is_positive_and_every_interval_is_in_the_range(members: list[list[Record]]) -> None:
    table = table_of(members)
    for name, metric in METRICS.items():
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


WHOLE = {"acc", "mcqa", "invalid", "followed", "ties", "nota_acc", "nota_acc_h", "nota_acc_diff", "nota_acc_h_diff"}
"""The metrics of the study that use all questions, besides those with `...@n`."""


@given(study_questions())
def test_every_metric_of_the_study_is_in_its_range_and_they_are_ordered(members: list[list[Record]]) -> None:
    values = computed(members, STUDY)
    for name, value in values.items():
        low, high = (
            (-1, 1) if "_diff" in name else (0, inf if name.startswith(("questions", "confidence_ratio")) else 1)
        )
        assert isnan(value) or low - 1e-12 <= value <= high + 1e-12, name
    for options in (2, 3, 6, 8, 10, "original"):
        assert values[f"acc_h@{options}"] <= values[f"acc@{options}"] + 1e-12
        assert values[f"acc_h@{options}"] <= values[f"sc@{options}"] + 1e-12
        assert values[f"sc@{options}"] >= (0.1 if options == "original" else 1 / options) - 1e-12
    assert values["acc@original"] == values["mcqa"]
    assert values["nota_acc_h"] <= values["nota_acc"] + 1e-12
    assert values["questions always_right"] == pytest.approx(values["acc_h@original"] * len(members))
    assert values["questions wrong"] == pytest.approx((1 - values["mcqa"]) * len(members))
    for orders in {name.split("/")[1].split()[0] for name in values if name.startswith("sc_buckets")}:
        shares = [value for name, value in values.items() if name.endswith(f"/{orders} share")]
        assert len(shares) == int(orders)
        assert sum(shares) == pytest.approx(1)


@settings(max_examples=40)
@given(study_questions(min_size=2))
def test_errors_of_the_study_are_finite_or_of_fewer_than_two_questions(members: list[list[Record]]) -> None:
    found = estimates(STUDY, table_of(members))
    for name, estimate in found.items():
        value, stderr = estimate
        low, high = estimate.interval
        assert isnan(low) == isnan(high) == isnan(stderr), name
        if "confidence_ratio" in name:  # of unknown limits: it cannot vary if no question of the sample does
            assert isnan(stderr) or (0 <= stderr < inf and 0 <= low <= value <= high < inf), name
        else:
            least = -1 if "_diff" in name else 0
            assert isnan(stderr) or (0 < stderr < inf and least <= low <= value <= high <= 1 and low < high), name
        if name in WHOLE or "@" in name:
            assert not isnan(stderr), name
        elif name.startswith("tf_") or name.endswith("_always_right"):
            assert isnan(stderr) == (found["questions always_right"].value < 2), name
        elif name.endswith("_multi"):
            assert isnan(stderr) or found["questions misled"].value >= 2, name
        elif name in ("multi_share", "recall_right", "recall_misleading", "replaced_acc"):
            assert isnan(value) or isnan(stderr) == (found["questions misled"].value < 2), name
        elif isnan(value):
            assert isnan(stderr), name


@pytest.mark.parametrize("scored", [False, True])
def test_larger_tables_of_the_study_agree_with_the_oracles(scored: bool) -> None:
    members = random_study_questions(150, scored=scored)
    values = computed(members, STUDY)
    assert_agreement(members, oracles.study_metrics(members), STUDY)
    sizes = {name: value for name, value in values.items() if name.startswith("questions ")}
    assert min(sizes.values()) >= 5, sizes  # no subset is empty
    undefined = {name for name, value in values.items() if isnan(value) and not name.startswith("sc_buckets ")}
    forms = ("multi_share", "recall_") if scored else ("confidence_", "yes_no_mass")
    assert all(name.startswith(forms) for name in undefined)
