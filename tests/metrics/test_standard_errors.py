"""Each closed form against a plain bootstrap over questions."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.responses import Record

from .tables import METRICS, random_questions, table_of


def _mixed_sizes() -> list[list[Record]]:
    """200 questions with 8 or 26 variants, so that pooled shares and means over questions differ."""
    long = random_questions(120)
    short = [
        [replace(record, question_id=f"s{record.question_id}", variants=8) for record in records[:8]]
        for records in random_questions(80, seed=3)
    ]
    return long + short


@pytest.fixture(scope="module")
def bootstrapped() -> dict[str, tuple[float, float]]:
    """Reported error and bootstrapped error of each metric; 400 samples have an error of 1 / sqrt(800) = 3.5%."""
    members = _mixed_sizes()
    rng = random.Random(0)
    replicates: dict[str, list[float]] = {name: [] for name in METRICS}
    for _ in range(400):
        drawn = []
        for copy, records in enumerate(rng.choices(members, k=len(members))):
            drawn.append([replace(record, question_id=str(copy)) for record in records])
        table = table_of(drawn)
        for name, metric in METRICS.items():
            replicates[name].append(_value(metric, table))
    table = table_of(members)
    return {name: (METRICS[name](table).stderr, float(np.std(values, ddof=1))) for name, values in replicates.items()}


def _value(metric, table) -> float:  # type: ignore[no-untyped-def]
    return float(metric(table).value)


@pytest.mark.parametrize("name", METRICS)
def test_error_agrees_with_the_bootstrap(name: str, bootstrapped: dict[str, tuple[float, float]]) -> None:
    reported, expected = bootstrapped[name]
    # Four errors of the bootstrap itself, and a little for the curvature that the delta method leaves out.
    assert reported == pytest.approx(expected, rel=0.16)


def test_the_bootstrap_is_seeded() -> None:
    table = table_of(random_questions(50))
    assert metrics.acc_min(table) == metrics.acc_min(table)
