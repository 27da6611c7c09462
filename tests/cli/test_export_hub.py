"""The formats of `export` for leaderboards of the Hub, from the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from lm_eval_cora.cli import main
from tests.support.answers_files import answers
from tests.support.messages import tells
from tests.support.written import put


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A file of answers, which is read faster than a run."""
    put(tmp_path / "answers.jsonl", answers())
    return tmp_path / "answers.jsonl"


def export(out: Path, *arguments: object) -> int:
    return main(["export", str(out), "--format", *map(str, arguments)])


def test_a_result_and_a_benchmark(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "model" / ".eval_results" / "cora.yaml"
    assert export(out, "eval-results", "--dataset", "a/b", "--task-id", "answers", "--percent", "-o", place) == 0
    (entry,) = yaml.safe_load(place.read_text("utf-8"))
    assert entry["dataset"] == {"id": "a/b", "task_id": "answers"}
    assert 1 < entry["value"] < 100
    assert export(out, "eval-results", "--dataset", "a/b", "--task-id", "answers", "--metric", "mcqa") == 0
    (entry,) = yaml.safe_load(capsys.readouterr().out)
    assert entry["notes"].startswith("mcqa of answers ")
    assert export(out, "eval-yaml", "--dataset", "a/b") == 0
    printed = capsys.readouterr()
    assert yaml.safe_load(printed.out)["tasks"] == [{"id": "answers"}]
    assert "huggingface.js" in printed.err


BAD = [
    (["eval-results"], "expected --dataset and --task-id"),
    (["eval-results", "--dataset", "a/b"], "expected --task-id"),
    (["eval-results", "--dataset", "ab", "--task-id", "x"], "--dataset 'ab'"),
    (["eval-results", "--dataset", "a/b", "--task-id", "x", "--metric", "zz"], "--metric zz"),
    (["eval-results", "--dataset", "a/b", "--task-id", "x", "--task", "zz"], "--task zz"),
    (["eval-results", "--dataset", "a/b", "--task-id", "x", "--source-user", "me"], "--source-url"),
    (["eval-yaml"], "expected --dataset"),
    (["eval-yaml", "--dataset", "a/b", "--task-id", "x"], "--task-id"),
    (["eval-yaml", "--dataset", "a/b", "--percent"], "--percent"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD)
def test_bad_input(
    arguments: list[str], told: str, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(out, *arguments, "-o", tmp_path / "new" / "x.yaml") == 3
    printed = capsys.readouterr()
    assert tells(printed.err, "lm-eval-cora export: ", told)
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl"]


def test_runs_that_cannot_be_read_and_places_that_cannot_be_written(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = ("eval-yaml", "--dataset", "a/b")
    assert export(tmp_path / "missing", *hub) == 3
    assert export(out, *hub, "-o", tmp_path) == 3
    assert export(out, *hub, "-o", tmp_path / "x.pdf") == 3
    assert export(out, *hub, "-o", out / "x.yaml") == 3
    put(tmp_path / "other.jsonl", answers("other"))
    assert main(["export", str(out), str(tmp_path / "other.jsonl"), "--format", *hub]) == 0
    capsys.readouterr()
    both = ["export", str(out), str(tmp_path / "other.jsonl"), "--format", "eval-results", *hub[1:], "--task-id", "x"]
    assert main(both) == 3
    assert tells(capsys.readouterr().err, "one model, got 2: answers, other")


def test_an_error_leaves_the_previous_file(out: Path, tmp_path: Path) -> None:
    shutil.copy(out, tmp_path / "x.yaml")
    assert export(out, "eval-yaml", "--dataset", "ab", "-o", tmp_path / "x.yaml") == 3
    assert (tmp_path / "x.yaml").read_bytes() == out.read_bytes()


@pytest.mark.parametrize("file_format", ["csv", "every-eval-ever"])
def test_other_formats_do_not_accept_the_options(
    file_format: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(out, file_format, "--dataset", "a/b") == 1
    assert tells(capsys.readouterr().err, "--dataset", file_format)
    assert export(out, "eval-yaml", "--dataset", "a/b", "--organization", "me") == 3
    assert tells(capsys.readouterr().err, "--organization", "eval-yaml")
