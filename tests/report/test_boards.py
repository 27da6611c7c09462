"""Boards: which models are in one table, how they are grouped, and what is said about other tables."""

from math import nan
from shutil import copytree

import numpy as np
import pytest

from lm_eval_cora.export.every_eval_ever import write_every_eval_ever
from lm_eval_cora.metrics.estimate import Estimate, share_of
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.report.boards import (
    PAIRED,
    REPORT,
    UNPAIRED,
    boards_of,
    comparable,
    one_per_model,
    read_boards,
    settings_of,
)
from lm_eval_cora.report.score_views import NO_BEST
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.score_records import find_records
from tests.support.leaderboards import SIGNATURE, SKY, entry, put_record, record, state_of_helm
from tests.support.messages import tells, user_error
from tests.support.written import otherwise, put, varied, write


def test_models_are_sorted_and_grouped_by_their_errors():
    """The errors are 0.046, 0.049 and 0.04. 0.7 - 0.6 is 1.5 of its errors (0.067), 0.7 - 0.2 is 8 (0.061)."""
    (board,) = boards_of("cora_x", [entry("low", 0.2), entry("high", 0.7), entry("middle", 0.6)])
    assert [(row.run.model, row.group) for row in board.rows] == [("high", 1), ("middle", 1), ("low", 2)]
    assert (board.title, board.basis) == ("cora_x", UNPAIRED)


def scored(model, mcqa, full, **changes):
    """An entry with its CoRA, with small errors."""
    values = {"cora": mcqa * (1 - mcqa + full), "mcqa": mcqa, "bmca@1.0": full, "invalid": 1 - mcqa}
    return entry(model, 0.5, scores={name: Estimate(value, 0.01) for name, value in values.items()}, **changes)


def test_equal_values_have_equal_ranks_and_the_lowest_may_be_the_best():
    own = [scored(name, mcqa, 0.5, higher={"invalid": False}) for name, mcqa in RIGHT.items()]
    (board,) = boards_of("cora_x", own, ["invalid"])
    found = [(row.run.model, row.rank, row.group) for row in board.rows]
    assert found == [("most", 1, 1), ("a", 2, 2), ("b", 2, 2), ("least", 4, 3)]


RIGHT = {"least": 0.5, "b": 0.7, "a": 0.7, "most": 0.9}


def test_a_model_with_more_right_in_all_variants_comes_first_although_its_cora_is_lower():
    """CoRA: 0.9 * 0.3 = 0.27 (falls, as 0.9 > 0.6), and 0.25 * 1 = 0.25."""
    own = [scored("steep", 0.9, 0.2), scored("steady", 0.25, 0.25)]
    (board,) = boards_of("cora_x", own)
    assert [(row.run.model, row.group) for row in board.rows] == [("steady", 1), ("steep", 2)]
    (board,) = boards_of("cora_x", own, ["cora"])
    found = [(row.run.model, row.group, row.lead.falls) for row in board.rows]
    assert (found, board.basis) == ([("steep", 0, True), ("steady", 0, False)], NO_BEST)


def test_paired_answers_tell_more_models_apart():
    """All questions of the second are right in the first, too: 12 lost, none gained. Unpaired that is 1.7 errors."""
    questions = np.arange(100)
    for is_paired, groups, basis in ((True, [1, 2], PAIRED), (False, [1, 1], UNPAIRED)):
        scores = {name: {"cora": share_of(questions < right)} for name, right in (("a", 60), ("b", 48))}
        signature = SIGNATURE.replace("|n:", "|n:" if is_paired else "|until:cora>=0.5|n:")  # it depends on the answers
        own = [entry(name, 0.5, scores=each, signature=signature, asked="1") for name, each in scores.items()]
        (board,) = boards_of("cora_x", own)
        assert [row.group for row in board.rows] == groups
        assert board.basis == basis


def test_incompatible_settings_are_never_in_one_table():
    boards = boards_of("cora_x", [entry("a", 0.9), entry("b", 0.8), entry("c", 0.7, shots=5)])
    assert [[row.run.model for row in board.rows] for board in boards] == [["a", "b"], ["c"]]
    assert [board.title for board in boards] == ["cora_x (shots 0)", "cora_x (shots 5)"]
    assert boards[0].settings != boards[1].settings


def test_other_questions_are_another_table():
    boards = boards_of("cora_x", [entry("a", 0.9, asked="1"), entry("b", 0.8, asked="2")])
    assert [board.title for board in boards] == ["cora_x (table 1)", "cora_x (table 2)"]


def test_a_record_joins_the_runs_with_its_settings():
    runs = [entry("a", 0.9, asked="1"), entry("b", 0.8, asked="1"), entry("c", 0.8, asked="2")]
    groups = comparable([*runs, entry("d", 0.7), entry("e", 0.7, shots=5)])
    assert sorted("".join(each.model for each in own) for own in groups) == ["abd", "c", "e"]


def test_one_entry_per_model_the_run_before_its_record():
    newest = SIGNATURE.format(task="cora_x", shots=0).replace("|v1", "|v2")
    run, newer = entry("a", 0.9, asked="1"), entry("a", 0.8, asked="1", date="2026-02-01", signature=newest)
    kept, notes = one_per_model([run, entry("a", 0.7, date="2027-01-01"), newer])
    assert kept == [newer]
    assert notes == ["a, cora_x: left out a.json, older than a.json"] * 2
    assert one_per_model([run, entry("a", 0.9)]) == ([run], [])


def test_scores_without_an_error_are_not_grouped():
    own = [entry("a", 0.9, scores={"cora": Estimate(0.9, nan)}), entry("b", 0.8), entry("c", nan, scores={})]
    (board,) = boards_of("cora_x", own)
    assert [(row.run.model, row.group) for row in board.rows] == [("a", 0), ("b", 0)]
    assert board.basis.startswith("The error of a score is unknown")
    assert boards_of("cora_x", [entry("c", nan, scores={})]) == []


def test_how_much_was_asked_is_not_a_setting_but_the_requirements_of_a_run_are():
    signature = "cora|task:cora_x@1|data_files:a.csv|shots:0|stop:exact|until:cora>=0.5|n:9x20|invalid:1.0%|v0.2.0"
    found = settings_of(entry("a", 0.5, signature=signature, reader="strict"))
    assert found == {"task": "cora_x@1", "shots": "0", "until": "cora>=0.5", "reader": "strict"}
    # Files identify questions without a digest.
    assert settings_of(entry("a", 0.5, signature=signature, data=Data("x")))["data_files"] == "a.csv"
    assert settings_of(entry("a", 0.5, signature="", data=Data(), reader=None)) == {}


def test_a_record_has_its_scores_and_its_signature(tmp_path):
    path = put_record(tmp_path / "data" / "org", 1, record("org/m", {"cora_x": 0.5, "cora_y/my": 0.25}))
    (one, other), notes = find_records(tmp_path)
    assert notes == []
    assert (one.model, one.name, one.part, one.data.digest) == ("org/m", "cora_x", "", "1a2b3c4d")
    assert (*one.estimates["cora"], *one.estimates["cora"].interval) == (0.5, 0.02, 0.46, 0.54)
    settings = {"task": "cora_x@1", "probe": "divergent", "form": "generate", "shots": "0", "reader": "flexible"}
    assert settings_of(one) == settings
    assert (one.count, one.asked) == (100, "")
    assert (one.date, one.files) == ("2026-11-24T12-32-27", (path,))
    assert (other.name, other.part) == ("cora_y", "my")
    put_record(tmp_path / "data" / "org", 1, _set([*_SCORE, "uncertainty"], {"num_samples": 1}))
    (entry,), _ = find_records(tmp_path)
    assert str(entry.estimates["cora"]) == "Estimate(value=0.5, stderr=nan)"


def test_other_files_are_passed_over(tmp_path):
    put_record(tmp_path, 1, {**record("m", {"cora_x": 0.5}), "source_metadata": {"source_name": "another"}})
    (tmp_path / "results_2026-01-01T00-00-00.json").write_text("{}")
    (tmp_path / "settings.json").write_text("[1")
    assert find_records(tmp_path) == ([], [])
    assert find_records(tmp_path / "samples_x.jsonl") == ([], [])


def _set(place, value):
    changed = record("m", {"cora_x": 0.5})
    *path, last = place
    inside = changed
    for key in path:
        inside = inside[key]
    inside[last] = value
    return changed


_SCORE = ["evaluation_results", 0, "score_details"]


@pytest.mark.parametrize(
    "content",
    [
        *('{"schema_version": "0.3.0", ', "[" * 200),
        *(_set([*_SCORE, "score"], value) for value in ("0.5", 7, nan, True)),
        _set([*_SCORE, "uncertainty", "standard_error", "value"], -1),
        _set([*_SCORE, "details", "questions"], "many"),
        _set([*_SCORE, "details"], None),
        _set(["evaluation_results", 0, "evaluation_timestamp"], "1e300"),
        *(_set(["evaluation_results"], 1), _set(["model_info"], "m")),
    ],
)
def test_a_damaged_record_is_left_out_with_one_line(content, tmp_path):
    path = put_record(tmp_path, 1, content)
    put_record(tmp_path, 2, record("good", {"cora_x": 0.5}))
    entries, (note,) = find_records(tmp_path)
    assert [entry.model for entry in entries] == ["good"]
    assert note.startswith(f"left out {path}: it is not a")
    assert "\n" not in note


# ---- leaderboards of real runs, of their records, and of both
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
    ("cora_demo (seed 0)", "bmca@1.0", ["org/one", "org/two"]),
    ("cora_demo (seed 1)", "bmca@1.0", ["org/three"]),
    ("cora_demo_prompts", "cora", ["org/one", "org/two"]),
]


def test_the_values_are_those_of_a_report(runs):
    boards, notes = read(runs)
    assert (shape(boards), notes) == (SHAPE, [])
    estimates = {(run.task, run.model): run.estimates for run in read_runs([runs])}
    for board in boards:
        for row in board.rows:
            known = estimates[board.task, row.run.model]
            lead = known[board.metric]
            assert (row.lead.value, row.lead.stderr, row.lead.ends) == (*lead, lead.interval)
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
    assert ("cora_demo (seed 0)", "bmca@1.0", ["org/two"]) in shape(boards)
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
        ("cora_demo", "bmca@1.0", 1),
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
