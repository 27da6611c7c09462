from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_cora.discovery.location import register_tag, tasks_folder
from tests.support.simulated import knows, run, scores

DECLARED = """\
task: mine
include: !cora [generate, divergent]
benchmark:
  hub: allenai/openbookqa
  config: main
  split: test
  fewshot_split: train
  question: question_stem
  choices: choices.text
  labels: choices.label
  answer: answerKey
metadata: {version: 1}
"""


@pytest.fixture(autouse=True)
def _tag() -> None:
    register_tag()


@pytest.mark.usefixtures("hub")
def test_a_task_file_in_any_folder_names_fragments_and_columns(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(DECLARED)
    results = run(knows, "mine", {}, tmp_path)
    assert scores(results, "mine")["cora"] == 1.0
    assert results["configs"]["mine"]["metadata"]["benchmark"]["name"] == "openbookqa_main"
    shots = run(knows, "mine", {}, tmp_path, num_fewshot=2)
    assert shots["samples"]["mine"][0]["arguments"][0][0].count("In train, which number") == 2


def test_a_task_file_with_files_of_its_own(tmp_path: Path) -> None:
    rows = [{"Stem": f"{n}?", "opts": ["Ice", "Fog"], "right": "Fog"} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine.yaml").write_text(
        "task: mine\ninclude: [!cora generate, !cora order]\n"
        f"benchmark: {{data_files: {tmp_path}/rows.jsonl, question: stem, choices: opts, answer: right}}\n"
        "metadata: {version: 1}\n"
    )
    task = TaskManager(include_path=str(tmp_path), include_defaults=False).load(["mine"])["tasks"]["mine"]
    assert [doc["question"] for doc in task.eval_docs if doc["original"]] == ["0?", "1?", "2?"]
    assert task.dump_config()["benchmark"]["name"] == "rows"


def test_every_fragment_has_a_name_of_its_own() -> None:
    files = [path for folder in ("_forms", "_benchmarks", "_probes") for path in (tasks_folder() / folder).iterdir()]
    paths = yaml.safe_load(f"!cora [{', '.join(path.stem for path in files)}]")
    assert paths == list(map(str, files))


def test_an_unknown_fragment_is_named_with_its_place() -> None:
    with pytest.raises(yaml.YAMLError, match=r"'divergant'.*'divergent'(.|\n)*line 1"):
        yaml.safe_load("include: !cora [generate, divergant]")
    with pytest.raises(yaml.YAMLError, match=r"line 1"):
        yaml.safe_load("include: !cora {generate: 1}")
