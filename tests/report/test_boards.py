"""Boards: which models are in one table, how they are grouped, and what is said about other tables."""

from math import nan

import numpy as np
import pytest

from lm_eval_cora.metrics.estimate import Estimate, share_of
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.report.boards import (
    PAIRED,
    UNPAIRED,
    boards_of,
    comparable,
    one_per_model,
    settings_of,
)
from lm_eval_cora.report.score_views import NO_BEST
from lm_eval_cora.runs.score_records import find_records
from tests.support.leaderboards import SIGNATURE, entry, put_record, record


def test_models_are_sorted_and_grouped_by_their_errors():
    """The errors are 0.046, 0.049 and 0.04. 0.7 - 0.6 is 1.5 of its errors (0.067), 0.7 - 0.2 is 8 (0.061)."""
    (board,) = boards_of("cora_x", [entry("low", 0.2), entry("high", 0.7), entry("middle", 0.6)])
    assert [(row.run.model, row.group) for row in board.rows] == [("high", 1), ("middle", 1), ("low", 2)]
    assert [row.lead.best for row in board.rows] == [True, True, False]
    assert (board.title, board.basis, board.unranked) == ("cora_x", UNPAIRED, "")


def scored(model, mcqa, full, **changes):
    """An entry with its CoRA, with small errors."""
    values = {"cora": mcqa * (1 - mcqa + full), "mcqa": mcqa, "bmca@1.0": full, "invalid": 1 - mcqa}
    return entry(model, 0.5, scores={name: Estimate(value, 0.01) for name, value in values.items()}, **changes)


def test_equal_values_have_equal_ranks_and_the_lowest_may_be_the_best():
    own = [scored(name, mcqa, 0.5, higher={"invalid": False}) for name, mcqa in RIGHT.items()]
    (board,) = boards_of("cora_x", own, ["invalid"])
    found = [(row.run.model, row.rank, row.group) for row in board.rows]
    assert found == [("most", 1, 1), ("a", 2, 2), ("b", 2, 2), ("least", 4, 3)]
    assert [row.lead.best for row in board.rows] == [True, False, False, False]


RIGHT = {"least": 0.5, "b": 0.7, "a": 0.7, "most": 0.9}


def test_no_model_is_the_best_by_a_cora_that_falls_where_another_has_more_right_in_all_variants():
    """CoRA: 0.9 * 0.3 = 0.27 (falls, as 0.9 > 0.6), and 0.25 * 1 = 0.25."""
    (board,) = boards_of("cora_x", [scored("steep", 0.9, 0.2), scored("steady", 0.25, 0.25)])
    found = [(row.run.model, row.group, row.lead.best, row.lead.falls) for row in board.rows]
    assert (found, board.basis) == ([("steep", 0, False, True), ("steady", 0, False, False)], NO_BEST)


def test_a_model_that_cannot_be_told_apart_from_the_best_is_bold_although_its_cora_falls():
    """CoRA: 0.326 * 0.904 = 0.295, 0.9 * 0.32 = 0.288, which falls, and 0.2 * 0.8 = 0.16."""
    alike = [scored("steady", 0.326, 0.23), scored("steep", 0.9, 0.22)]
    (board,) = boards_of("cora_x", [*alike, scored("low", 0.2, 0.0)])
    assert [row.lead.best for row in board.rows] == [True, True, False]
    (board,) = boards_of("cora_x", alike)  # where all are alike, none is bold
    assert [row.lead.best for row in board.rows] == [False, False]


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
    told = "Not ranked together with other models of cora_x: shots is 5 here, 0 in “cora_x (shots 0)”."
    assert boards[1].unranked == told
    assert boards[0].settings != boards[1].settings
    many = boards_of("cora_x", [entry("a", 0.9, shots=shots) for shots in range(6)])
    assert many[0].unranked.endswith("; and 2 more tables.")


def test_other_questions_are_another_table():
    boards = boards_of("cora_x", [entry("a", 0.9, asked="1"), entry("b", 0.8, asked="2")])
    assert [board.title for board in boards] == ["cora_x (table 1)", "cora_x (table 2)"]
    assert "the questions or their variants differ from those in “cora_x (table 2)”" in boards[0].unranked


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
    assert [(row.run.model, row.group, row.lead.best) for row in board.rows] == [("a", 0, False), ("b", 0, False)]
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
