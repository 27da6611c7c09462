"""The commands as programs of their own: pipes, exit statuses, and what they import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


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


def test_exit_statuses(tmp_path: Path) -> None:
    assert program("guess", tmp_path).returncode == 0
    assert program("report missing", tmp_path).returncode == 1
    assert program("report", tmp_path).returncode == 2


def test_the_harness_is_not_imported_without_need(tmp_path: Path) -> None:
    ended = program("guess --json > /dev/null; " + f"{sys.executable} -X importtime -m lm_eval_cora tasks", tmp_path)
    assert ended.returncode == 0
    for name in ("lm_eval.api", "torch", "transformers", "matplotlib", "datasets"):
        assert f" {name}\n" not in ended.stderr
