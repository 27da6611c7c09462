"""Which data, models, files and runs belong together, and their names."""

import json
from dataclasses import replace

import pytest

import lm_eval_cora as cora
from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.renderers.markdown import as_markdown
from lm_eval_cora.report.score_views import as_json
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.comparable import not_comparable, setting_differences
from lm_eval_cora.runs.grouping import read_runs
from tests.support.messages import tells
from tests.support.shown import marked, scores_as_csv
from tests.support.written import (
    as_harness,
    check_numbers,
    copied,
    edit_results,
    everything,
    lines_of,
    otherwise,
    put,
    the_run,
    varied,
    write,
)

TASK = "cora_demo_order"


def named(written, name, digest):
    """Change the identity of the data of a run; None removes it, as in results of older versions."""

    def change(results):
        (metadata,) = (config["metadata"] for config in results["configs"].values())
        former = metadata.pop("benchmark")
        if name is not None:
            metadata["benchmark"] = {"name": name, "questions": digest}
        part = f"benchmark:{name}|data:{digest}|" if name is not None else ""
        metadata["signature"] = metadata["signature"].replace(f"data:{former['questions']}|", part)

    edit_results(written, change)
    return written


def on_file(folder, path, **arguments):
    return write(folder, varied, "cora_local_order", {"data_files": str(path)}, **arguments)


def file(path, *stems):
    return put(path, [{"question": stem, "choices": ["Ice", "Fog", "Steam"], "answer": 0} for stem in stems])


def test_two_files_of_the_user_are_two_runs(tmp_path):
    files = file(tmp_path / "one.jsonl", "Frozen water?", "Cold?"), file(tmp_path / "two.jsonl", "Frozen rain?")
    written = {(each.samples,): each for each in (on_file(tmp_path / "out", path) for path in files)}
    runs = read_runs([tmp_path / "out"])
    assert {run.files for run in runs} == written.keys()
    assert len({run.task for run in runs}) == len({run.data.digest for run in runs}) == 2
    for run in runs:
        check_numbers(run, written[run.files], "cora_local_order")
        assert (run.task, run.notes) == (f"cora_local_order ({run.label})", ())
        assert f"|data:{run.data.digest}|" in run.signature
    assert [section.title for section in make_report(runs).sections] == [run.task for run in runs]
    assert all(f"## {run.task}" in everything(tmp_path / "out") for run in runs)


def test_parts_of_one_file_are_merged(tmp_path):
    """The digest covers all questions of the file, including those that a run does not ask."""
    path = file(tmp_path / "my.jsonl", *(f"Question {number}?" for number in range(6)))
    first = on_file(tmp_path / "out", path, samples={"cora_local_order": [0, 1]})
    second = on_file(tmp_path / "out", path, samples={"cora_local_order": [2, 3, 4, 5]})
    run = the_run(tmp_path / "out")
    assert run.files == (second.samples, first.samples)
    assert tells(run.notes[0], "merged 2 runs")
    assert run.table.question_ids == the_run(on_file(tmp_path / "whole", path).folder).table.question_ids


def runs_named(tmp_path, *names):
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
def test_runs_are_shown_under_the_names_of_their_data(datas, labels, tmp_path):
    runs = runs_named(tmp_path, *datas)
    assert [run.task for run in runs] == [f"{TASK} ({label})" for label in labels]
    page = as_markdown(make_report(runs))
    assert [line for line in page.splitlines() if line.startswith("## cora")] == [f"## {run.task}" for run in runs]
    assert [(row["benchmark"], row["data"]) for row in json.loads(as_json(runs))] == [run.data for run in runs]
    for run in runs:
        assert f"some-org/some-model,{run.task},acc," in scores_as_csv(runs)


def test_results_of_older_versions_are_as_before_and_left_out_beside_a_new_one(tmp_path):
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


def test_an_unknown_result_joins_the_newest_data_only_and_another_model_in_one_section(tmp_path):
    runs = runs_named(tmp_path / "one", ("one", "1a2b3c4d"), ("two", "5e6f7a8b"), (None, None))
    assert [run.task for run in runs] == [f"{TASK} (one)", TASK]
    assert [len(run.notes) for run in runs] == [0, 1]
    assert tells(runs[1].notes[0], "left out", "the newer file has no digest")
    named(write(tmp_path / "two", varied, TASK, {"questions": 3}, "a/old"), None, None)
    write(tmp_path / "two", otherwise, TASK, {"questions": 3}, "a/new")
    section, *_ = make_report(read_runs([tmp_path / "two"])).sections
    assert section.title == TASK
    assert any("Differences" in block.title for block in section.blocks)


@pytest.mark.parametrize("name", ["a|b", "## x\n| y |", "<script>", "x" * 300])
def test_hostile_names_of_data(name, tmp_path):
    runs = runs_named(tmp_path, (name, "1a2b3c4d"), ("plain", "5e6f7a8b"))
    assert len(runs) == 2
    everything(tmp_path)
    write_every_eval_ever(runs, tmp_path / "records")


def test_scores_row_does_not_mix_data(tmp_path):
    for name, digest in (("x_order", "1a2b3c4d"), ("two", "5e6f7a8b")):
        for probe in ("order", "sampling"):
            named(write(tmp_path, varied, f"cora_demo_{probe}", {"questions": 2}), name, digest)
    titles = [section.title for section in make_report(read_runs([tmp_path])).sections if "SCORE" in section.title]
    assert titles == ["cora_demo (two): SCORE", "cora_demo (x_order): SCORE"]


# ---- in Python
@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_order", "cora_demo_mc"])
def test_the_same_answers_have_the_numbers_of_the_harness(task, demo, tmp_path):
    run = the_run(demo[task].folder)
    names = [f"“{number}” 選" for number in range(64)]
    lines = [
        {name: getattr(record, name) for name in ("question_id", "ordinal", "category", "followed")}
        | {"kind": "original" if record.original else record.kind, "reader": run.reader or "none"}
        | {"picked": None if record.picked is None else names[record.picked], "answer": names[record.answer]}
        | {"options": [names[identity] for identity in record.printed]}
        for record in reversed(run.source.records)
    ]
    scores, told = cora.score(put(tmp_path / "answers.jsonl", lines)), demo[task].printed
    # The original of other probes is of one of their kinds here.
    of_kinds = {"acc_min", "acc_max", "acc_mean", "recall_spread"} if "order" in task else set()
    both = {name for name in scores if f"{name},none" in told} - of_kinds
    assert both >= {"acc", "mcqa", "ci", "cora", "consistency_rate", "invalid"}
    if task == "cora_demo":
        assert both == {key.removesuffix(",none") for key in told if key.endswith(",none") and "stderr" not in key}
    for name in both:
        value, error = scores[name]
        assert as_harness(value, "nan") == told[f"{name},none"], name
        assert as_harness(error, "N/A") == told[f"{name}_stderr,none"], name


# ---- which models, files and runs belong together, and the messages about it
@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return write(tmp_path_factory.mktemp("small"), varied, TASK, {"questions": 2})


def newer(written):
    """A later samples file of the same task."""
    return written.samples.with_name("samples_cora_demo_order_2099-01-01T00-00-00.000000.jsonl")


def test_two_checkpoints_with_one_folder_name_are_two_models(tmp_path):
    """Each path has one checkpoint, and the probes differ. Nothing is mixed."""
    of_runs = (("1", TASK, "100"), ("2", "cora_demo_sampling", "200"), ("3", "cora_demo_sampling", "100"))
    for folder, task, step in of_runs:
        write(tmp_path / folder, varied, task, {"questions": 2}, f"/ckpt/{step}/hf")
    different, same = (read_runs([tmp_path / "1", tmp_path / other]) for other in "23")
    assert [run.model for run in different] == ["100/hf", "200/hf"]
    records = [path for path in write_every_eval_ever(different, tmp_path / "records") if path.suffix == ".json"]
    assert [json.loads(path.read_text())["model_info"]["id"] for path in records] == ["100_hf", "200_hf"]
    for runs, count in ((different, 0), (same, 1)):
        assert sum("SCORE" in section.title for section in make_report(runs).sections) == count


def test_a_path_given_twice_counts_once(small, tmp_path):
    written = copied(small, tmp_path)
    for paths in ([written.folder, written.folder, written.samples], [written.samples, written.folder]):
        assert [run.model for run in read_runs(paths)] == ["some-org/some-model"]
    put(newer(written).with_name("samples_cora_demo_order_2001-01-01T00-00-00.jsonl"), lines_of(written.samples))
    # The newer file is used, although it was passed before the older one.
    assert [run.files for run in read_runs([written.samples, written.folder])] == [(written.samples,)]


def test_a_task_without_valid_lines_is_reported(small, tmp_path):
    copied(small, tmp_path)
    lost = put(tmp_path / "samples_cora_demo_sampling_2099-01-01T00-00-00.000000.jsonl", ['{"a"', "{}"])
    run = the_run(tmp_path)
    assert any(tells(line, f"left out {lost}: ", "1 not JSON", "1 from another task") for line in run.warnings)


def test_no_name_is_guessed_among_several(tmp_path):
    one = write(tmp_path / "1", varied, TASK, {"questions": 2}, "a/x")
    other = write(tmp_path / "2", varied, "cora_demo_sampling", {"questions": 2}, "b/y")
    (flat := tmp_path / "flat").mkdir()
    for path in (one.results, other.results, one.samples):
        (flat / path.name).write_bytes(path.read_bytes())
    put(flat / newer(one).name, lines_of(other.samples))
    assert {run.model for run in read_runs([flat])} == {"a/x", "flat"}


def test_an_empty_newest_file_does_not_hide_the_one_before(small, tmp_path):
    written = copied(small, tmp_path)
    put(newer(written), [])
    run = the_run(tmp_path)
    assert run.files == (written.samples,)
    assert tells(*run.notes, f"left out {newer(written)}: ", "no answers")
    # Lines of a file that is not used are not counted.
    put(newer(written), lines_of(written.samples))
    put(written.samples, ["{", *lines_of(written.samples)])
    run = the_run(tmp_path)
    assert run.files == (newer(written),)
    assert "not JSON" not in " ".join(run.warnings)


def test_runs_without_results_files_are_not_merged(tmp_path):
    written = write(tmp_path, varied, TASK, {"questions": 4})
    lines = lines_of(written.samples)
    written.results.unlink()
    put(written.samples, lines[:10])
    put(newer(written), lines[10:])
    (note,) = the_run(tmp_path).notes
    assert "without both results files" in note


def test_a_lone_samples_file_has_the_model_of_the_folder(small, tmp_path):
    written = copied(small, tmp_path)
    newer(written).with_name("samples_cora_demo_2099-01-01T00-00-00.0.jsonl").write_bytes(written.samples.read_bytes())
    assert {run.model for run in read_runs([tmp_path])} == {"some-org/some-model"}
    text = written.results.read_text()
    written.results.write_text(text[: len(text) // 2])
    told = [warning for run in read_runs([written.samples]) for warning in run.warnings]
    assert any(tells(warning, written.results.name, "not checked") for warning in told)


CHANGED = {
    "generation_kwargs is": lambda results: results["configs"][TASK].update(generation_kwargs={"temperature": 1.5}),
    "system_instruction is": lambda results: results.update(system_instruction="Be brief."),
    "chat_template_sha is None in the first, 'applied by the server'": lambda results: results["config"].update(
        model="local-chat-completions"
    ),
    # Runs started from Python may have the name of the model here, which is not the name of a back end.
    "": lambda results: results["config"].update(model="org/llama-2-7b-chat-hf"),
}


def test_settings_for_sending_are_reported(small, tmp_path):
    first = the_run(small.folder)
    for number, (message, change) in enumerate(CHANGED.items()):
        other = copied(small, tmp_path / str(number))
        edit_results(other, change)
        second = the_run(other.folder)
        assert not_comparable(first, second) == ""
        found = setting_differences(first, second)
        assert len(found) == bool(message)
        assert all(difference.startswith(message) for difference in found)
        assert setting_differences(second, second) == []
    other.results.unlink()
    assert setting_differences(first, the_run(other.folder)) == []
    # Two models may have different chat templates.
    one, two = (replace(first, results={**first.results, "chat_template_sha": sha}) for sha in ("abc", "def"))
    assert setting_differences(one, two) == []


def test_a_task_with_a_blank_in_its_name_is_checked(small, tmp_path):
    written = copied(small, tmp_path)
    written.results.write_text(written.results.read_text().replace("cora_demo_order", "my own"))
    edit_results(written, lambda results: results["results"]["my own"].update({"mcqa,none": 0.123}))
    written.samples.rename(written.samples.with_name(written.samples.name.replace("cora_demo_order", "my own")))
    run = the_run(tmp_path)
    assert run.signature
    assert run.differences[0].startswith("mcqa is 0.1230")


def test_metrics_of_the_user_are_reported_as_not_shown(small, tmp_path):
    written = copied(small, tmp_path)
    put(written.samples, [{**line, "metrics": [*line["metrics"], "bmca@0.75"]} for line in lines_of(written.samples)])
    (told,) = the_run(tmp_path).warnings
    assert told.endswith("are not shown: bmca@0.75")


def test_incomparable_runs_have_no_marks_but_a_note(tmp_path):
    for rule, count, model in ((varied, 2, "a/one"), (otherwise, 3, "a/other")):
        write(tmp_path, rule, TASK, {"questions": count}, model)
    section, *_ = make_report(read_runs([tmp_path])).sections
    assert section.scores is not None
    assert not marked(section.scores)
    told = [note for model, note in section.notes if model == "a/other"]
    assert any(tells(note, "not comparable with a/one", "no model is marked", "1 of 3 questions") for note in told)
    assert not [block for block in section.blocks if block.title.startswith("Differences")]
