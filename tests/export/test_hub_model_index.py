from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.hub import model_index
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run
from tests.support.exported import cut, write
from tests.support.simulated import knows, run


def test_every_defined_metric_comes_back_from_a_card(runs: list[Run]) -> None:
    card = ModelCard(f"---\n{model_index(runs)}---\n# Some model\n")
    found = {(one.metric_args["task"], one.metric_type): one for one in card.data.eval_results}
    expected = {
        (one.name, name): estimate
        for one in runs
        for name, estimate in one.estimates.items()
        if not isnan(estimate.value)
    }
    assert found.keys() == expected.keys()
    assert len(card.data.eval_results) == len(expected)
    for key, estimate in expected.items():
        assert found[key].metric_value == estimate.value
        assert isnan(estimate.stderr) == ("stderr" not in found[key].metric_args)
        assert isnan(estimate.stderr) or found[key].metric_args["stderr"] == estimate.stderr
        assert found[key].metric_name == f"{key[1]} ({key[0]})"


def test_the_content_of_a_card(runs: list[Run]) -> None:
    (model,) = yaml.safe_load(model_index(runs))["model-index"]
    assert model["name"] == "some-org/some-model"
    (data,) = model["results"]  # one dataset
    assert data["task"] == {"type": "text-generation"}
    assert data["dataset"] == {"name": "demo", "type": "demo"}
    (metric,) = [one for one in data["metrics"] if one["name"] == "cora (cora_demo)"]
    # One of two questions is right in every variant: 0.5 (1 - 0.5 + 0.5).
    assert (metric["type"], metric["value"]) == ("cora", 0.5)
    assert metric["args"]["signature"].startswith("cora|task:cora_demo@4|")
    assert metric["args"]["questions"] == 2


def test_data_of_the_hub(runs: list[Run]) -> None:
    source = {"hub": "org/math", "config": ["algebra", "geometry"], "split": "test", "revision": "abc"}
    config = {**runs[0].config, "benchmark": source}
    one = replace(runs[0], data=Data("math"), results={**runs[0].results, "configs": {runs[0].name: config}})
    (model,) = yaml.safe_load(model_index([one]))["model-index"]
    assert model["results"][0]["dataset"] == {
        "name": "math",
        "type": "org/math",
        "config": "algebra, geometry",
        "split": "test",
        "revision": "abc",
    }


def test_data_of_one_name_are_separate(runs: list[Run]) -> None:
    digests = ("1a2b3c4d", "5e6f7a8b")
    both = [replace(runs[0], data=Data("my", digest), label=f"my {digest}", results={}) for digest in digests]
    (model,) = yaml.safe_load(model_index(both))["model-index"]
    assert len(model["results"]) == 2
    for data, digest in zip(model["results"], digests, strict=True):
        assert data["dataset"] == {"name": "my", "type": f"my {digest}"}
        assert {metric["args"]["data"] for metric in data["metrics"]} == {digest}


def test_one_model_only(runs: list[Run]) -> None:
    with pytest.raises(UserError, match=r" 2: other, some-org/some-model"):
        model_index([runs[0], replace(runs[1], model="other")])


def test_without_a_defined_metric(tmp_path: Path) -> None:
    write(tmp_path, run(knows, options={"questions": 1}))
    cut(tmp_path, lines=5)
    with pytest.raises(UserError, match="undefined"):
        model_index(read_runs([tmp_path]))
