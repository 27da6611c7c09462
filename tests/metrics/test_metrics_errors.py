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
from tests.support.tables import METRICS, Metrics, estimates, random_questions, resampled, table_of, without_errors


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


@pytest.mark.parametrize("macro", [False, True])
def test_errors_of_the_aggregated_row_agree_with_the_bootstrap(macro: bool) -> None:
    tables = {
        "prompts": table_of(random_score_questions(200, "prompts", (3, 4, 5), seed=1)),
        "order": table_of(random_score_questions(200, "order", (3, 4, 4, 5), seed=2)),
    }

    def row(part: dict[str, ResponseTable]) -> dict[str, Estimate]:
        found = metrics.aggregated(**part, macro=macro)._asdict()
        return {name: value for name, value in found.items() if isinstance(value, Estimate)}

    rng = np.random.default_rng(0)
    with without_errors():
        drawn = [rng.integers(200, size=200) for _ in range(400)]
        replicates = [row({probe: resampled(table, each) for probe, table in tables.items()}) for each in drawn]
    for name, estimate in row(tables).items():
        expected = np.std([replicate[name].value for replicate in replicates], ddof=1)
        assert estimate.stderr == pytest.approx(expected, rel=0.145), name
