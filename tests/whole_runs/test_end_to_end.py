"""Whole runs with the harness: their output, their files, and errors that do not end them."""

import json
import logging
from functools import partial
from unittest.mock import patch

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager, _factory
from lm_eval.tasks._yaml_loader import load_yaml
from lm_eval.utils import handle_non_serializable, make_table

from lm_eval_cora import __version__, metrics
from lm_eval_cora.runs.task_files import benchmark
from tests.support.building import build, own_task
from tests.support.names import METRICS
from tests.support.simulated import TASKS, Simulated, knows, quickly, run, scores
from tests.support.tables import without_variation
from tests.support.written import lines_of, put, save

M = 26


def test_the_results_file_and_the_table():
    results = run(knows, options={"questions": 3, "seed": 2})
    table = make_table(results)
    for metric in METRICS:
        assert f"|{metric} " in table.replace("|consistency_rate|", "|consistency_rate |")
    assert f"|cora            |↑  |    1|±  |{without_variation(3):.4f}|" in table
    config = results["configs"]["cora_demo"]
    assert [*config["metadata"]["accuracy_by_kind"].values()] == [1.0] * 8
    data = config["metadata"]["benchmark"]
    assert data["name"] == "demo"
    assert config["metadata"]["signature"] == (
        f"cora|task:cora_demo@1|data:{data['questions']}|probe:divergent|option_references:keep"
        "|form:generate|reader:flexible|shots:0|seed:2"
        f"|questions:3|n:3x26|invalid:0.0%|v{__version__}"
    )
    assert config["benchmark"]["name"] == "demo"
    assert config["process_docs"] == "lm_eval_cora.harness.docs.process_docs"
    assert config["probe"] == "divergent"
    bmca = {"metric": "bmca@0.5", "aggregation": "lm_eval_cora.metrics.accuracy.bmca", "level": 0.5}
    assert config["metrics"][6] == bmca | {"higher_is_better": True}
    # Loggers read each metric of the list from each sample, as a text or a number.
    samples, names = results.pop("samples")["cora_demo"], [entry["metric"] for entry in config["metric_list"]]
    assert {type(sample[name]) for sample in samples for name in names} == {float, str}
    dumped = json.dumps(results, default=handle_non_serializable)
    json.loads(dumped, parse_constant=lambda name: pytest.fail(f"a bare {name} in the results file"))


def test_a_line_before_the_first_request_says_what_the_run_costs(caplog):
    caplog.set_level(logging.INFO, logger="lm_eval.cora")
    model = Simulated(knows)
    run(model, options={"questions": 2})
    tokens = sum(len(prompt.encode()) for prompt in model.prompts) // 4
    assert f"cora_demo: 2 questions, 52 requests, about {tokens:,} prompt tokens" in caplog.text
    assert "invalid" not in caplog.text


def test_incomplete_questions_are_left_out(caplog):
    with patch("lm_eval_cora.harness.task.chosen_docs", return_value=list(range(M + 5))):
        values = scores(run(knows))
    assert values["cora"] == 1.0
    assert values["cora_stderr"] == "N/A"  # one question
    assert caplog.text.count("cora_demo: 1 of 2 questions are incomplete and left out") == 1  # not once per metric


def test_runs_without_a_complete_question_and_their_group(tmp_path, caplog):
    for name in ("one", "two"):
        own_task(tmp_path, "", name)
    means = "aggregate_metric_list: [{metric: cora, aggregation: mean, weight_by_size: true}]"
    (tmp_path / "both.yaml").write_text(f"group: both\ntask: [one, two]\n{means}\n")
    with patch("lm_eval_cora.harness.task.chosen_docs", return_value=list(range(5))):
        results = run(knows, "both", {"questions": 2}, tmp_path)
    values = scores(results, "one")
    assert {values[name] for name in METRICS} == {"nan"}
    assert {values[f"{name}_stderr"] for name in METRICS} == {"N/A"}
    assert "one: 1 of 1 questions are incomplete and left out, so no metric is defined" in caplog.text
    assert "|cora            |↑  |NaN  |±  |   N/A|" in make_table(results)
    assert results["groups"]["both"]["cora,none"] == "nan"
    results.pop("samples")
    assert "NaN" not in json.dumps(results, default=handle_non_serializable)
    assert run(knows, "both", {"questions": 2}, tmp_path)["groups"]["both"]["cora,none"] == 1.0


def test_several_filters(tmp_path):
    first = "{function: take_first}"
    chains = {"raw": first, "upper": "{function: uppercase}, " + first, "lists": "{function: take_first_k, k: 1}"}
    filters = ", ".join(f"{{name: {name}, filter: [{chain}]}}" for name, chain in chains.items())
    own_task(tmp_path, f"filter_list: [{filters}]", "cora_filtered")
    results = run(
        lambda doc: f"the answer is {knows(doc).lower()} of them", "cora_filtered", {"questions": 3}, tmp_path
    )
    # "is b of them" names no letter, "IS B OF THEM" says B; a filter that hands on lists is read too.
    by_filter = {name: scores(results, "cora_filtered", name) for name in ("raw", "upper", "lists")}
    assert (by_filter["raw"]["cora"], by_filter["raw"]["invalid"]) == (0.0, 1.0)
    assert (by_filter["upper"]["cora"], by_filter["upper"]["invalid"]) == (1.0, 0.0)
    assert by_filter["lists"]["invalid"] == 1.0
    # All filters have the same signature, with what they have in common.
    metadata = results["configs"]["cora_filtered"]["metadata"]
    assert metadata["signature"].split("|")[-2:] == ["n:3x26", f"v{__version__}"]
    assert "accuracy_by_kind" not in metadata


def test_half_an_emoji_does_not_cost_the_samples_file(tmp_path):
    # A token limit cuts an emoji in two. An API sends the half as an escape, which UTF-8 cannot encode.
    results = run(lambda doc: f"{knows(doc)} \ud83d", options={"questions": 1})
    assert scores(results)["cora"] == 1.0
    save(tmp_path, results)
    lines = lines_of(next(tmp_path.rglob("samples_*.jsonl")))
    assert len(lines) == M
    assert lines[0]["resps"][0][0].endswith(" \\ud83d")


def test_a_live_model_among_the_model_arguments():
    # The harness puts every model argument into the metadata; an object that can be called has no name.
    class Callable:
        def __call__(self): ...

    metadata = {"pretrained": Callable(), "loader": partial(print), "cora": {"questions": 1}}
    manager = TaskManager(include_path=TASKS, include_defaults=False, metadata=metadata)
    with quickly():
        results = simple_evaluate(model=Simulated(knows), tasks=["cora_demo"], task_manager=manager)
    assert results["configs"]["cora_demo"]["metadata"]["signature"].startswith("cora|task:cora_demo@1|")


def test_a_metric_that_fails_does_not_cost_the_run(monkeypatch, caplog):
    def broken(table):
        return metrics.Estimate([0.5][len(table.question_ids)], 0.0)  # fails with two questions

    monkeypatch.setattr("lm_eval_cora.metrics.core", broken)
    monkeypatch.setattr(_factory, "load_yaml", load_yaml)  # finds the functions again
    values = scores(run(knows, options={"questions": 2}))
    assert values["core"] == "nan"
    assert values["cora"] == 1.0
    assert "cora_demo: core could not be computed" in caplog.text


def test_a_users_own_file_with_options_of_every_number(tmp_path):
    sizes = [2, 3, 5, 13, 26]
    rows = [{"question": f"Which, {n}?", "choices": [f"option {k}" for k in range(n)], "answer": n - 1} for n in sizes]
    results = run(knows, "cora_local", {"data_files": str(put(tmp_path / "my.jsonl", rows))})
    assert scores(results, "cora_local")["cora"] == 1.0
    assert results["n-samples"]["cora_local"]["original"] == sum(2 + 6 * (n - 1) for n in sizes)
    assert "n:5x8-152|" in results["configs"]["cora_local"]["metadata"]["signature"]


def test_the_demo_as_a_users_own_file_gives_the_same_docs():
    mine = build("cora_local", data_files=str(benchmark("demo").package_file))
    assert mine.eval_docs == build("cora_demo").eval_docs
