"""What differs between versions of the harness, and what must hold with each of them."""

import json
from pathlib import Path

import pytest
import yaml
from lm_eval.models.api_models import JsonChatStr
from lm_eval.tasks import TaskManager

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import versions
from lm_eval_cora.harness.task import CoraTask
from tests.support.building import build
from tests.support.rows import write as write_rows
from tests.support.simulated import TASKS, Simulated, knows, run, scores

FOUND = {"include_defaults": False, "metadata": {"cora": {"task": "digits_en"}}}
LINES = (Path(__file__).parents[2] / "lm_eval_cora/harness/versions.py").read_text().splitlines()


def test_all_that_depends_on_the_version_is_in_a_short_file():
    assert len(LINES) <= 160


@pytest.mark.parametrize(("installed", "warnings"), [("0.4.13", 0), ("0.5.0.dev1", 0), ("0.5.0", 1)])
def test_a_version_that_was_not_tried_gives_one_warning(monkeypatch, caplog, installed, warnings):
    monkeypatch.setattr(versions, "version", lambda _: installed)
    versions.warn_if_untried.cache_clear()
    for _ in range(2):
        run(knows, ["cora_demo", "cora_demo_plus"], {"questions": 1})
    versions.warn_if_untried.cache_clear()
    found = [one.getMessage() for one in caplog.records if "has been tried with" in one.getMessage()]
    assert len(found) == warnings
    assert all(text.startswith(f"lm-eval {installed}: ") for text in found)


def test_a_variant_that_the_harness_leaves_out_ends_the_run_before_the_first_request(monkeypatch):
    built = CoraTask.construct_requests

    def without_one(task, doc, ctx, **given):
        return [] if doc["ordinal"] == 3 else built(task, doc, ctx, **given)

    monkeypatch.setattr(CoraTask, "construct_requests", without_one)
    model = Simulated(knows)
    with pytest.raises(UserError, match="cora_demo: the harness left out a variant of question '"):
        run(model, options={"questions": 2})
    assert not model.prompts


@pytest.mark.parametrize("form", ["", "_mc"])
def test_turns_for_a_server_are_asked_in_both_forms(form):
    task = build(f"cora_demo{form}")
    place = {"doc_id": 1} if versions.IS_5 else {"metadata": ("cora_demo", 1, 1)}  # as the harness calls it
    doc, turns = task.test_docs()[1], JsonChatStr(json.dumps([{"role": "user", "content": "Ice?"}]))
    requests = task.construct_requests(doc, turns, **place, apply_chat_template=True)
    assert [(one.doc_id, one.idx) for one in requests] == [(1, n) for n in range(len(doc["printed"]) if form else 1)]
    assert {one.args[0] for one in requests} == {turns}
    assert not form or [one.args[1] for one in requests] == list("ABCDE"[: len(requests)])


def test_a_delimiter_stands_before_a_label_also_after_a_prompt_that_ends_with_a_space():
    task = build("cora_demo_mc")
    first, *_ = task.construct_requests(task.test_docs()[0], "Answer: ")
    assert first.args == ("Answer: ", " A")


def test_files_and_runs_of_a_group_have_the_names_of_its_tasks(tmp_path):
    names = ["cora_demo", "cora_demo_plus"]
    group = {"group": "mine", "task": names, "aggregate_metric_list": [{"metric": "mcqa", "weight_by_size": False}]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(group))
    results = run(knows, "mine", {"questions": 2}, [tmp_path, TASKS / "demo"])
    assert [results[key].keys() >= {*names} for key in ("results", "samples", "configs")] == [True] * 3
    assert results["group_subtasks"]["mine"] == names
    assert scores(results, "mine")["mcqa"] == 1


@pytest.mark.parametrize("form", ["multiple_choice", "generate_until"])
def test_a_target_of_digits_is_a_label_and_no_number_of_an_option(tmp_path, form):
    rows = ({"q": f"Which is {n}?", "o": [f"{word} {n}" for word in ("ice", "fog", "dew")], "t": "2"} for n in range(4))
    config = {
        "task": "digits_en",
        "dataset_path": "json",
        "test_split": "test",
        "output_type": form,
        "dataset_kwargs": {"data_files": {"test": str(write_rows(tmp_path / "rows.jsonl", *rows))}},
        "doc_to_text": "{{q}}\n1) {{o[0]}}\n2) {{o[1]}}\n3) {{o[2]}}\nAnswer:",
        "doc_to_target": "t",
        **({"doc_to_choice": ["1", "2", "3"]} if form == "multiple_choice" else {}),
        "metric_list": [{"metric": "exact_match" if form == "generate_until" else "acc"}],
    }
    (tmp_path / "digits.yaml").write_text(yaml.safe_dump(config))
    name = "cora_of" if form == "generate_until" else "cora_of_mc"
    manager = TaskManager(include_path=[tmp_path, TASKS / "of"], **FOUND)

    (task,) = manager.load([name])["tasks"].values()
    assert {(doc["answer"], task.doc_to_target(doc)) for doc in task.test_docs() if doc["kind"] == "original"} == {
        (1, "2")
    }
