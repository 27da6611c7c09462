from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.hub import eval_yaml
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.runs.model_run import Run
from tests.support.exported import HOSTILE, asked_from


def test_the_content(runs: list[Run]) -> None:
    own = [asked_from(run, hub="org/bench", config="five", split="test", revision="main") for run in runs]
    written, note = eval_yaml(own, "org/bench")
    assert written.startswith(f"# {note}\n")
    content = yaml.safe_load(written)
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["name"] == "bench: consistency"
    assert content["evaluation_framework"] == "lm-evaluation-harness"
    names = ["cora_demo", "cora_demo_mc", "cora_demo_revas"]
    assert content["tasks"] == [{"id": name, "config": "five", "split": "test"} for name in names]
    for name, metric in zip(names, ["cora", "cora", "acc_h@original"], strict=True):
        assert f"{name} asks " in content["description"]
        assert f"; its value is {metric}. " in content["description"]


def test_questions_that_are_not_on_the_hub_have_no_configuration(runs: list[Run]) -> None:
    for run in (runs[0], asked_from(runs[0], data_files="my.jsonl", split="test")):
        assert yaml.safe_load(eval_yaml([run], "org/bench")[0])["tasks"] == [{"id": "cora_demo"}]


def test_a_task_of_several_models_is_listed_once(runs: list[Run]) -> None:
    both = [runs[0], replace(runs[0], model="other")]
    assert eval_yaml(both, "org/bench") == eval_yaml(runs[:1], "org/bench")


def test_different_data_of_a_task_have_different_ids(runs: list[Run]) -> None:
    both = [replace(runs[0], data=Data(name), label=name) for name in ("german", "french")]
    ids = [task["id"] for task in yaml.safe_load(eval_yaml(both, "org/bench")[0])["tasks"]]
    assert ids == ["cora_demo/french", "cora_demo/german"]


def test_another_metric(runs: list[Run]) -> None:
    description = yaml.safe_load(eval_yaml(runs[:2], "org/bench", "mcqa")[0])["description"]
    assert description.count("its value is mcqa. Share of questions whose original") == 2
    with pytest.raises(UserError, match="--metric mccqa: there is no such metric"):
        eval_yaml(runs, "org/bench", "mccqa")


def test_questions_of_another_dataset(runs: list[Run]) -> None:
    with pytest.raises(UserError, match=r"cora_demo: expected questions from org/bench, .* org/other"):
        eval_yaml([asked_from(runs[0], hub="org/other")], "org/bench")


def test_several_configurations(runs: list[Run]) -> None:
    run = asked_from(runs[0], hub="org/bench", config=["algebra", "geometry"])
    with pytest.raises(UserError, match=r"one configuration of org/bench, got 2: algebra, geometry"):
        eval_yaml([run], "org/bench")


def test_a_wrong_dataset(runs: list[Run]) -> None:
    with pytest.raises(UserError, match=r"--dataset 'bench'"):
        eval_yaml(runs, "bench")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names(runs: list[Run], text: str) -> None:
    run = replace(asked_from(runs[0], hub="org/bench", config=text, split=text), label=text)
    written, _ = eval_yaml([run], "org/bench")
    content = yaml.safe_load(written)
    cleaned = " ".join(text.replace("\x00", "\ufffd").split())
    assert content["tasks"] == [{"id": f"cora_demo/{cleaned}", "config": cleaned, "split": cleaned}]
    assert written.count("\n") == 8
