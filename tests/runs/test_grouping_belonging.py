"""Which models, files and runs belong together, and the messages about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.report.content import Number, Table
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import not_comparable, setting_differences
from tests.support.messages import tells
from tests.support.written import Line, Written, copied, edit_results, lines_of, otherwise, put, the_run, varied, write


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return write(tmp_path_factory.mktemp("small"), varied, "cora_demo_order", {"questions": 2})


def test_two_checkpoints_with_one_folder_name_are_two_models(tmp_path: Path) -> None:
    """Each path has one checkpoint, and the probes differ. Nothing is mixed."""
    one = write(tmp_path / "1", varied, "cora_demo_order", {"questions": 2}, "/ckpt/100/hf")
    other = write(tmp_path / "2", varied, "cora_demo_sampling", {"questions": 2}, "/ckpt/200/hf")
    runs = read_runs([one.folder, other.folder])
    assert [run.model for run in runs] == ["100/hf", "200/hf"]
    records = [path for path in write_every_eval_ever(runs, tmp_path / "records") if path.suffix == ".json"]
    assert [json.loads(path.read_text())["model_info"]["id"] for path in records] == ["100_hf", "200_hf"]
    same = write(tmp_path / "3", varied, "cora_demo_sampling", {"questions": 2}, "/ckpt/100/hf")
    for paths, count in (((one, other), 0), ((one, same), 1)):
        sections = make_report(read_runs([written.folder for written in paths])).sections
        assert sum("SCORE" in section.title for section in sections) == count


def test_a_path_given_twice_counts_once(small: Written, tmp_path: Path) -> None:
    written = copied(small, tmp_path)
    for paths in ([written.folder, written.folder, written.samples], [written.samples, written.folder]):
        assert [run.model for run in read_runs(paths)] == ["some-org/some-model"]
    put(newer(written).with_name("samples_cora_demo_order_2001-01-01T00-00-00.jsonl"), lines_of(written.samples))
    # The newer file is used, although it was passed before the older one.
    assert [run.files for run in read_runs([written.samples, written.folder])] == [(written.samples,)]


def test_a_task_without_valid_lines_is_reported(small: Written, tmp_path: Path) -> None:
    copied(small, tmp_path)
    lost = write(tmp_path, varied, "cora_demo_sampling", {"questions": 2})
    put(lost.samples, ['{"a"', "{}"])
    run = the_run(tmp_path)
    assert any(tells(line, f"left out {lost.samples}: ", "1 not JSON", "1 from another task") for line in run.warnings)


def test_no_name_is_guessed_among_several(tmp_path: Path) -> None:
    one = write(tmp_path / "1", varied, "cora_demo_order", {"questions": 2}, "a/x")
    other = write(tmp_path / "2", varied, "cora_demo_sampling", {"questions": 2}, "b/y")
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in (one.results, other.results, one.samples):
        (flat / path.name).write_bytes(path.read_bytes())
    put(flat / newer(one).name, lines_of(other.samples))
    assert {run.model for run in read_runs([flat])} == {"a/x", "flat"}


def newer(written: Written) -> Path:
    """A later samples file of the same task."""
    return written.samples.with_name("samples_cora_demo_order_2099-01-01T00-00-00.000000.jsonl")


def test_an_empty_newest_file_does_not_hide_the_one_before(small: Written, tmp_path: Path) -> None:
    written = copied(small, tmp_path)
    put(newer(written), [])
    run = the_run(tmp_path)
    assert run.files == (written.samples,)
    (note,) = run.notes
    assert tells(note, f"left out {newer(written)}: ", "no answers")
    # Lines of a file that is not used are not counted.
    put(newer(written), lines_of(written.samples))
    put(written.samples, ["{", *lines_of(written.samples)])
    run = the_run(tmp_path)
    assert run.files == (newer(written),)
    assert "not JSON" not in " ".join(run.warnings)


def test_runs_without_results_files_are_not_merged(tmp_path: Path) -> None:
    written = write(tmp_path, varied, "cora_demo_order", {"questions": 4})
    lines = lines_of(written.samples)
    written.results.unlink()
    put(written.samples, lines[:10])
    put(newer(written), lines[10:])
    (note,) = the_run(tmp_path).notes
    assert "without both results files" in note


def test_merged_categories_are_in_the_signature(tmp_path: Path) -> None:
    categories = ("astronomy", "biology")
    parts = [write(tmp_path, lambda doc: "", "cora_demo_order", {"categories": [category]}) for category in categories]
    run = the_run(tmp_path)
    expected = {"categories:astronomy,biology", "invalid:100.0%", f"n:{len(run.table.sizes)}x5"}
    assert expected <= {*run.signature.split("|")}
    assert any(tells(line, "merged", "results file") for line in run.warnings)
    # A single run on the same questions.
    whole = write(tmp_path.with_name("whole"), varied, "cora_demo_order", {"categories": ["biology", "astronomy"]})
    assert not_comparable(run, the_run(whole.folder)) == ""
    for part in parts:  # invalid signatures
        edit_results(part, lambda results: of_task(results)["metadata"].update(signature="none"))
    run = the_run(tmp_path)
    assert (len(run.files), run.signature) == (2, "none")


def test_a_lone_samples_file_has_the_model_of_the_folder(small: Written, tmp_path: Path) -> None:
    written = copied(small, tmp_path)
    newer(written).with_name("samples_cora_demo_2099-01-01T00-00-00.0.jsonl").write_bytes(written.samples.read_bytes())
    assert {run.model for run in read_runs([tmp_path])} == {"some-org/some-model"}
    text = written.results.read_text()
    written.results.write_text(text[: len(text) // 2])
    told = [warning for run in read_runs([written.samples]) for warning in run.warnings]
    assert any(tells(warning, written.results.name, "not checked") for warning in told)


def of_task(results: Line) -> Line:
    task: Line = results["configs"]["cora_demo_order"]
    return task


def with_back_end(name: str) -> Callable[[Line], Any]:
    return lambda results: results["config"].update(model=name)


CHANGED: dict[str, Callable[[Line], Any]] = {
    "generation_kwargs is": lambda results: of_task(results).update(generation_kwargs={"temperature": 1.5}),
    "system_instruction is": lambda results: results.update(system_instruction="Be brief."),
    "chat_template_sha is None in the first, 'applied by the server'": with_back_end("local-chat-completions"),
    # Runs started from Python may have the name of the model here, which is not the name of a back end.
    "": with_back_end("org/llama-2-7b-chat-hf"),
}


@pytest.mark.parametrize("message", CHANGED)
def test_settings_for_sending_are_reported(message: str, small: Written, tmp_path: Path) -> None:
    other = copied(small, tmp_path)
    edit_results(other, CHANGED[message])
    first, second = the_run(small.folder), the_run(other.folder)
    assert not_comparable(first, second) == ""
    found = setting_differences(first, second)
    assert len(found) == bool(message)
    assert all(difference.startswith(message) for difference in found)
    assert setting_differences(second, second) == []
    other.results.unlink()
    assert setting_differences(first, the_run(other.folder)) == []


def test_two_models_may_have_different_chat_templates(small: Written) -> None:
    run = the_run(small.folder)
    one, other = (replace(run, results={**run.results, "chat_template_sha": sha}) for sha in ("abc", "def"))
    assert setting_differences(one, other) == []


def test_a_task_with_a_blank_in_its_name_is_checked(small: Written, tmp_path: Path) -> None:
    written = copied(small, tmp_path)
    written.results.write_text(written.results.read_text().replace("cora_demo_order", "my own"))
    edit_results(written, lambda results: results["results"]["my own"].update({"mcqa,none": 0.123}))
    written.samples.rename(written.samples.with_name(written.samples.name.replace("cora_demo_order", "my own")))
    run = the_run(tmp_path)
    assert run.signature
    assert run.differences[0].startswith("mcqa: 0.123")


def test_metrics_of_the_user_are_reported_as_not_shown(small: Written, tmp_path: Path) -> None:
    written = copied(small, tmp_path)
    put(written.samples, [{**line, "metrics": [*line["metrics"], "bmca@0.75"]} for line in lines_of(written.samples)])
    (told,) = the_run(tmp_path).warnings
    assert told.endswith("are not shown: bmca@0.75")


def test_incomparable_runs_have_no_marks_but_a_note(tmp_path: Path) -> None:
    one = write(tmp_path / "1", varied, "cora_demo_order", {"questions": 2}, "a/one")
    other = write(tmp_path / "2", otherwise, "cora_demo_order", {"questions": 3}, "a/other")
    (section,) = make_report(read_runs([one.folder, other.folder])).sections
    assert isinstance(section.blocks[0], Table)
    assert not any(cell.best for row in section.blocks[0].rows for cell in row if isinstance(cell, Number))
    told = [note for model, note in section.notes if model == "a/other"]
    assert any(tells(note, "not comparable with a/one", "no model is marked", "1 of 3 questions") for note in told)
    assert not [block for block in section.blocks if block.title.startswith("Differences")]
