"""The task files: which names exist, that each builds, and what it asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_cora import metrics
from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.harness.loading import BENCHMARKS
from lm_eval_cora.harness.task import CoraTask
from lm_eval_cora.options import OptionError

from .simulated import TASKS, knows, run, scores

NAMES = ["cora_demo", "cora_local", "cora_medqa"]

METRICS = [
    *("acc", "cora", "ci", "mcqa", "mcqa_plus", "mv"),
    *("bmca@0.5", "bmca@0.6", "bmca@0.7", "bmca@0.8", "bmca@0.9", "bmca@1.0"),
    *("core", "consistency_rate", "acc_min", "acc_max", "invalid"),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A small file in the layout of each benchmark that is not in the package."""
    choices = ["Steam", "Ice", "Fog", "Dew", "Rain"]
    rows = {
        "local": {"question": "Frozen water?", "choices": choices, "answer": "Ice"},
        "medqa": {
            "question": "Frozen water?",
            "options": [{"key": key, "value": value} for key, value in zip("ABCDE", choices, strict=True)],
            "answer_idx": "B",
        },
    }
    for name, row in rows.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return {name: str(tmp_path / f"{name}.jsonl") for name in rows}


def manager(**options: object) -> TaskManager:
    return TaskManager(include_path=TASKS, include_defaults=False, metadata={"cora": options})


def build(name: str, **options: object) -> CoraTask:
    task = manager(**options).load([name])["tasks"][name]
    assert isinstance(task, CoraTask)
    return task


def test_exactly_these_names_are_registered() -> None:
    # A broken YAML is skipped by the harness without a word, so the whole list is compared.
    assert manager().all_tasks == NAMES
    assert {name.removeprefix("cora_") for name in NAMES} == set(BENCHMARKS)


@pytest.mark.parametrize("name", NAMES)
def test_every_task_builds_and_renders(name: str, files: dict[str, str]) -> None:
    file = files.get(name.removeprefix("cora_"))
    task = build(name, **({"data_files": file} if file else {}))
    docs = task.eval_docs
    assert len(docs) % 26 == 0
    assert task.doc_to_text(docs[0]).endswith("\nAnswer:")
    assert task.doc_to_target(docs[0]) in "ABCDE"
    assert list(task.higher_is_better()) == METRICS
    assert [name for name, higher in task.higher_is_better().items() if not higher] == ["invalid"]
    assert list(task.aggregation()) == METRICS + [f"{metric}_stderr" for metric in METRICS]
    assert task.VERSION == 1


def test_each_metric_of_the_yaml_is_the_function_of_its_name() -> None:
    task = build("cora_demo")
    for entry in task.config.metric_list:
        name, _, level = entry["metric"].partition("@")
        assert entry["aggregation"] is getattr(metrics, name)
        assert entry.get("level") == (float(level) if level else None)


def test_no_file_sets_zero_shots() -> None:
    # The harness would then ignore --num_fewshot.
    assert not [path for path in TASKS.rglob("*.yaml") if "num_fewshot: 0" in path.read_text()]


@pytest.mark.parametrize("path", sorted(TASKS.glob("[a-z]*/*.yaml")), ids=lambda path: path.stem)
def test_a_task_file_is_three_lines_and_has_a_readme(path: Path) -> None:
    assert len(path.read_text().splitlines()) == 3
    assert set(yaml.safe_load(path.read_text())) == {"task", "include", "metadata"}
    assert (path.parent / "README.md").is_file()


def test_a_doc_says_what_the_samples_file_needs(tmp_path: Path) -> None:
    path = tmp_path / "my.jsonl"
    path.write_text(
        '{"id": 7, "question": "Which?", "choices": ["Ice", "All of the above"], "answer": 0, "category": "c"}'
    )
    doc = build("cora_local", data_files=str(path)).eval_docs[1]
    assert doc == {
        "question_id": "7",
        "category": "c",
        "refers_to_options": True,
        "question": "Which?",
        "variants": 8,
        "ordinal": 1,
        "kind": "shuffled",
        "choices": ["All of the above", "Ice"],
        "printed": [1, 0],
        "answer": 0,
    }


def test_medqa_is_the_published_test_split(files: dict[str, str]) -> None:
    assert build("cora_medqa", data_files=files["medqa"]).config.dataset_kwargs == {
        "benchmark": "medqa",
        "hub_path": "lavita/medical-qa-datasets",
        "hub_config": "med-qa-en-5options-source",
        "hub_split": "test",
    }


def test_generation_is_greedy_and_short() -> None:
    # Eight tokens: room for "**Answer: (B)**", and for the word after a bare "A".
    expected = {"do_sample": False, "temperature": 0.0, "max_gen_toks": 8, "until": []}
    assert build("cora_demo").config.generation_kwargs == expected


def test_docs_are_expanded_once() -> None:
    task = build("cora_demo")
    assert task.eval_docs is task.eval_docs


def test_wrong_options_are_an_error_before_anything_runs() -> None:
    with pytest.raises(OptionError, match="cora_demo: unknown option 'question'"):
        build("cora_demo", question=5)
    with pytest.raises(BenchmarkError, match="local: no questions were given"):
        build("cora_local")


def test_metadata_that_is_not_ours_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    # The harness puts every --model_args key into the metadata, whatever it is called.
    foreign = {
        "seed": 5,
        "questions": 1,
        "Cora": {},
        "benchmark": "mmlu",
        "hub_path": "x",
        "options": "y",
        "dtype": "float32",
    }
    tasks = TaskManager(include_path=TASKS, include_defaults=False, metadata=foreign)
    assert len(tasks.load(["cora_demo"])["tasks"]["cora_demo"].eval_docs) == 120 * 26
    # But somebody who meant an option would pay for the whole benchmark.
    assert "cora_demo: 'questions' beside the key 'cora' is not read" in caplog.text
    assert "'seed'" not in caplog.text


def test_seed_and_nota_text_reach_the_docs() -> None:
    default, seeded = build("cora_demo").eval_docs, build("cora_demo", seed=1).eval_docs
    assert default[0] == seeded[0]
    assert [doc["printed"] for doc in default] != [doc["printed"] for doc in seeded]
    assert "None of these" in build("cora_demo", nota_text="None of these").eval_docs[2]["choices"]


@pytest.mark.parametrize(
    "entry",
    [
        "{metric: acc, aggregation: mean, higher_is_better: true}",
        "{metric: acc, higher_is_better: true}",
        "{metric: bmca, aggregation: !function lm_eval_cora.metrics.bmca, higher_is_better: true}",
        "{metric: bmca@x, aggregation: !function lm_eval_cora.metrics.bmca, level: x, higher_is_better: true}",
        "{metric: acc, aggregation: !function lm_eval_cora.metrics.acc, level: 1, higher_is_better: true}",
        "{metric: bmca@2, aggregation: !function lm_eval_cora.metrics.bmca, level: 2, higher_is_better: true}",
        "{metric: acc, aggregation: !function builtins.len, higher_is_better: true}",
    ],
)
def test_a_metric_that_cannot_be_computed_is_an_error_before_anything_runs(entry: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"task: mine\ninclude: {TASKS}/demo/cora_demo.yaml\nmetadata: {{version: 1}}\nmetric_list:\n  - {entry}\n"
    )
    with pytest.raises(OptionError, match=r"mine: metric_list: \{'metric': '(acc|bmca)"):
        TaskManager(include_path=tmp_path, include_defaults=False).load(["mine"])


def test_a_scoring_of_ones_own_that_returns_no_record(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"task: mine\ninclude: {TASKS}/demo/cora_demo.yaml\nmetadata: {{version: 1}}\n"
        "process_results: !function builtins.dict\n"
    )
    with pytest.raises(OptionError, match="mine: process_results must return a Record; of an empty response it made"):
        TaskManager(include_path=tmp_path, include_defaults=False).load(["mine"])


def test_a_task_file_of_ones_own_may_choose_among_the_metrics(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        f"task: mine\ninclude: {TASKS}/demo/cora_demo.yaml\nmetadata: {{version: 1, cora: {{questions: 2}}}}\n"
        "metric_list:\n  - {metric: bmca@0.75, aggregation: !function lm_eval_cora.metrics.bmca, level: 0.75}\n"
    )
    assert scores(run(knows, "mine", None, tmp_path), "mine")["bmca@0.75"] == 1.0
