"""Runs of one task on different data are different runs with different names."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import lm_eval_cora as cora
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run
from tests.support.messages import tells
from tests.support.written import Written, as_harness, check_numbers, everything, otherwise, put, the_run, varied, write

TASK = "cora_demo_order"


def named(written: Written, name: str | None, digest: str | None) -> Written:
    """Change the identity of the data of a run; None removes it, as in results of older versions."""
    results = json.loads(written.results.read_text())
    (config,) = results["configs"].values()
    metadata = config["metadata"]
    former = metadata.pop("benchmark")
    if name is not None:
        metadata["benchmark"] = {"name": name, "questions": digest}
    part = f"benchmark:{name}|data:{digest}|" if name is not None else ""
    metadata["signature"] = metadata["signature"].replace(f"data:{former['questions']}|", part)
    written.results.write_text(json.dumps(results))
    return written


def on_file(folder: Path, path: Path, options: Mapping[str, Any] | None = None, **arguments: Any) -> Written:
    return write(folder, varied, "cora_local_order", {"data_files": str(path), **(options or {})}, **arguments)


def file(path: Path, *stems: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"question": stem, "choices": ["Ice", "Fog", "Steam"], "answer": 0} for stem in stems]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_two_files_of_the_user_are_two_runs(tmp_path: Path) -> None:
    one = on_file(tmp_path / "out", file(tmp_path / "one.jsonl", "Frozen water?", "Cold?"))
    two = on_file(tmp_path / "out", file(tmp_path / "two.jsonl", "Frozen rain?"))
    runs = read_runs([tmp_path / "out"])
    assert {run.files for run in runs} == {(one.samples,), (two.samples,)}
    assert len({run.task for run in runs}) == len({run.data.digest for run in runs}) == 2
    for run in runs:
        check_numbers(run, one if run.files == (one.samples,) else two, "cora_local_order")
        assert (run.task, run.notes) == (f"cora_local_order ({run.label})", ())
        assert f"|data:{run.data.digest}|" in run.signature
    titles = [section.title for section in make_report(runs).sections]
    assert titles == [run.task for run in runs]
    assert all(f"## {run.task}" in everything(tmp_path / "out") for run in runs)


def test_parts_of_one_file_are_merged(tmp_path: Path) -> None:
    """The digest covers all questions of the file, including those that a run does not ask."""
    path = file(tmp_path / "my.jsonl", *(f"Question {number}?" for number in range(6)))
    first = on_file(tmp_path / "out", path, samples={"cora_local_order": [0, 1]})
    second = on_file(tmp_path / "out", path, samples={"cora_local_order": [2, 3, 4, 5]})
    run = the_run(tmp_path / "out")
    assert run.files == (second.samples, first.samples)
    assert tells(run.notes[0], "merged 2 runs")
    assert run.table.question_ids == the_run(on_file(tmp_path / "whole", path).folder).table.question_ids


def runs_named(tmp_path: Path, *names: tuple[str | None, str | None]) -> list[Run]:
    """Write runs of the demo to one folder, the oldest first, and give each the data of a name and digest."""
    for number, (name, digest) in enumerate(names):
        named(write(tmp_path, varied if number % 2 else otherwise, TASK, {"questions": 3}), name, digest)
    return read_runs([tmp_path])


@pytest.mark.parametrize(
    ("datas", "labels"),
    [
        ((("two", "5e6f7a8b"), ("my", "1a2b3c4d")), ["my", "two"]),
        ((("my", "1a2b3c4d"), ("my", "5e6f7a8b")), ["my 1a2b3c4d", "my 5e6f7a8b"]),
        ((("my", "1a2b3c4d"), ("copy", "1a2b3c4d")), ["copy", "my"]),
    ],
)
def test_runs_are_shown_under_the_names_of_their_data(datas: Any, labels: list[str], tmp_path: Path) -> None:
    runs = runs_named(tmp_path, *datas)
    assert [run.task for run in runs] == [f"{TASK} ({label})" for label in labels]
    page = as_markdown(make_report(runs))
    assert [line for line in page.splitlines() if line.startswith("## cora")] == [f"## {run.task}" for run in runs]
    assert [(row["benchmark"], row["data"]) for row in json.loads(as_json(runs))] == [run.data for run in runs]
    for run in runs:
        assert f"some-org/some-model,{run.task},acc," in as_csv(runs)


def test_results_of_older_versions_are_as_before_and_left_out_beside_a_new_one(tmp_path: Path) -> None:
    """The categories differ, so without digests the two would be merged."""
    (run,) = runs_named(tmp_path / "old", (None, None), (None, None))
    assert (run.task, run.data) == (TASK, Data())
    assert tells(run.notes[0], "left out", "some of its variants")
    old = named(write(tmp_path / "new", varied, TASK, {"categories": ["astronomy"]}), None, None)
    new = write(tmp_path / "new", varied, TASK, {"categories": ["biology"]})
    run = the_run(tmp_path / "new")
    assert (run.task, run.files) == (TASK, (new.samples,))
    (note,) = run.notes
    assert tells(note, f"left out {old.samples}", str(new.samples), "digest")


def test_an_unknown_result_joins_the_newest_data_only(tmp_path: Path) -> None:
    runs = runs_named(tmp_path, ("one", "1a2b3c4d"), ("two", "5e6f7a8b"), (None, None))
    assert [run.task for run in runs] == [f"{TASK} (one)", TASK]
    assert [len(run.notes) for run in runs] == [0, 1]
    assert tells(runs[1].notes[0], "left out", "the newer file has no digest")


def test_a_new_run_and_an_old_one_of_two_models_stand_in_one_section(tmp_path: Path) -> None:
    named(write(tmp_path, varied, TASK, {"questions": 3}, "a/old"), None, None)
    write(tmp_path, otherwise, TASK, {"questions": 3}, "a/new")
    (section,) = make_report(read_runs([tmp_path])).sections
    assert section.title == TASK
    assert [block.title for block in section.blocks if "Differences" in block.title]


@pytest.mark.parametrize("name", ["a|b", "## x\n| y |", "<script>", "x" * 300])
def test_hostile_names_of_data(name: str, tmp_path: Path) -> None:
    runs = runs_named(tmp_path, (name, "1a2b3c4d"), ("plain", "5e6f7a8b"))
    assert len(runs) == 2
    everything(tmp_path)
    write_every_eval_ever(runs, tmp_path / "records")


def test_scores_row_does_not_mix_data(tmp_path: Path) -> None:
    for name, digest in (("x_order", "1a2b3c4d"), ("two", "5e6f7a8b")):
        for probe in ("order", "sampling"):
            named(write(tmp_path, varied, f"cora_demo_{probe}", {"questions": 2}), name, digest)
    titles = [section.title for section in make_report(read_runs([tmp_path])).sections if "SCORE" in section.title]
    assert titles == ["cora_demo (two): SCORE", "cora_demo (x_order): SCORE"]


# ---- in Python


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_order", "cora_demo_mc"])
def test_the_same_answers_have_the_numbers_of_the_harness(task: str, demo: dict[str, Written], tmp_path: Path) -> None:
    run = the_run(demo[task].folder)
    names = [f"“{number}” 選" for number in range(64)]
    lines = [
        {
            **{name: getattr(record, name) for name in ("question_id", "ordinal", "category", "followed")},
            "kind": "original" if record.original else record.kind,
            "picked": None if record.picked is None else names[record.picked],
            "answer": names[record.answer],
            "options": [names[identity] for identity in record.printed],
            "reader": run.reader or "none",
        }
        for record in reversed(run.samples.records)
    ]
    scores = cora.score(put(tmp_path / "answers.jsonl", lines))
    told = demo[task].printed
    # The original of other probes is of one of their kinds here; a position is adjusted only where sizes differ.
    of_kinds = set() if "order" not in task and "prompts" not in task else {"acc_min", "acc_max", "acc_mean"}
    both = {name for name in scores if f"{name},none" in told} - of_kinds
    assert both >= {"acc", "mcqa", "ci", "cora", "consistency_rate", "invalid"}
    if task == "cora_demo":
        assert both == {key.removesuffix(",none") for key in told if key.endswith(",none") and "stderr" not in key}
    for name in both:
        value, error = scores[name]
        assert as_harness(value, "nan") == told[f"{name},none"], name
        assert as_harness(error, "N/A") == told[f"{name}_stderr,none"], name


def test_read_runs_gives_the_numbers_of_the_harness(demo: dict[str, Written]) -> None:
    (scores,) = cora.read_runs(demo["cora_demo"].folder)
    printed = demo["cora_demo"].printed
    assert "cora_demo" in scores.name
    for name in ("cora", "ci", "acc_min", "consistency_rate", "followed"):
        assert as_harness(scores[name].value, "nan") == printed[f"{name},none"]
        assert as_harness(scores[name].stderr, "N/A") == printed[f"{name}_stderr,none"]
    assert scores.to_frame().set_index("metric").value["cora"] == scores["cora"].value
    assert scores.name in repr(scores)
    assert pickle.loads(pickle.dumps(scores))["cora"] == scores["cora"]


def test_runs_are_compared_by_their_signatures(demo: dict[str, Written]) -> None:
    ((one,), (other,)) = (cora.read_runs(demo[task].folder) for task in ("cora_demo", "cora_demo_order"))
    assert cora.compare(one, one)["cora"].value == 0.0
    with pytest.raises(UserError, match="cannot be compared"):
        cora.compare(one, other)
