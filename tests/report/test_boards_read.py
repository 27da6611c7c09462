"""Leaderboards of real runs, of their records, and of both."""

from shutil import copytree

import pytest

from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.report.boards import PAIRED, REPORT, UNPAIRED, read_boards
from lm_eval_cora.runs.grouping import read_runs
from tests.support.leaderboards import SKY, put_record, state_of_helm
from tests.support.messages import tells, user_error
from tests.support.written import otherwise, put, varied, write


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two models on two tasks, and a third one with another seed."""
    folder = tmp_path_factory.mktemp("runs")
    for task in ("cora_demo", "cora_demo_prompts"):
        write(folder / "one", varied, task, {"questions": 4}, "org/one")
        write(folder / "two", otherwise, task, {"questions": 4}, "org/two")
    write(folder / "three", varied, "cora_demo", {"questions": 4, "seed": 1}, "org/three")
    return folder


@pytest.fixture(scope="module")
def records(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    write_every_eval_ever(read_runs([runs]), folder)
    return folder


def read(*paths):
    boards, notes = read_boards(paths)
    return boards, [note for note in notes if "follow the format" not in note]


def shape(boards):
    return [(board.title, board.metric, sorted(row.run.model for row in board.rows)) for board in boards]


SHAPE = [
    ("cora_demo (seed 0)", "cora", ["org/one", "org/two"]),
    ("cora_demo (seed 1)", "cora", ["org/three"]),
    ("cora_demo_prompts", "cora", ["org/one", "org/two"]),
]


def test_the_values_are_those_of_a_report(runs):
    boards, notes = read(runs)
    assert (shape(boards), notes) == (SHAPE, [])
    estimates = {(run.task, run.model): run.estimates for run in read_runs([runs])}
    for board in boards:
        for row in board.rows:
            known = estimates[board.task, row.run.model]
            assert (row.lead.value, row.lead.stderr, row.lead.ends) == (*known["cora"], known["cora"].interval)
            assert all(row.number(name).value == known[name].value for name in ("mcqa", "invalid"))
    assert [board.basis for board in boards] == [PAIRED, "", PAIRED]
    entry = boards[0].rows[0].run  # it does not keep the answers
    assert all(len(each.influence) == 4 for each in entry.estimates.values() if each.influence is not None)
    assert (set(entry.estimates), len(entry.ids)) == ({"cora", "acc", "mcqa", "bmca@1.0", "invalid"}, 0)


def test_records_give_the_same_values_but_an_unpaired_comparison(runs, records):
    of_runs, _ = read(runs)
    of_records, notes = read(records)
    assert (shape(of_records), notes) == (SHAPE, [])
    for one, other in zip(of_runs, of_records, strict=True):
        assert [row.lead for row in one.rows] == [row.lead for row in other.rows] or one.basis == PAIRED
        assert {str(row.lead) for row in one.rows} == {str(row.lead) for row in other.rows}
        assert [row.run.signature for row in one.rows] == [row.run.signature for row in other.rows]
    assert [board.basis for board in of_records] == [UNPAIRED, "", UNPAIRED]
    together, notes = read(records, runs)  # a run and its record count once
    assert (shape(together), notes) == (SHAPE, [])
    assert [board.basis for board in together] == [PAIRED, "", PAIRED]


def test_pages_beside_the_runs_are_linked(runs, tmp_path):
    folder = copytree(runs, tmp_path / "copy")
    (folder / "one" / REPORT).write_text("")
    (folder / "two" / "org__two" / REPORT).write_text("")
    (folder / REPORT).write_text("")  # of all models together
    found = {row.run.model: row.run.page for board in read(folder)[0] for row in board.rows}
    pages = {"org/one": folder / "one" / REPORT, "org/two": folder / "two" / "org__two" / REPORT, "org/three": None}
    assert found == pages


def test_damaged_files_are_named_and_left_out(runs, tmp_path):
    folder = copytree(runs, tmp_path / "copy")
    (samples,) = (folder / "one").rglob("samples_cora_demo_2*.jsonl")
    put(samples, ["{", "{}"])
    record = put_record(folder, 1, "{")
    boards, notes = read(folder)
    assert ("cora_demo (seed 0)", "cora", ["org/two"]) in shape(boards)
    assert notes[0] == f"left out {record}: it is not a JSON object"
    assert notes[1].startswith(f"org/one, cora_demo: left out {samples}")


def test_results_files_without_samples(runs, tmp_path):
    folder = copytree(runs, tmp_path / "copy")
    put(folder / "results_other.json", [{"results": {"gsm8k": {}}, "configs": {"gsm8k": {"metadata": {"version": 3}}}}])
    assert read(folder)[1] == []
    put(folder / "results_broken.json", ["{"])
    ((samples,), (results,)) = ((folder / "three").rglob(names) for names in ("samples_*.jsonl", "results_*.json"))
    results.unlink()
    boards, notes = read(folder)
    assert [board.title for board in boards] == ["cora_demo", "cora_demo_prompts"]
    assert notes == [
        f"left out {folder / 'results_broken.json'}: it cannot be read as a results file",
        f"left out {samples}: there is no results file beside the samples",
    ]


def test_a_label_names_the_model_of_a_path(runs):
    boards, _ = read_boards([runs / "one", runs / "two"], labels={runs / "one": "First"})
    assert {row.run.model for board in boards for row in board.rows} == {"First", "org/two"}
    with user_error("expected one model in"):
        read_boards([runs], labels={runs: "All"})


def test_a_file_of_answers_is_a_model(tmp_path):
    lines = ["question,variant,picked,answer", "q1,original,Ice,Ice", "q1,shuffled,Fog,Ice", "q2,original,6,6"]
    for name in ("a", "b"):
        put(tmp_path / f"{name}.csv", [*lines, "q2,shuffled,6,6"])
    (board,), _ = read(tmp_path / "a.csv", tmp_path / "b.csv")
    assert [row.run.model for row in board.rows] == ["a", "b"]
    assert (board.task, board.basis, board.rows[0].lead.value) == ("answers", PAIRED, 0.5)


def test_answers_to_each_question_once_are_ranked_by_their_accuracy(tmp_path):
    (board,), _ = read(put(tmp_path / "a.csv", ["question,picked,answer", "q1,Ice,Ice", "q2,6,7"]))
    assert (board.metric, board.rows[0].lead.value) == ("acc", 0.5)


def test_everything_that_score_takes_is_in_one_folder(runs, models, tmp_path):
    """Samples of a task that is not ours, run files of HELM, answers, and other files."""
    for model in ("small", "large"):
        put(tmp_path / "helm" / f"{model}.json", state_of_helm(model, *SKY))
    lines = ["question,picked,answer", "q1,Ice,Ice", "q2,6,7"]
    put(tmp_path / "mine" / "a.csv", lines)
    put(tmp_path / "mine" / "broken.csv", [lines[0], "q1,Ice"])
    put(tmp_path / "scores.csv", ["model,task,value", "a,b,1"])
    copytree(models.one, tmp_path / "documents")
    copytree(runs / "one", tmp_path / "one")
    boards, notes = read(tmp_path)
    assert {(board.task, board.metric, len(board.rows)) for board in boards} == {
        ("answers", "acc", 1),
        ("cora_demo", "cora", 1),
        ("cora_demo_prompts", "cora", 1),
        ("large", "acc", 1),
        ("small", "acc", 1),
    }
    (left_out,) = (note for note in notes if "left out" in note)
    assert left_out.startswith(f"left out {tmp_path / 'mine' / 'broken.csv'}")
    assert "not shown, because their options cannot be found: tiny_choice, tiny_written" in "".join(notes)


def test_results_that_contradict_their_samples_are_named(runs, tmp_path):
    folder = copytree(runs / "three", tmp_path / "copy")
    (results,) = folder.rglob("results_*.json")
    results.write_text(results.read_text().replace('"cora,none": ', '"cora,none": 9'))
    (told,) = read(folder)[1]
    assert tells(told, "org/three, cora_demo: the results file beside samples_", "differs from its samples: cora is 9")


def test_nothing_to_show(tmp_path):
    def unreadable(path, *parts):
        with user_error(*parts):
            read(path)

    unreadable(tmp_path / "missing", "there is no such file or folder")
    put(tmp_path / "samples_gsm8k_2026-01-01T00-00-00.000000.jsonl", [{"doc": {}}])
    unreadable(tmp_path, "there are no samples of lm-eval-cora tasks and no records")
    written = write(tmp_path, varied, "cora_demo", {"questions": 4})
    put(written.samples, ["{"])
    unreadable(tmp_path, "no run has a score: ", "left out")
    written.samples.unlink()
    unreadable(written.results, "Left out ", "there are no samples of cora_demo beside it")
