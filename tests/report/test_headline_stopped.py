"""Headlines and reports of runs that did not ask every variant."""

from functools import partial
from unittest.mock import patch

import pytest
from lm_eval.tasks import TaskManager

from lm_eval_cora.renderers.page import render
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.content import HeatMap
from lm_eval_cora.report.headline import headline
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from tests.support.commands import Commands


@pytest.fixture
def stopped(tmp_path, capsys):
    """Run the demo with options of early stopping and read the run."""

    def run(*arguments, questions=6):
        ran = Commands(tmp_path, capsys).ours(*arguments, tasks="cora_demo", questions=questions)
        assert ran.code == 0, ran.err
        (read,) = read_runs([ran.folder])
        return read

    # Without the harness' own tasks: finding them takes ten seconds, twice in a run.
    ours = partial(TaskManager, include_defaults=False)
    with (
        patch("lm_eval.evaluator.add_env_info"),
        patch("lm_eval.tasks.TaskManager", ours),
        patch("logging.raiseExceptions", False),  # the harness' handler writes to the stderr of an earlier test
    ):
        yield run


def made(run):
    return headline([run], comparable=True)


def test_a_run_that_stopped_early_has_the_exact_headline(stopped):
    early, full = stopped("--stop", "exact"), stopped()
    assert not early.table.is_whole
    assert early.table.answers < full.table.answers
    # The kinds of a part of the variants say nothing, so the second sentence and the picture are left out.
    assert made(early).sentences == made(full).sentences[:1]
    assert made(early).picture is None
    report = make_report([early])
    assert not any(isinstance(block, HeatMap) for section in report.sections for block in section.blocks)
    assert "<h2>" in render(report)
    found = compare_models([early.files[0].parent, full.files[0].parent], labels={early.files[0].parent: "early"})
    assert found.refused or found.found[0].as_json["metrics"]["cora"]["difference"]["value"] == 0
