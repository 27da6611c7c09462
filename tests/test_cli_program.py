"""The commands as a program: closed streams, a full disk, and what is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.written import Written, put, strict, varied, write


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write(tmp_path_factory.mktemp("out"), varied, "cora_demo", {"questions": 3})


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    common = {"question_id": "q", "answer": "a"}
    lines = [{**common, "kind": "original", "ordinal": 0, "picked": "a"}]
    return put(tmp_path / "answers.jsonl", [*lines, {**common, "kind": "x", "ordinal": 1, "picked": None}])


def program(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    line = f"set -o pipefail; {sys.executable} -m lm_eval_cora {command}"
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )


def test_a_closed_pipe(tmp_path: Path) -> None:
    for command in ("guess --variants 1000 --json", "tasks"):
        ended = program(f"{command} | head -n 1", tmp_path)
        assert ended.stdout.count("\n") == 1
        assert ended.stderr == ""


ALL = [
    *("tasks", "tasks --path", "tasks cora_demo", "guess --json", "--help", "report --help", "--version"),
    *("report OUT --format csv -o -", "report OUT --format json -o scores.json", "compare OUT OUT", "score ANSWERS"),
    *("export OUT --format csv", "export OUT --format model-index", "export OUT --format every-eval-ever"),
    "leaderboard OUT -o - --csv scores.csv",
]


@pytest.mark.parametrize("command", ALL)
def test_closed_streams(command: str, out: Written, answers: Path, tmp_path: Path) -> None:
    command = command.replace("OUT", str(out.folder)).replace("ANSWERS", str(answers))
    others = (">&-", "2>&1 | true", "> /dev/full 2>&-") if command == "tasks" else ()
    for closed in (">&- 2>&-", "| true", *others):
        ended = program(f"{command} {closed}", tmp_path)
        assert "Traceback" not in ended.stderr, closed
        assert "Exception ignored" not in ended.stderr, closed
        assert ended.returncode in ((0, 1) if "full" in closed else (0,)), closed


def test_output_to_a_full_disk_is_an_error(out: Written, tmp_path: Path) -> None:
    ended = program(f"export {out.folder} --format csv > /dev/full", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "lm-eval-cora export: standard output: No space left on device"


def test_messages_do_not_replace_a_closed_stream(out: Written, tmp_path: Path) -> None:
    """The first file that is opened after a stream was closed would get what is written to the stream."""
    ended = program(f"report {out.folder} --format json -o scores.json >&- 2>&-", tmp_path)
    assert ended.returncode == 0
    assert len(strict((tmp_path / "scores.json").read_text())) == 1


def test_exit_statuses(tmp_path: Path) -> None:
    assert program("guess", tmp_path).returncode == 0
    assert program("report missing", tmp_path).returncode == 1
    assert program("report", tmp_path).returncode == 2


def test_the_harness_is_not_imported_without_need(tmp_path: Path) -> None:
    ended = program("guess --json > /dev/null; " + f"{sys.executable} -X importtime -m lm_eval_cora tasks", tmp_path)
    assert ended.returncode == 0
    for name in ("lm_eval.api", "torch", "transformers", "matplotlib", "datasets"):
        assert f" {name}\n" not in ended.stderr
