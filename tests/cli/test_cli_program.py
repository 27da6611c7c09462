"""The commands as a program: closed streams, a full disk, and what is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import CLOSED, FULL, KEPT, UNREAD, Command, Ended, run
from tests.support.written import Written, put, strict, varied, write


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write(tmp_path_factory.mktemp("out"), varied, "cora_demo", {"questions": 3})


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    common = {"question_id": "q", "answer": "a"}
    lines = [{**common, "kind": "original", "ordinal": 0, "picked": "a"}]
    lines.append({**common, "kind": "x", "ordinal": 1, "picked": None})
    return put(tmp_path_factory.mktemp("answers") / "answers.jsonl", lines)


def program(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
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
    *("plan --difference 0.02 --from OUT --json", "gate OUT --require cora>=0"),
    *("report OUT --format csv -o -", "report OUT --format json -o scores.json", "compare OUT OUT", "score ANSWERS"),
    *("export OUT --format csv", "export OUT --format model-index", "export OUT --format every-eval-ever"),
    *("export OUT --format eval-results --dataset a/b --task-id c", "guess", "report missing", "report"),
    "leaderboard OUT -o - --csv scores.csv",
]

STATUS = {"report missing": 1, "report": 2}
"""Exit statuses of commands that fail."""

STREAMS = [(KEPT, KEPT), (CLOSED, CLOSED), (UNREAD, KEPT)]
"""Standard output and standard error of every command."""

MORE_STREAMS = [*STREAMS, (CLOSED, KEPT), (UNREAD, UNREAD), (FULL, KEPT), (FULL, CLOSED)]
"""Those of some commands."""

IN_MORE_STREAMS = ("guess --json", "report OUT --format csv -o -", "report")
STREAMS_OF = {command: MORE_STREAMS if command in IN_MORE_STREAMS else STREAMS for command in ALL}

Results = dict[str, dict[tuple[str, str], Ended]]


@pytest.fixture(scope="module")
def results(out: Written, answers: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What became of each command, by its streams."""
    folder, paths = str(tmp_path_factory.mktemp("work")), {"OUT": str(out.folder), "ANSWERS": str(answers)}
    each = [(command, streams) for command, kinds in STREAMS_OF.items() for streams in kinds]
    ended = run([Command([paths.get(word, word) for word in command.split()], folder, *two) for command, two in each])
    found: Results = {command: {} for command in ALL}
    for (command, streams), result in zip(each, ended, strict=True):
        found[command][streams] = result
    return found


@pytest.mark.parametrize("command", ALL)
def test_closed_streams_and_a_full_disk(command: str, results: Results) -> None:
    usual = results[command][KEPT, KEPT]
    assert usual.status == STATUS.get(command, 0)
    for streams, ended in results[command].items():
        assert "Traceback" not in ended.error, streams
        assert "Exception ignored" not in ended.error, streams
        if FULL in streams and not usual.status:
            assert ended.status == 1, streams
            if streams[1] == KEPT:
                name = command.split()[0]
                told = f"lm-eval-cora {name}: standard output: No space left on device"
                assert ended.error.splitlines()[-1] == told, streams
        else:
            assert ended.status == usual.status, streams
            assert ended.error in ("", usual.error), streams


def test_output_to_a_full_disk_is_an_error(out: Written, tmp_path: Path) -> None:
    ended = program(f"export {out.folder} --format csv > /dev/full", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "lm-eval-cora export: standard output: No space left on device"


def test_messages_do_not_replace_a_closed_stream(out: Written, tmp_path: Path) -> None:
    """The first file that is opened after a stream was closed would get what is written to the stream."""
    ended = program(f"report {out.folder} --format json -o scores.json >&- 2>&-", tmp_path)
    assert ended.returncode == 0
    assert len(strict((tmp_path / "scores.json").read_text())) == 1


def test_the_harness_is_not_imported_without_need(tmp_path: Path) -> None:
    ended = program("guess --json > /dev/null; " + f"{sys.executable} -X importtime -m lm_eval_cora tasks", tmp_path)
    assert ended.returncode == 0
    for name in ("lm_eval.api", "torch", "transformers", "matplotlib", "datasets"):
        assert f" {name}\n" not in ended.stderr
