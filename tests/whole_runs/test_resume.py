"""A run that is killed and started again with the harness' `--use_cache`."""

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.distributed import Hashing, evaluate, launch

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process outright")


def _asked(log: Path) -> list[Any]:
    """The requests that reached the model, in order."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def test_a_killed_run_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    run = {"task": "cora_demo_mc", "options": {"questions": 4}}
    undisturbed = evaluate(run, Hashing(tmp_path / "undisturbed.jsonl"))
    assert undisturbed is not None
    everything = _asked(tmp_path / "undisturbed.jsonl")
    assert len(everything) >= 4 * 26

    cached = {**run, "arguments": {"use_cache": str(tmp_path / "cache")}}
    (killed,) = launch([cached], tmp_path, log=tmp_path / "killed.jsonl", stop_half_way=True)
    assert killed.status == -signal.SIGKILL, killed.stderr[-3000:]
    assert not (tmp_path / "outcomes.json").exists()
    before = _asked(tmp_path / "killed.jsonl")
    assert len(before) == len(everything) // 2 - 1
    # All answers are stored: before the model fails, it waits for the thread that writes. Otherwise the harness would
    # lose the last few, and a different number each time.
    with closing(sqlite3.connect(tmp_path / "cache_rank0.db")) as database:
        assert database.execute("SELECT count(*) FROM unnamed").fetchone() == (len(before),)

    # In a new process.
    outcome = evaluate(cached, Hashing(tmp_path / "resumed.jsonl"))
    assert outcome is not None
    # No stored prompt is asked again, and none is missing.
    assert before + _asked(tmp_path / "resumed.jsonl") == everything

    assert json.dumps(outcome["results"]) == json.dumps(undisturbed["results"])
    assert outcome["samples"] == undisturbed["samples"]
    assert outcome["signature"] == undisturbed["signature"]
