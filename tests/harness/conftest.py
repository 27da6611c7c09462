"""Fixtures for runs of the command with a local server."""

from unittest.mock import patch

import pytest
from lm_eval.utils import RemoteTokenizer

from lm_eval_cora.harness import served
from tests.support.served import Runs
from tests.support.server import Server
from tests.support.simulated import quickly


@pytest.fixture
def quick(monkeypatch):
    # Use only the task files of the demo, and do not wait between attempts. A token is a byte, as on the server, which
    # would be asked for those of each prompt.
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")  # otherwise each request searches the environment twice
    with (
        patch("lm_eval_cora.harness.dry_run.with_tasks_folder", list),
        patch("lm_eval_cora.discovery.location.with_tasks_folder", list),
        quickly(),
        patch.object(RemoteTokenizer, "encode", lambda _, text: list(text.encode())),
        patch.object(served, "DELAYS", (0.0,) * 6),
    ):
        yield


@pytest.fixture
def server():
    with Server() as running:
        yield running


@pytest.fixture
def run(tmp_path, server, capsys, caplog):
    caplog.set_level("INFO", "lm_eval")
    return Runs(tmp_path / "out", server, capsys, caplog)
