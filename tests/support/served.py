"""Runs of the command with a local test server."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import cycle

import pytest

from lm_eval_cora.cli import main
from tests.support.simulated import TASKS

both = pytest.mark.parametrize("protocol", ["chat", "completions"])
at_once_and_one_by_one = pytest.mark.parametrize("more", ["", ",num_concurrent=8"], ids=["one by one", "at once"])
"""For what several requests at once could change; else one at a time takes the same way through the code."""


def succeeds(ran):
    """Check the exit status; return the output."""
    code, err = ran
    assert code == 0, err
    return err


def fails(ran):
    """Check the exit status; return the last line of the output, the error."""
    code, err = ran
    *_, line = err.splitlines()
    assert code == 1
    assert line.startswith("lm-eval-cora run: ")
    assert "Traceback" not in err
    return line


def healthy(number, payload):
    """A server without faults."""


def every_third(*faults):
    """Every third request fails in its first attempt, by one of these after the other."""
    seen, following = Counter[str](), cycle(faults)

    def of(number, payload):
        text = json.dumps(payload)
        seen[text] += 1
        return next(following) if number % 3 == 1 and seen[text] == 1 else None

    return of


def hostile(path):
    """A pickle that makes a file when it is read."""
    return f"cos\nsystem\n(S'touch {path}'\ntR.".encode()


class Runs:
    """Runs `lm-eval-cora run` with a server."""

    def __init__(self, folder, server, capsys, caplog):
        self.folder, self.server, self.capsys, self.caplog = folder, server, capsys, caplog

    def __call__(self, *arguments, protocol="chat", tasks="cora_demo", more="", **options):
        """The exit status, and what was logged and printed to stderr."""
        model = {"chat": "local-chat-completions", "completions": "local-completions"}[protocol]
        chat = ["--apply_chat_template"] if protocol == "chat" else []
        self.capsys.readouterr()
        self.caplog.clear()
        code = main(
            [
                *("run", "--model", model, "--model_args", getattr(self.server, protocol) + more, "--tasks", tasks),
                *("--include_path", str(TASKS / "demo"), "--output_path", str(self.folder), "--log_samples", *chat),
                *("--metadata", json.dumps({"cora": {"questions": 1, **options}}), *map(str, arguments)),
            ]
        )
        return code, self.caplog.text + self.capsys.readouterr().err

    def results(self, task="cora_demo", part="results"):
        """The newest results, without dates and times; or another part of their file."""
        path = max(self.folder.rglob("results_*.json"), key=lambda path: path.stat().st_mtime_ns)
        return json.loads(path.read_text())[part][task]

    def samples(self, task="cora_demo"):
        path = max(self.folder.rglob(f"samples_{task}_2*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def kept(self):
        """Number of answers in the cache."""
        (path,) = self.folder.glob("answers_*_rank0.db")
        with closing(sqlite3.connect(path)) as database:
            (count,) = database.execute("SELECT count(*) FROM unnamed").fetchone()
        return int(count)
