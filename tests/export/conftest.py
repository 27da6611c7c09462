"""Runs of three tasks: written by the harness, read by the report, exported."""

from unittest.mock import patch

import pytest

from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.runs.grouping import read_runs
from tests.support.exported import Exported, KnowsOne
from tests.support.simulated import knows, run
from tests.support.written import save, strict


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """`cora_demo` answers one of two questions correctly, `_mc` has a cut question, `_revas` has undefined metrics."""
    folder = tmp_path_factory.mktemp("runs")
    save(folder, run(KnowsOne(), options={"questions": 2}))
    with patch("lm_eval_cora.harness.task.chosen_docs", return_value=list(range(26 + 5))):
        save(folder, run(knows, "cora_demo_mc", {"questions": 2}))
    save(folder, run(knows, "cora_demo_revas", {"questions": 2}))
    return read_runs([folder])


@pytest.fixture(scope="session")
def exported(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    files = write_every_eval_ever(runs, folder)
    record, rows = (file.read_text(encoding="utf-8") for file in files)
    # splitlines() also splits at U+2028, as some readers do.
    return Exported(runs, folder, files, strict(record), [strict(line) for line in rows.splitlines()])
