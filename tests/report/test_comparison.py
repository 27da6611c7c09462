"""Comparisons of two, three and more models: pairs, baselines, and what cannot be compared."""

import json
from shutil import copytree

import pytest

import lm_eval_cora as cora
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.pair_views import explanation_of
from tests.support.messages import tells, user_error
from tests.support.shown import marked, widths
from tests.support.written import copied, otherwise, strict, varied, write, write_by_hand

ANSWERS = {
    "low": {"original": "1" * 10 + "0" * 30, "a": "1" * 8 + "0" * 32},
    "middle": {"original": "1" * 24 + "0" * 16, "a": "1" * 23 + "0" * 17},
    "high": {"original": "1" * 36 + "0" * 4, "a": "1" * 35 + "0" * 5},
}


@pytest.fixture
def files(tmp_path):
    return [write_by_hand(tmp_path / f"{name}.jsonl", answers) for name, answers in ANSWERS.items()]


def values_of(found):
    """The values after a round trip as strict JSON."""
    for table in found.tables:
        assert widths(table) == {len(table.columns)}
    return strict(json.dumps([each.as_json for each in found.found], allow_nan=False))  # type: ignore[no-any-return]


def explained(found):
    return explanation_of(found.tables)


def pairs_of(value, metric="mcqa"):
    return [(pair["before"], pair["after"]) for pair in value["metrics"][metric]["pairs"]]


def titles(found):
    return [table.title for table in found.tables]


def test_all_pairs_of_three_models(files):
    found = compare_models(files)
    (value,) = values_of(found)
    assert (value["task"], value["models"], value["questions"]) == ("answers", ["low", "middle", "high"], 40)
    assert pairs_of(value) == [("low", "middle"), ("low", "high"), ("middle", "high")]
    differences = [f"answers: differences in {metric}" for metric in ("cora", "mcqa", "bmca@1.0")]
    assert titles(found) == ["answers: 40 questions", *differences]
    assert tells(explained(found), "max-t", "excludes 0 exactly if its p is below 0.05", "* ranks the models.")
    assert marked(found.tables[0])["high"]
    # 14, 26 and 12 questions change, all in one direction; McNemar's mid-p of 14 : 0 is 2^-14.
    mcqa = value["metrics"]["mcqa"]
    assert mcqa["values"]["low"]["value"] == 10 / 40
    pair = mcqa["pairs"][0]
    assert pair["difference"]["value"] == pytest.approx(14 / 40)
    assert pair["mcnemar"] == {"lost": 0, "gained": 14, "p_value": pytest.approx(2**-14)}
    assert [pair["p_value"] for pair in mcqa["pairs"]] == pytest.approx([2.0**-14, 2.0**-26, 2.0**-12])
    assert [pair["p_together"] for pair in mcqa["pairs"]] == pytest.approx([3 * 2.0**-14, 3 * 2.0**-26, 3 * 2.0**-12])


def test_a_pair_alone_has_the_same_numbers_with_two_models_with_three_and_in_python(demo, other, tmp_path):
    third = write(tmp_path, lambda doc: varied(doc, "third"), "cora_demo", {"questions": 12}, "org/c").folder
    paths = [demo["cora_demo"].folder, other.folder, third]
    (two,), (three,) = (values_of(compare_models(paths[:count])) for count in (2, 3))
    sets = [scores for path in paths for scores in cora.read_runs(path)]
    alone, several = cora.compare(*sets[:2]), cora.compare(*sets)
    assert {*two["metrics"]} - {*alone} == {"order_gap"}  # it does not rank models
    for name in alone.keys() - {"ece"}:  # it has no error
        found = two["metrics"][name]
        numbers = [found[key] for key in ("difference", "p_value", "method")]
        pairs = three["metrics"][name]["pairs"]
        assert [pairs[0][key] for key in ("alone", "p_value", "method")] == numbers
        assert (numbers[1] is None) == (name in {"acc_min", "acc_max"})
        for pair in (alone[name], several[0, 1][name]):
            assert for_json([pair.change, pair.p_value, pair.method]) == numbers
        joint = [[row[key] for key in ("difference", "p_together")] for row in pairs]
        in_python = (own[name] for own in several.values())
        assert for_json([[pair.together, pair.p_together] for pair in in_python]) == joint


def test_a_baseline_is_compared_with_each_other_model(demo, other, tmp_path):
    third = write(tmp_path, varied, "cora_demo", {"questions": 12}, "org/c").folder
    paths = [demo["cora_demo"].folder, other.folder, third]
    for baseline, labels in (
        *(("another-org/another-model", {}), (str(other.folder), {}), (f"{other.folder}/", {})),
        ("Old", {other.folder: "Old"}),
    ):
        (value,) = values_of(compare_models(paths, labels=labels, baseline=baseline))
        first = labels.get(other.folder, "another-org/another-model")
        assert value["models"] == [first, "some-org/some-model", "org/c"]
        assert pairs_of(value) == [(first, "some-org/some-model"), (first, "org/c")]


def test_the_baseline_of_two_models_is_the_first_of_the_difference(files):
    (value,) = values_of(compare_models(files[:2], baseline="middle"))
    assert (value["before"]["model"], value["after"]["model"]) == ("middle", "low")
    assert value["metrics"]["mcqa"]["difference"]["value"] == pytest.approx(-14 / 40)
    with user_error("--baseline mid: expected the path or name of one model, got none", "low, middle"):
        compare_models(files, baseline="mid")


def test_a_task_that_the_baseline_lacks_is_named(demo, other, tmp_path):
    for task in ("cora_demo", "cora_demo_mc"):
        copied(demo[task], tmp_path / "both")
    second = write(tmp_path / "second", otherwise, "cora_demo_mc", {"questions": 12}, "org/second").folder
    found = compare_models([tmp_path / "both", second, other.folder], baseline=str(other.folder))
    assert [each.runs[0].task for each in found.found] == ["cora_demo"]
    assert "cora_demo_mc: not compared, because the baseline another-org/another-model does not have it" in found.notes
    notes = compare_models([tmp_path / "both", other.folder]).notes
    assert "not compared, because only one model has it: cora_demo_mc" in notes


def short(folder, name):
    """Write answers to the first 30 questions."""
    return write_by_hand(folder / f"{name}.jsonl", {kind: marks[:30] for kind, marks in ANSWERS["high"].items()})


def test_models_that_cannot_be_compared_are_left_out_by_name(files, tmp_path):
    files.insert(1, short(tmp_path, "short"))
    found = compare_models(files)
    (value,) = values_of(found)
    assert value["models"] == ["low", "middle", "high"]
    (told,) = found.refused
    assert tells(told, "answers (", "): low and short cannot be compared", "10 of 40 questions", "first")
    assert "\n" not in told
    found = compare_models(files[:2])
    assert (found.found, found.tables, explained(found)) == ([], [], "")
    assert tells(found.refused[0], "the two runs cannot be compared", "10 of 40")


def test_a_file_of_answers_and_a_run_have_no_task_in_common(demo, files):
    with user_error("no task in common: low has answers; some-org/some-model has cora_demo"):
        compare_models([files[0], demo["cora_demo"].folder])


def test_two_models_have_the_differences_by_kind(files):
    found = compare_models([files[0], files[2]])
    (value,) = values_of(found)
    assert value["kinds"]["a"]["value"] == pytest.approx(27 / 40)
    assert titles(found) == ["answers: 40 questions", "answers: accuracy by kind of variant"]
    assert "by kind hold for all kinds together" in explained(found)


def test_a_single_question_has_differences_without_intervals(tmp_path):
    answers = {"a": "0", "b": "1", "c": "1"}
    paths = [write_by_hand(tmp_path / f"{name}.jsonl", {"original": own, "a": "1"}) for name, own in answers.items()]
    found = compare_models(paths)
    (value,) = values_of(found)
    assert value["questions"] == 1
    row = next(table for table in found.tables if table.title.endswith("differences in cora")).rows[0]
    assert [*map(str, row[:2])] == ["b - a", "+1.000"]  # without an error
    assert [pair["difference"]["value"] for pair in value["metrics"]["cora"]["pairs"]] == [1, 1, 0]
    (two,) = values_of(compare_models(paths[:2]))
    assert two["metrics"]["mcqa"]["difference"]["value"] == 1


def test_documents_of_three_models(models, tmp_path):
    third = copytree(models.two, tmp_path / "third")
    found = compare_models([models.one, models.two, third], labels={third: "Third"}, metrics=["acc"])
    (choice,) = (value for value in values_of(found) if value["task"] == "tiny_choice")
    assert choice["models"] == ["org/one", "org/two", "Third"]
    assert len(choice["metrics"]["acc"]["pairs"]) == 3
    equal = choice["metrics"]["acc"]["pairs"][2]
    assert (equal["difference"]["value"], equal["p_together"]) == (0, 1)
    found = compare_models([models.one, models.two, third], labels={third: "Third"}, baseline="Third")
    for value in values_of(found):
        for metric in value["metrics"]:
            assert pairs_of(value, metric) == [("Third", "org/one"), ("Third", "org/two")]
    # Documents that differ are refused by name.
    found = compare_models([models.one, models.two, models.limited])
    assert {len(value.get("models", (1, 2))) for value in values_of(found)} == {2}
    assert all("org/limited" in told and "org/one" in told for told in found.refused)
    assert len(found.refused) == 3


def test_a_mixed_folder(models, demo, other, tmp_path):
    """Each model has a run of our task and runs of other tasks."""
    for name, documents, written in (("1", models.one, demo["cora_demo"]), ("2", models.two, other)):
        copytree(documents, tmp_path / name / "documents")
        copied(written, tmp_path / name)
    found = compare_models([tmp_path / "1", tmp_path / "2"])
    told = {value["task"]: value for value in values_of(found)}
    # The names of the models differ by task, so the folders have two models each.
    assert set(told) == {"cora_demo", "tiny_choice", "tiny_written (strict)", "tiny_written (letter)"}
    assert told["cora_demo"]["after"]["model"] == "another-org/another-model"
    assert told["tiny_choice"]["after"]["model"] == "org/two"
