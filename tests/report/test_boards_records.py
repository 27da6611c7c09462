"""Records of Every Eval Ever as entries."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import pytest

from lm_eval_cora.report.boards import find_records
from tests.support.leaderboards import put_record, record


def test_a_record_has_its_scores_and_its_signature(tmp_path: Path) -> None:
    path = put_record(tmp_path / "data" / "org", 1, record("org/m", {"cora_x": 0.5, "cora_y/my": 0.25}))
    (one, other), notes = find_records(tmp_path)
    assert notes == []
    assert (one.model, one.name, one.part, one.data.digest) == ("org/m", "cora_x", "", "1a2b3c4d")
    assert tuple(one.scores["cora"]) == (0.5, 0.02)
    assert one.scores["cora"].interval == (0.46, 0.54)
    assert one.settings == {
        "task": "cora_x@1",
        "probe": "divergent",
        "form": "generate",
        "shots": "0",
        "reader": "flexible",
    }
    assert (one.size, one.questions, one.asked, one.is_paired) == ("100x26", 100, "", False)
    assert (one.date, one.source) == ("2026-11-24T12-32-27", path)
    assert (other.name, other.part) == ("cora_y", "my")


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    put_record(tmp_path, 1, {**record("m", {"cora_x": 0.5}), "source_metadata": {"source_name": "another"}})
    (tmp_path / "results_2026-01-01T00-00-00.json").write_text("{}")
    (tmp_path / "settings.json").write_text("[1")
    assert find_records(tmp_path) == ([], [])
    assert find_records(tmp_path / "samples_x.jsonl") == ([], [])


def _set(place: list[str | int], value: Any) -> dict[str, Any]:
    changed = record("m", {"cora_x": 0.5})
    *path, last = place
    inside: Any = changed
    for key in path:
        inside = inside[key]
    inside[last] = value
    return changed


_SCORE: list[str | int] = ["evaluation_results", 0, "score_details"]


@pytest.mark.parametrize(
    "content",
    [
        '{"schema_version": "0.3.0", ',
        "[" * 200,
        _set([*_SCORE, "score"], "0.5"),
        _set([*_SCORE, "score"], 7),
        _set([*_SCORE, "score"], nan),
        _set([*_SCORE, "score"], True),
        _set([*_SCORE, "uncertainty", "standard_error", "value"], -1),
        _set([*_SCORE, "details", "questions"], "many"),
        _set([*_SCORE, "details"], None),
        _set(["evaluation_results", 0, "evaluation_timestamp"], "1e300"),
        _set(["evaluation_results"], 1),
        _set(["model_info"], "m"),
    ],
)
def test_a_damaged_record_is_left_out_with_one_line(content: Any, tmp_path: Path) -> None:
    path = put_record(tmp_path, 1, content)
    put_record(tmp_path, 2, record("good", {"cora_x": 0.5}))
    entries, (note,) = find_records(tmp_path)
    assert [entry.model for entry in entries] == ["good"]
    assert note.startswith(f"left out {path}: it is not a")
    assert "\n" not in note


def test_a_record_without_an_error(tmp_path: Path) -> None:
    put_record(tmp_path, 1, _set([*_SCORE, "uncertainty"], {"num_samples": 1}))
    (entry,), _ = find_records(tmp_path)
    assert str(entry.scores["cora"]) == "Estimate(value=0.5, stderr=nan)"
