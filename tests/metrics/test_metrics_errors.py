"""Each closed form of a standard error, compared with a plain bootstrap over questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.score_tables import random_score_questions
from tests.support.tables import (
    METRICS,
    ORDER,
    PLUS,
    PROMPTS,
    STUDY,
    Metrics,
    estimates,
    random_questions,
    random_study_questions,
    resampled,
    table_of,
    without_errors,
)


def _mixed_sizes() -> list[list[Record]]:
    """Return 200 questions with 8 or 26 variants, so that pooled shares and means over questions differ."""
    long = random_questions(120)
    short = [
        [replace(record, question_id=f"s{record.question_id}", variants=8) for record in records[:8]]
        for records in random_questions(80, seed=3)
    ]
    return long + short


def _both_errors(chosen: Metrics, table: ResponseTable) -> dict[str, tuple[Estimate, float]]:
    """Return each estimate with its bootstrapped error, except estimates that are undefined in a sample.

    With 400 samples, the error of the bootstrap is 1 / sqrt(800) = 3.5%.
    """
    rng = np.random.default_rng(0)
    count = len(table.sizes)
    with without_errors():
        replicates = [estimates(chosen, resampled(table, rng.integers(count, size=count))) for _ in range(400)]
    result = {}
    for name, estimate in estimates(chosen, table).items():
        values = [replicate[name].value for replicate in replicates if name in replicate]
        if len(values) == 400 and not np.isnan(values).any():
            result[name] = (estimate, float(np.std(values, ddof=1)))
    return result


@pytest.fixture(scope="module")
def bootstrapped() -> dict[str, tuple[Estimate, float]]:
    return _both_errors(METRICS, table_of(_mixed_sizes()))


@pytest.mark.parametrize("name", METRICS)
def test_error_agrees_with_the_bootstrap(name: str, bootstrapped: dict[str, tuple[Estimate, float]]) -> None:
    estimate, expected = bootstrapped[name]
    # Tolerance: four errors of the bootstrap, and a little for the factor sqrt(N / (N - 1)).
    assert estimate.stderr == pytest.approx(expected, rel=0.145)


@pytest.mark.parametrize("probe", ["divergent", "study", "prompts", "order"])
def test_values_computed_without_errors_are_the_same(probe: str) -> None:
    chosen, members = {
        "divergent": (METRICS, random_questions(20, 10)),
        "study": (STUDY, random_study_questions(20)),
        "prompts": (PROMPTS, random_score_questions(20, "prompts", (4,), 0)),
        "order": (ORDER, random_score_questions(20, "order", (4, 5), 0)),
    }[probe]
    # The expected spread is itself a property of the sample's errors.
    chosen = {name: metric for name, metric in chosen.items() if name != "recall_spread_by_chance"}
    table = table_of(members)
    values = {name: estimate.value for name, estimate in estimates(chosen, table).items()}
    with without_errors():
        alone = {name: estimate.value for name, estimate in estimates(chosen, table).items()}
    assert alone == pytest.approx(values, rel=0, abs=0, nan_ok=True)


def test_the_bootstrap_is_seeded() -> None:
    table = table_of(random_questions(50))
    assert metrics.acc_min(table) == metrics.acc_min(table)


SCORED = [name for name in STUDY if name.startswith("confidence_") or name in ("ties", "yes_no_mass")]
"""Metrics of the study that exist only in the loglikelihood form."""

ERRORS = [name for name in STUDY if name != "questions"]


@pytest.fixture(scope="module")
def study_bootstrapped() -> dict[str, tuple[Estimate, float]]:
    """Bootstrap 200 questions with three, four and a few with ten options, in both forms."""
    options = (3, 3, 4, 4, 4, 10)
    written = table_of(random_study_questions(200, options, seed=1))
    scored = table_of(random_study_questions(200, options, seed=2, scored=True))
    plus = table_of(random_study_questions(200, (2, 4, 10), seed=3, probe="plus"))
    return {
        **_both_errors({name: STUDY[name] for name in ERRORS if name not in SCORED}, written),
        **_both_errors({name: STUDY[name] for name in SCORED}, scored),
        **_both_errors({"mcqa_plus_diff": PLUS["mcqa_plus_diff"]}, plus),
    }


@pytest.mark.parametrize("name", [*ERRORS, "mcqa_plus_diff"])
def test_error_of_the_study_agrees_with_the_bootstrap(
    name: str, study_bootstrapped: dict[str, tuple[Estimate, float]]
) -> None:
    found = {key: both for key, both in study_bootstrapped.items() if key == name or key.startswith(f"{name} ")}
    assert found
    if name == "sc_buckets":
        large = {f"{key} {part}" for key in ("3/3", "2/3", "4/4", "3/4", "2/4") for part in ("share", "accuracy")}
        found = {key: both for key, both in found.items() if key.removeprefix("sc_buckets ") in large | {"1/4 share"}}
        assert len(found) >= 9
    for key, (estimate, expected) in found.items():
        assert estimate.stderr == pytest.approx(expected, rel=0.145), key


def test_a_resampled_table_is_the_table_of_the_resampled_records() -> None:
    members = random_study_questions(12, seed=4)
    drawn = np.array([3, 3, 0, 11, 5])
    copies = [[replace(record, question_id=f"{i:06d}") for record in members[q]] for i, q in enumerate(drawn)]
    one, other = estimates(STUDY, resampled(table_of(members), drawn)), estimates(STUDY, table_of(copies))
    assert one.keys() == other.keys()
    assert np.allclose([list(e) for e in one.values()], [list(e) for e in other.values()], equal_nan=True)
