from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.hub import eval_yaml
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.runs.model_run import Run
from tests.support.exported import HOSTILE, asked_from


def content_of(runs: list[Run], metric: str = "") -> dict[str, Any]:
    text, note = eval_yaml(runs, "org/bench", metric)
    assert text.startswith(f"# {note}\n")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def test_the_content(runs: list[Run]) -> None:
    content = content_of([asked_from(run, hub="org/bench", config="five", split="test") for run in runs])
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["name"] == "bench: consistency"
    assert content["evaluation_framework"] == "lm-evaluation-harness"
    names = ["cora_demo", "cora_demo_mc", "cora_demo_revas"]
    assert content["tasks"] == [{"id": name, "config": "five", "split": "test"} for name in names]
    for name, metric in zip(names, ["cora", "cora", "acc_h@original"], strict=True):
        assert f"{name} asks " in content["description"]
        assert f"; its value is {metric}. " in content["description"]
    assert content_of(runs[:2], "mcqa")["description"].count("value is mcqa. Share of questions whose original") == 2


def test_questions_that_are_not_on_the_hub_have_no_configuration(runs: list[Run]) -> None:
    for run in (runs[0], asked_from(runs[0], data_files="my.jsonl", split="test")):
        assert content_of([run])["tasks"] == [{"id": "cora_demo"}]


def test_a_task_of_several_models_is_listed_once_and_different_data_separately(runs: list[Run]) -> None:
    assert content_of([runs[0], replace(runs[0], model="other")]) == content_of(runs[:1])
    both = [replace(runs[0], data=Data(name), label=name) for name in ("german", "french")]
    assert [task["id"] for task in content_of(both)["tasks"]] == ["cora_demo/french", "cora_demo/german"]


def test_errors(runs: list[Run]) -> None:
    with pytest.raises(UserError, match="--metric mccqa: there is no such metric"):
        eval_yaml(runs, "org/bench", "mccqa")
    with pytest.raises(UserError, match=r"cora_demo: expected questions from org/bench, .* org/other"):
        eval_yaml([asked_from(runs[0], hub="org/other")], "org/bench")
    with pytest.raises(UserError, match=r"one configuration of org/bench, got 2: algebra, geometry"):
        eval_yaml([asked_from(runs[0], hub="org/bench", config=["algebra", "geometry"])], "org/bench")
    with pytest.raises(UserError, match=r"--dataset 'bench'"):
        eval_yaml(runs, "bench")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names(runs: list[Run], text: str) -> None:
    run = replace(asked_from(runs[0], hub="org/bench", config=text, split=text), label=text)
    written, _ = eval_yaml([run], "org/bench")
    cleaned = " ".join(text.replace("\x00", "\ufffd").split())
    assert yaml.safe_load(written)["tasks"] == [{"id": f"cora_demo/{cleaned}", "config": cleaned, "split": cleaned}]
    assert written.count("\n") == 8
