"""The typical models: the numbers of the paper, and those of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lm_eval_cora.decide.plan import METRICS, MODELS, chosen, estimate_of

COST = Path(__file__).parents[2] / "docs/cost.md"


def test_the_scores_are_those_of_the_paper() -> None:
    # CoRA, tables 1 to 4: mcqa, bmca@1.0, cora, to the rounding of two digits.
    printed = {
        ("GPT4o", "MedQA"): 0.75,
        ("MedL", "MedQA"): 0.33,
        ("Llam", "Arc-C"): 0.25,
        ("DSeek", "TruthfulQA"): 0.24,
    }
    found = {(model.name, model.benchmark): estimate_of(model, "cora").value for model in MODELS}
    assert {key: found[key] for key in printed} == pytest.approx(printed, abs=0.01)
    assert len(found) == 16


def test_the_requests_are_those_of_the_documentation() -> None:
    rows = re.findall(r"^\| (.+?) (\w+) \| [\d.]+ \| [\d.]+ \| (\d+) \| ([\d.]+) \|", COST.read_text("utf-8"), re.M)
    told = {(name, benchmark): (int(full), float(exact)) for benchmark, name, full, exact in rows}
    assert told == {(model.name, model.benchmark): (model.variants, model.requests) for model in MODELS}


@pytest.mark.parametrize("metric", METRICS)
def test_the_metrics_and_errors(metric: str) -> None:
    model = MODELS[1]
    m, b = model.mcqa, model.bmca
    values = {"cora": m * (1 - m + b), "mcqa": m, "ci": 1 - m + b, "bmca@1.0": b}
    # The variances of x, y and x - y, and that of the influence (1 - 2m + b)(x - m) + m (y - b), with E[xy] = b.
    by_m = 1 - 2 * m + b
    squares = {"mcqa": m * (1 - m), "bmca@1.0": b * (1 - b), "ci": (m - b) * (1 - m + b)}
    squares["cora"] = by_m**2 * m * (1 - m) + m**2 * b * (1 - b) + 2 * by_m * m * b * (1 - m)
    found = estimate_of(model, metric)
    assert found.value == pytest.approx(values[metric])
    assert found.stderr**2 * 1_000 == pytest.approx(squares[metric], rel=0.01)


@pytest.mark.parametrize("metric", METRICS)
def test_three_models_from_few_to_many_questions(metric: str) -> None:
    errors = [estimate_of(model, metric).stderr for _, model in chosen(metric)]
    every = sorted(estimate_of(model, metric).stderr for model in MODELS)
    assert [errors[0], errors[2]] == [every[0], every[-1]]
    assert sum(error < errors[1] for error in every) == pytest.approx(8, abs=2)
