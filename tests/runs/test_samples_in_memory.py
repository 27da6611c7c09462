"""What `simple_evaluate` returns is read as its files are."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lm_eval_cora as cora
from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.model_run import Run
from tests.support.simulated import knows, prefers, run
from tests.support.written import save

SOME = {"questions": 2}


def run_of(scores: cora.Scores) -> Run:
    assert scores._run is not None
    return scores._run


@pytest.mark.parametrize(
    ("task", "arguments"), [("cora_demo", {}), ("cora_demo_mc", {}), ("cora_demo", {"predict_only": True})]
)
def test_results_are_read_as_their_files(task: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    results = run(prefers, task, SOME, **arguments)
    results["config"]["model_args"] = "pretrained=some-org/base,peft=some-org/some-model"
    results["config"]["more"] = {"count": np.int64(1), "mean": np.float32(0.5), "all": np.arange(2), "types": {int}}
    for line in results["samples"][task]:
        line["doc"]["ordinal"] = np.int64(line["doc"]["ordinal"])
    (ours,) = cora.read_runs(results)
    save(tmp_path, results)
    (theirs,) = cora.read_runs(tmp_path)
    assert (ours.name, ours.notes) == (theirs.name, theirs.notes) == (f"some-org/some-model, {task}", ())
    assert repr(dict(ours)) == repr(dict(theirs))
    assert run_of(ours).signature == run_of(theirs).signature != ""
    assert run_of(ours).results["config"]["more"]["all"] == [0, 1]


def test_several_results_and_other_tasks(tmp_path: Path) -> None:
    one, other, saved = run(knows, options=SOME), run(prefers, options=SOME), run(prefers, options=SOME)
    one["samples"] = {"arc_easy": [{"doc_id": 0, "doc": {"query": "?"}}], **one["samples"]}
    other["model_name"] = "named"
    save(tmp_path, {**saved, "samples": dict(saved["samples"])})  # the harness changes the lines when it saves them
    found = cora.read_runs([one, other], tmp_path, saved)
    names = ["Simulated (results 1)", "named", "some-org/some-model", "Simulated (results 3)"]
    assert [scores.name for scores in found] == [f"{name}, cora_demo" for name in names]
    assert found[0]["cora"].value == 1.0
    assert cora.compare(found[1], found[3])["acc"].value == 0.0


def test_the_temporary_files_are_removed_with_the_last_scores() -> None:
    (scores,) = cora.read_runs(run(knows, options={"questions": 1}))
    (path,) = run_of(scores).files
    assert path.exists()
    del scores
    gc.collect()
    assert not path.parents[1].exists()


def test_results_without_samples_of_our_tasks() -> None:
    wrong: list[tuple[Any, str]] = [
        ({"results": {}}, r"without `samples`\. Pass log_samples=True to simple_evaluate"),
        ({"samples": {"arc_easy": [{"doc": {"query": "?"}}]}}, r"of other tasks \(arc_easy\)"),
        (None, r"expected folders, files or results of simple_evaluate, got \(None,\)"),
    ]
    for results, message in wrong:
        with pytest.raises(UserError, match=f"read_runs: .*{message}"):
            cora.read_runs(results)
