import re
from dataclasses import replace
from math import isnan, nan

import huggingface_hub
import pytest
import yaml
from huggingface_hub import ModelCard

from lm_eval_cora import metrics
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.hub import as_yaml, eval_results, metric_of, model_index, run_to_file
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.questions.benchmark import Data
from tests.support.exported import HOSTILE, asked_from

HERE = {"dataset": "org/bench", "task_id": "cora_demo"}
COMMIT = "5503434ddd753f426f4b38109466949a1217c2bb"


def entry_of(run, **how):
    (entry,) = yaml.safe_load(eval_results([run], **HERE, **how)[0])
    return dict(entry)


def with_estimate(run, name, estimate):
    changed = replace(run)
    changed.__dict__["estimates"] = {**run.estimates, name: estimate}
    return changed


def test_the_content_of_an_entry(runs):
    run = replace(runs[0], results={**runs[0].results, "date": 1737000000.9})
    entry = entry_of(run)
    assert entry["dataset"] == {"id": "org/bench", "task_id": "cora_demo"}
    # One of two questions is right in every variant: 0.5 (1 - 0.5 + 0.5).
    assert entry["value"] == 0.5
    assert entry["date"] == "2025-01-16T04:00:00Z"
    (_, error), (low, high) = run.estimates["cora"], run.estimates["cora"].interval
    numbers = f"standard error {error:.6g}; 95% interval {low:.6g} to {high:.6g}; 2 questions"
    assert entry["notes"] == f"cora of cora_demo (lm-eval-cora); {numbers}; signature {run.signature}"
    assert list(entry) == ["dataset", "value", "date", "notes"]
    for date in (None, "today", [1]):  # unknown
        assert "date" not in entry_of(replace(runs[0], results={**runs[0].results, "date": date}))


def test_the_hub_reads_an_entry(runs):
    if (parse := getattr(huggingface_hub, "parse_eval_result_entries", None)) is None:
        pytest.skip("this version of huggingface_hub cannot read .eval_results")
    source = {"source_url": "https://hf.co/spaces/a/b", "source_name": "Logs", "source_user": "me"}
    run = asked_from(runs[0], hub="org/bench", revision=COMMIT)
    entry = entry_of(run, **source)
    (found,) = parse([entry])
    how = {"dataset_revision": COMMIT, **{name: entry_of(run)[name] for name in ("date", "notes")}, **source}
    assert found == huggingface_hub.EvalResultEntry("org/bench", "cora_demo", 0.5, **how)
    assert huggingface_hub.eval_result_entries_to_yaml([found]) == [entry]


def test_the_revision_is_a_commit_of_the_same_dataset(runs):
    for hub, revision, written in (
        *(("org/bench", COMMIT, COMMIT), ("org/bench", "main", None), ("org/bench", None, None)),
        *(("org/other", COMMIT, None), (["org/bench", "org/other"], COMMIT, None)),
    ):
        assert entry_of(asked_from(runs[0], hub=hub, revision=revision))["dataset"].get("revision") == written


def test_percent(runs):
    share, percent = (entry_of(runs[0], metric="acc", percent=percent) for percent in (False, True))
    assert percent["value"] == pytest.approx(100 * share["value"])
    numbers = re.compile(r"standard error (\S+); 95% interval (\S+) to (\S+);")
    (of_share,), (of_percent,) = (numbers.findall(entry["notes"]) for entry in (share, percent))
    assert list(map(float, of_percent)) == pytest.approx([100 * float(number) for number in of_share], rel=1e-4)
    assert ["in percent" in entry["notes"] for entry in (share, percent)] == [False, True]
    run = with_estimate(runs[0], "confidence_ratio", Estimate(2.5, nan))  # without a highest value
    run.__dict__["entries"] = [{"metric": "confidence_ratio", "aggregation": metrics.confidence_ratio}]
    with pytest.raises(UserError, match=r"--percent.*confidence_ratio"):
        entry_of(run, metric="confidence_ratio", percent=True)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names(runs, text):
    source = {"source_url": "https://a.b", "source_name": text, "source_user": text}
    run = replace(asked_from(runs[0], hub="org/bench", config=text, split=text), label=text, signature=f"cora|{text}")
    cleaned = " ".join(text.replace("\x00", "\ufffd").split())
    written, _ = eval_results([run], **HERE, **source)
    assert written.count("\n") == 10
    (entry,) = yaml.safe_load(written)
    assert entry["dataset"] == {"id": "org/bench", "task_id": "cora_demo"}
    assert entry["source"]["name"] == cleaned
    assert entry["notes"].isprintable()


def test_the_metric(runs):
    leading = {run.name: metric_of(run, "") for run in runs}
    assert leading == {"cora_demo": "cora", "cora_demo_mc": "cora", "cora_demo_revas": "acc_h@original"}
    assert metric_of(runs[0], "mcqa") == "mcqa"
    with pytest.raises(UserError, match=r"--metric corra: there is no such metric\. Did you mean 'cora'.*bmca@1\.0"):
        metric_of(runs[0], "corra")
    with pytest.raises(UserError, match=r"cora_demo: cora is undefined"):
        metric_of(with_estimate(runs[0], "cora", Estimate(nan, nan)), "cora")


def test_the_task(runs):
    assert run_to_file(runs, "cora_demo_mc").name == "cora_demo_mc"
    assert run_to_file(runs[:1]).name == "cora_demo"
    both = [replace(runs[0], data=Data("my", digest), label=f"my {digest}") for digest in ("1a2b3c4d", "5e6f7a8b")]
    assert run_to_file(both, "cora_demo (my 5e6f7a8b)") is both[1]  # its name in the report
    other = [runs[0], replace(runs[1], model="other")]
    for wrong, task, told in (
        (runs, "", r"one task, got 3: cora_demo, cora_demo_mc, cora_demo_revas\. .*--task NAME"),
        (runs, "cora_demo_nc", r"--task cora_demo_nc: .*Did you mean 'cora_demo_mc'"),
        (both, "cora_demo", r"got 2: cora_demo \(my 1a2b3c4d\), cora_demo \(my 5e6f7a8b\)"),
        (other, "cora_demo", r"one model, got 2: other, some-org/some-model"),
    ):
        with pytest.raises(UserError, match=told):
            run_to_file(wrong, task)


def test_wrong_places(runs):
    wrong = [
        *(("dataset", "bench", "--dataset 'bench': .*ORG/NAME"), ("task_id", " ", "--task-id ' ': .*org/bench")),
        *(("dataset", text, "--dataset") for text in ("a/b/c", "a/b\n", "a/b..c", f"a/{'b' * 100}")),
        *(("task_id", "a\nb", "--task-id"), ("source_url", "www.x.y", "--source-url 'www.x.y'")),
        *(("source_url", text, "--source-url") for text in ("https://x y", "javascript:alert(1)")),
        *((name, "me", "--source-url, too") for name in ("source_name", "source_user")),
    ]
    for name, text, told in wrong:
        with pytest.raises(UserError, match=told) as raised:
            eval_results(runs, **{**HERE, name: text})
        assert str(raised.value).isprintable()  # one line


# ---- model cards
def test_every_defined_metric_comes_back_from_a_card(runs):
    card = ModelCard(f"---\n{model_index(runs)}---\n# Some model\n")
    found = {(one.metric_args["task"], one.metric_type): one for one in card.data.eval_results}
    every = {(one.name, name): estimate for one in runs for name, estimate in one.estimates.items()}
    expected = {key: estimate for key, estimate in every.items() if not isnan(estimate.value)}
    assert found.keys() == expected.keys()
    assert len(card.data.eval_results) == len(expected)
    for key, estimate in expected.items():
        assert (found[key].metric_value, found[key].metric_name) == (estimate.value, f"{key[1]} ({key[0]})")
        assert found[key].metric_args.get("stderr") == (None if isnan(estimate.stderr) else estimate.stderr)


def card_of(runs):
    (model,) = yaml.safe_load(model_index(runs))["model-index"]
    return dict(model)


def test_data_in_a_card(runs):
    """Of the Hub, and of one name, which are separate."""
    source = {"hub": "org/math", "config": ["algebra", "geometry"], "split": "test", "revision": "abc"}
    (data,) = card_of([asked_from(replace(runs[0], data=Data("math")), **source)])["results"]
    names = {"name": "math", "type": "org/math", "config": "algebra, geometry"}
    assert data["dataset"] == {**names, "split": "test", "revision": "abc"}
    assert data["task"] == {"type": "text-generation", "name": runs[0].name}
    digests = ("1a2b3c4d", "5e6f7a8b")
    both = [replace(runs[0], data=Data("my", digest), label=f"my {digest}", results={}) for digest in digests]
    for data, digest in zip(card_of(both)["results"], digests, strict=True):
        assert data["dataset"] == {"name": "my", "type": f"my {digest}"}
        assert {metric["args"]["data"] for metric in data["metrics"]} == {digest}


# ---- YAML
TRICKY = ["08", "1e3", "0o7", "on", "null", "2026-11-24", "- a: b", "a: b # c", "&x", "*x", "!!python/none", "", "%"]


def test_texts_come_back_in_quotes():
    value = [{"texts": [*TRICKY, *HOSTILE], "number": 0.5, "nested": {"text": "on"}}]
    assert yaml.safe_load(as_yaml(value)) == value
    assert as_yaml({"id": "08", "value": 1e-9}) == 'id: "08"\nvalue: 1.0e-09\n'
