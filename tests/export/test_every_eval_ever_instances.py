"""Exports of files of answers that were collected without the harness."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.export.hub import model_index
from lm_eval_cora.runs.grouping import read_runs
from tests.support.answers_files import answers, write_answers
from tests.support.exported import strict
from tests.support.facts import RECORD, ROW
from tests.support.written import put

RIGHT = [{"question": q, "variant": n, "correct": n < q, "original": n == 0} for q in range(4) for n in range(3)]


@pytest.mark.parametrize("rows", [answers(), RIGHT], ids=["picks", "right and wrong"])
def test_a_valid_record_with_a_row_per_answer(rows: list[dict[str, object]], tmp_path: Path) -> None:
    (run,) = read_runs([put(tmp_path / "small.jsonl", rows)])
    record_file, rows_file = write_every_eval_ever([run], tmp_path / "out")
    record = strict(record_file.read_text())
    lines = [strict(line) for line in rows_file.read_text().splitlines()]
    assert list(RECORD(record, "record")) == []
    assert [fault for number, row in enumerate(lines) for fault in ROW(row, f"row {number}")] == []
    assert record["model_info"]["id"] == "small"
    assert record["eval_library"]["name"] == record["eval_library"]["version"] == "unknown"
    assert {result["source_data"]["dataset_name"] for result in record["evaluation_results"]} == {"unknown"}
    assert len(lines) == len(rows)
    mean = sum(line["evaluation"]["score"] for line in lines) / len(lines)
    assert mean == pytest.approx(run.estimates["acc"].value)
    assert len({line["sample_id"] for line in lines}) == len(lines)


def test_rows_say_what_the_file_says(tmp_path: Path) -> None:
    row = {"question": "q1", "picked": "Fog", "answer": "Ice", "printed": ["Ice", "Fog"], "reader": "mine"}
    lines = [{**row, "variant": "original"}, {**row, "variant": "shuffled", "picked": None}]
    (run,) = read_runs([put(tmp_path / "small.jsonl", lines)])
    _, rows_file = write_every_eval_ever([run], tmp_path / "out")
    first, second = (strict(line) for line in rows_file.read_text().splitlines())
    assert first["input"] == {"raw": "q1", "reference": ["Ice"], "choices": ["Ice", "Fog"]}
    assert first["output"] == {"raw": ["Fog"]}
    (attribution,) = first["answer_attribution"]
    assert (attribution["extracted_value"], attribution["extraction_method"]) == ("Fog", "mine")
    assert (second["output"], second["answer_attribution"]) == ({"raw": []}, [])
    assert first["metadata"]["variant"] == "original"


def test_a_skipped_variant_has_no_row(tmp_path: Path) -> None:
    rows = [{**row, "correct": None} if row["variant"] == 2 else row for row in RIGHT]
    (run,) = read_runs([put(tmp_path / "small.jsonl", rows)])
    _, rows_file = write_every_eval_ever([run], tmp_path / "out")
    assert len(rows_file.read_text().splitlines()) == 8


def test_the_model_index(tmp_path: Path) -> None:
    (run,) = read_runs([write_answers(tmp_path / "small.csv", answers())])
    ((model),) = yaml.safe_load(model_index([run]))["model-index"]
    assert model["name"] == "small"
    (result,) = model["results"]
    values = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values == {name: estimate.value for name, estimate in run.estimates.items()}
