import hashlib
import json
from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.metrics.estimate import UNDEFINED
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.grouping import read_runs
from tests.support.exported import HOSTILE, asked_from, is_valid
from tests.support.simulated import knows, run
from tests.support.study import four_options
from tests.support.written import answers, put, save, strict, the_run


def result(exported, task, metric):
    results = exported.record["evaluation_results"]
    (found,) = [one for one in results if one["evaluation_result_id"] == f"{task}/{metric}"]
    return found


def rows_of(exported, task):
    return [row for row in exported.rows if row["evaluation_name"] == task]


def export(runs, folder):
    """The record and the rows of one model, which are valid."""
    files = write_every_eval_ever(runs, folder)
    assert is_valid(files)
    record, rows = (path.read_text(encoding="utf-8") for path in files)
    return strict(record), [strict(line) for line in rows.splitlines()]


def with_results(one, **changed):
    return replace(one, results={**one.results, **changed})


def test_the_two_files_belong_together(exported):
    record, rows = exported.files
    folder = exported.folder / "data" / "lm-eval-cora" / "some-org" / "some-model"
    assert sorted(folder.iterdir()) == sorted(exported.files)
    detail = exported.record["detailed_evaluation_results"]
    assert is_valid(exported.files)
    assert exported.folder / detail["file_path"] == rows
    assert rows.name == f"{record.stem}_samples.jsonl"
    assert detail["checksum"] == hashlib.sha256(rows.read_bytes()).hexdigest()
    assert detail["total_rows"] == len(exported.rows) == rows.read_bytes().count(b"\n")
    assert {row["evaluation_id"] for row in exported.rows} == {exported.record["evaluation_id"]}
    assert {row["model_id"] for row in exported.rows} == {"some-org/some-model"}


def test_a_second_export_gives_the_same_files(exported, tmp_path):
    again = write_every_eval_ever(exported.runs, tmp_path)
    for path, former in zip(again, exported.files, strict=True):
        assert path.relative_to(tmp_path) == former.relative_to(exported.folder)
        assert path.read_bytes() == former.read_bytes()
    assert write_every_eval_ever(exported.runs, tmp_path) == again
    (other, _) = write_every_eval_ever(exported.runs[:1], tmp_path)
    assert other not in again


def test_a_row_per_variant(exported):
    """The rows of complete questions make up the result that they name."""
    for task, count, complete in (("cora_demo", 52, 52), ("cora_demo_mc", 26 + 5, 26), ("cora_demo_revas", 96, 96)):
        rows = rows_of(exported, task)
        linked = [row for row in rows if "evaluation_result_id" in row]
        assert (len(rows), len(linked)) == (count, complete)
        assert {row["evaluation_result_id"] for row in linked} == {f"{task}/acc"}
        mean = sum(row["evaluation"]["score"] for row in linked) / complete
        assert mean == result(exported, task, "acc")["score_details"]["score"]
    assert len({row["sample_id"] for row in exported.rows}) == len(exported.rows)
    row = rows_of(exported, "cora_demo")[0]
    assert row["sample_id"] == f"cora_demo/{row['metadata']['question_id']}/0"
    assert row["metadata"].items() >= {"ordinal": "0", "kind": "original", "variants": "26"}.items()


def test_every_score_is_the_estimate_to_the_last_digit(exported):
    every = {f"{one.name}/{name}": tuple(each) for one in exported.runs for name, each in one.estimates.items()}
    found = {}
    for result in exported.record["evaluation_results"]:
        details = result["score_details"]
        error = details["uncertainty"].get("standard_error", {"value": nan})["value"]
        found[result["evaluation_result_id"]] = details["score"], error
    assert str(found) == str({name: each for name, each in every.items() if not isnan(each[0])})


def test_undefined_metrics_are_named(exported, tmp_path):
    undefined = json.loads(exported.record["source_metadata"]["additional_details"]["undefined_results"])
    # No original is answered wrongly, so no question has a misleading option.
    assert {f"cora_demo_revas/recall_{kind}" for kind in ("right", "misleading_multi")} <= set(undefined)
    present = {one["evaluation_result_id"] for one in exported.record["evaluation_results"]}
    assert not present & set(undefined)
    run = replace(exported.runs[0])
    run.__dict__["estimates"] = {**exported.runs[0].estimates, "acc": UNDEFINED}
    _, rows = export([run], tmp_path)
    assert not any("evaluation_result_id" in row for row in rows)


def test_hostile_responses_arrive_whole(exported):
    by_right = grouped_by(rows_of(exported, "cora_demo"), lambda row: row["evaluation"]["is_correct"])
    assert len(by_right[True]) == len(by_right[False]) == 26
    for row in by_right[True]:
        letter, _, rest = row["output"]["raw"][0].partition("\n")
        assert rest == HOSTILE[int(row["metadata"]["ordinal"]) % len(HOSTILE)]
        assert row["answer_attribution"][0]["extracted_value"] == letter == row["input"]["reference"][0]
        assert row["answer_attribution"][0]["extraction_method"] == "lm_eval_cora: letter"
    assert exported.files[1].read_bytes().isascii()
    for row in by_right[False]:
        assert (row["output"], row["answer_attribution"]) == ({"raw": [""]}, [])
        assert (row["metadata"]["invalid"], row["evaluation"]["score"]) == ("empty", 0.0)


def test_data_of_the_hub(runs, tmp_path):
    source = {"hub": "cais/mmlu", "config": "all", "split": "test", "revision": "abc"}
    on_the_hub, several = (
        export([asked_from(runs[0], **source | other)], tmp_path)[0]["evaluation_results"][0]["source_data"]
        for other in ({}, {"hub": ["org/a", "org/b"]})
    )
    assert on_the_hub.items() >= {"source_type": "hf_dataset", "hf_repo": "cais/mmlu", "hf_split": "test"}.items()
    assert on_the_hub["additional_details"] == {"configs": '["all"]', "revision": "abc"}
    assert several["url"] == ["https://huggingface.co/datasets/org/a", "https://huggingface.co/datasets/org/b"]


def test_no_secrets_and_no_folders_of_the_user(runs, tmp_path):
    arguments = {"pretrained": "/home/me/checkpoint-5", "token": "hf_hush", "api_key": "sk-hush", "load_in_4bit": True}
    one = with_results(runs[0], model_name="/home/me/checkpoint-5", config={"model": "hf", "model_args": arguments})
    files = write_every_eval_ever([one], tmp_path)
    assert files[0].parent == tmp_path / "data" / "lm-eval-cora" / "unknown" / "checkpoint-5"
    text = files[0].read_text()
    assert [word for word in ("hush", "/home/me", "load_in_4bit") if word in text] == ["load_in_4bit"]


def test_folders_that_every_file_system_takes(runs, tmp_path):
    for name, folders in (
        *(("azure/openai/gpt:4", "azure/openai_gpt_4"), ("data/con", "_data/_con"), ("../..", "unknown/unknown")),
        (f"/models--o--m/snapshots/{'4' * 40}", "o/m"),
    ):
        (record, _) = write_every_eval_ever([with_results(runs[0], model_name=name)], tmp_path)
        assert record.parent == tmp_path / "data" / "lm-eval-cora" / folders


def test_several_models_and_no_results_file(tmp_path):
    for model in ("org/one", "org/two"):
        save(tmp_path / "runs", run(knows, options={"questions": 1}), model)
    for path in (tmp_path / "runs").rglob("results_*.json"):
        path.unlink()
    files = write_every_eval_ever(read_runs([tmp_path / "runs"]), tmp_path)
    assert len(files) == 4
    assert is_valid(files)
    for record in (strict(path.read_text()) for path in files[::2]):
        assert record["eval_library"]["version"] == "unknown"
        assert record["evaluation_results"][0]["source_data"]["dataset_name"] == "cora_demo"


def test_a_statistic_without_an_upper_bound(tmp_path):
    questions = four_options(tmp_path, [0, 1, 2, 3] * 10)
    save(tmp_path / "runs", run(lambda _: "The best answer is A.", "cora_local_order", questions))
    record, _ = export(read_runs([tmp_path / "runs"]), tmp_path)
    by_name = {one["metric_config"]["metric_name"]: one for one in record["evaluation_results"]}
    # The right option is picked at A only: d = (3, -1, -1, -1) / 4 in 40 questions. 3 · (40 |d|)² / (40 |d|²) = 120.
    assert by_name["position_chi_square"]["score_details"]["score"] == pytest.approx(120)
    assert by_name["position_chi_square"]["metric_config"]["max_score"] == "Infinity"
    expected = {"lower_is_better": False, "additional_details": {"direction": "neither high nor low is better"}}
    assert by_name["acc_range"]["metric_config"].items() >= expected.items()


def test_a_folder_that_cannot_be_written(runs, tmp_path):
    (tmp_path / "data").write_text("")
    with pytest.raises(UserError, match="data"):
        write_every_eval_ever(runs, tmp_path)


# ---- files of answers
RIGHT = [{"question": q, "variant": n, "correct": n < q, "original": n == 0} for q in range(4) for n in range(3)]


@pytest.mark.parametrize("rows", [answers(), RIGHT], ids=["picks", "right and wrong"])
def test_a_valid_record_with_a_row_per_answer(rows, tmp_path):
    (run,) = read_runs([put(tmp_path / "small.jsonl", rows)])
    record, lines = export([run], tmp_path / "out")
    assert record["model_info"]["id"] == "small"
    assert record["eval_library"]["name"] == record["eval_library"]["version"] == "unknown"
    assert {result["source_data"]["dataset_name"] for result in record["evaluation_results"]} == {"unknown"}
    assert len(lines) == len(rows)
    assert np.mean([line["evaluation"]["score"] for line in lines]) == pytest.approx(run.estimates["acc"].value)
    assert len({line["sample_id"] for line in lines}) == len(lines)


def test_rows_say_what_the_file_says(tmp_path):
    row = {"question": "q1", "picked": "Fog", "answer": "Ice", "printed": ["Ice", "Fog"], "reader": "mine"}
    lines = [{**row, "variant": "original"}, {**row, "variant": "shuffled", "picked": None}]
    _, (first, second) = export([the_run(put(tmp_path / "small.jsonl", lines))], tmp_path / "out")
    assert first["input"] == {"raw": "q1", "reference": ["Ice"], "choices": ["Ice", "Fog"]}
    assert first["output"] == {"raw": ["Fog"]}
    read = {"extracted_value": "Fog", "extraction_method": "mine"}
    assert first["answer_attribution"][0].items() >= read.items()
    assert (second["output"], second["answer_attribution"]) == ({"raw": []}, [])
    assert first["metadata"]["variant"] == "original"


def test_a_skipped_variant_has_no_row(tmp_path):
    rows = [{**row, "correct": None} if row["variant"] == 2 else row for row in RIGHT]
    assert len(export([the_run(put(tmp_path / "small.jsonl", rows))], tmp_path / "out")[1]) == 8
