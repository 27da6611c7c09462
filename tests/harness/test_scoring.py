from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.harness.compat import RecordCell, RecordScore, Undefined
from lm_eval_cora.harness.scoring import metric_keys, score_response, spread

DOC: dict[str, Any] = {
    "question_id": "q1",
    "kind": "shuffled",
    "ordinal": 1,
    "variants": 8,
    "original": False,
    "category": "physics",
    "ask": "letter",
    "printed": [1, 0],
    "choices": ["Ice", "Fog"],
    "answer": 0,
}


def test_a_record_holds_what_the_metrics_need() -> None:
    assert score_response(DOC, ["(B) since"]) == Record(
        "q1",
        8,
        1,
        "shuffled",
        (1, 0),
        0,
        picked=0,
        reason=None,
        category="physics",
        position=1,
        followed=True,
        rule="a letter at the start",
    )


@pytest.mark.parametrize("results", [[], [None], [[]], [["", "B"]], [float("nan")], [{}], ["\ud83d"], [b"B"]])
def test_whatever_a_filter_hands_on_is_scored(results: list[Any]) -> None:
    assert score_response(DOC, results).picked is None


def test_a_filter_that_hands_on_lists() -> None:
    assert score_response(DOC, [["B", "A"]]).correct


def test_what_a_line_of_the_samples_file_says() -> None:
    # As the harness writes it: values that are not JSON as their str().
    names = ["acc", "cora", "consistency_rate", "invalid"]
    right, none = score_response(DOC, ["B"]), score_response(DOC, ["Based on"])
    line = json.loads(json.dumps(spread(right, metric_keys(names)), default=str))
    assert {key: value for key, value in line.items() if value != ""} == {"acc": 1.0, "consistency_rate": "0"}
    line = json.loads(json.dumps(spread(none, metric_keys(names)), default=str))
    assert {key: value for key, value in line.items() if value != ""} == {"acc": 0.0, "invalid": "no letter"}
    assert list(line) == [f"{name}{end}" for name in names for end in ("", "_stderr")]


def test_records_travel_between_ranks() -> None:
    row = dict(spread(score_response(DOC, ["B"]), metric_keys(["acc", "cora"])).items())
    back = pickle.loads(pickle.dumps(row))
    assert back["acc"] == 1.0
    assert isinstance(back["acc"], RecordScore)
    assert isinstance(back["cora"], RecordCell)
    # All metrics share one object. Otherwise each metric would build its own table.
    assert back["acc"].record is back["cora"].record
    assert back["cora"].record == row["cora"].record


def test_a_sample_holds_only_what_says_something_about_one_variant() -> None:
    keys = metric_keys(["acc", "cora", "consistency_rate", "invalid", "ties"])
    row = spread(score_response(DOC, ["B"]), keys)
    # As the harness uses it: names and values of all metrics, and a sample that is updated with them.
    assert list(row.keys()) == keys == [key for key, _ in row.items()]
    assert all(value.record is row["acc"].record for _, value in row.items())
    sample = {"doc_id": 0}
    sample.update(row)
    assert list(sample) == ["doc_id", "acc", "consistency_rate", "invalid", "ties", "rule"]


def test_an_undefined_value_is_nan_everywhere() -> None:
    value = Undefined()
    assert f"{value}" == "nan"
    assert json.dumps({"cora": value}) == '{"cora": "nan"}'
    assert math.isnan(value)
    # Weighted and plain means of groups, and copies by loggers.
    assert json.dumps([sum([value * 3, 0.5 * 4]) / 7, sum([0.5, value]) / 2]) == '["nan", "nan"]'
    assert [copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))] == ["nan"] * 3
