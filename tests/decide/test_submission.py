"""Whether a run belongs on a board: what a check finds, and what it leaves to others."""

import json
import random
from copy import deepcopy

import pytest

from lm_eval_cora.decide.submission import check_submission
from tests.support.messages import tells, user_error
from tests.support.written import answers, copied, lines_of, otherwise, put, varied, write, write_answers

TASK, OPTIONS = "cora_demo", {"questions": 2}


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board with one model, and a submission in its folder."""
    folder = tmp_path_factory.mktemp("board")
    write(folder / "first", varied, TASK, OPTIONS, "org/first")
    return folder, write(folder / "new", otherwise, TASK, OPTIONS, "org/new")


def failed(folder, new):
    """The checks that fail, with their reasons."""
    _, checks, _ = check_submission([folder], new)
    return {check.requirement: check.reason for check in checks if check.outcome == "fail"}


def test_a_run_that_was_asked_as_the_board_passes(board):
    folder, new = board
    model, checks, notes = check_submission([folder], new.folder)
    assert (model, notes) == ("org/new", [])
    assert [(check.requirement, check.task, check.reason) for check in checks] == [
        (name, TASK, "") for name in ("settings", "samples", "values")
    ]


def leaves(tree, path=()):
    """The places of all numbers and texts in a value of JSON."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, (*path, key))
    else:
        yield path


def change(tree, path, dice):
    """Change the value at a place: a digit of a number, or a text."""
    for key in path[:-1]:
        tree = tree[key]
    old = tree[path[-1]]
    if isinstance(old, bool):
        tree[path[-1]] = not old
    elif isinstance(old, int | float):
        tree[path[-1]] = old + dice.choice([1e-6, 1])
    elif "|" in str(old):  # a part of the signature
        parts = old.split("|")
        place = dice.randrange(len(parts))
        tree[path[-1]] = "|".join([*parts[:place], f"{parts[place]}1", *parts[place + 1 :]])
    else:
        tree[path[-1]] = dice.choice("ABCDE".replace(str(old), "")) if len(str(old)) < 2 else f"{old}."


def in_results(results):
    """The values and the settings of a results file."""
    config = results["configs"][TASK]
    settings = (
        "num_fewshot",
        "generation_kwargs",
        "output_type",
        "description",
        "probe",
        "fewshot_delimiter",
        "repeats",
    )
    yield from (
        (*("results", TASK), key) for key, value in results["results"][TASK].items() if isinstance(value, float)
    )
    yield from (("configs", TASK, *path) for path in leaves({name: config[name] for name in settings}))
    yield from [("configs", TASK, "metadata", "signature")] * 20
    yield from [("versions", TASK), ("n-shot", TASK)]


IN_SAMPLES = ("doc", "target", "arguments", "resps", "filtered_resps", "acc", "consistency_rate", "invalid", "doc_hash")


def test_fifty_changes_of_one_value_answer_or_setting_are_found(board, tmp_path):
    folder, new = board
    results, lines = json.loads(new.results.read_text()), lines_of(new.samples)
    copy, missed = copied(new, tmp_path), []
    for number in range(50):
        dice, values, answers = random.Random(number), deepcopy(results), deepcopy(lines)
        if number % 2:
            change(values, path := dice.choice([*in_results(values)]), dice)
        else:
            line = dice.choice(answers)
            change(line, path := dice.choice([*leaves({name: line[name] for name in IN_SAMPLES})]), dice)
        copy.results.write_text(json.dumps(values))
        put(copy.samples, answers)
        missed += [] if failed(folder, tmp_path) else [path]
    assert missed == []


def test_a_line_whose_settings_are_no_settings_is_named(board, tmp_path):
    folder, new = board
    new = copied(new, tmp_path)
    first, *others = lines_of(new.samples)
    first["arguments"]["gen_args_0"]["arg_1"] = 5
    put(new.samples, [first, *others])
    assert "1 with another generation_kwargs" in failed(folder, tmp_path)["samples"]


def test_a_response_that_is_no_list_is_named(tmp_path):
    new = write(tmp_path, varied, "cora_demo_mc", OPTIONS, "org/new")
    first, *others = lines_of(new.samples)
    first["resps"][-1] = True
    put(new.samples, [first, *others])
    assert "1 with another filtered_resps" in failed(tmp_path, tmp_path)["samples"]


def test_each_difference_to_the_board_is_named(board, tmp_path):
    write(tmp_path, otherwise, TASK, {"questions": 1, "seed": 7}, "org/new")
    (reason,) = failed(board[0], tmp_path).values()
    differing = (
        "seed is 0 in the first, 7 in the second",
        "questions is 2 in the first, 1 in",
        "n is 2x26 in the first, 1x26",
    )
    assert tells(reason, "unlike the most similar run of the board, the first: ", *differing)


SIGNED = "|shots:0|"


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("|stop:exact|shots:0|", "stop is not given in the first, exact in the second"),
        ("|until:cora>=0.4|shots:0|", "until is not given in the first, cora>=0.4 in the second"),
        ("|limit:5|shots:0|", "limit is not given in the first, 5 in the second"),
    ],
)
def test_a_run_that_stopped_does_not_belong_on_a_board_of_whole_runs(board, part, told, tmp_path):
    folder, new = board
    new = copied(new, tmp_path)
    new.results.write_text(new.results.read_text().replace(SIGNED, part))
    assert told in failed(folder, tmp_path)["settings"]


def test_a_whole_run_belongs_on_a_board_of_shards_and_a_shard_does_not(board, tmp_path):
    _, new = board
    shard = copied(new, tmp_path / "board")
    text = shard.results.read_text().replace("org/new", "org/third").replace("|n:2x26", "|n:1x26")
    shard.results.write_text(text.replace(SIGNED, "|shard:1/2|shots:0|"))
    assert failed(tmp_path / "board", new.folder) == {}
    part = copied(new, tmp_path / "part")
    part.results.write_text(part.results.read_text().replace(SIGNED, "|shard:2/2|shots:0|"))
    told = failed(tmp_path / "board", tmp_path / "part")["settings"]
    assert "shard is not given in the first, 2/2 in the second" in told


def test_samples_and_results_must_be_there_and_whole(board, tmp_path):
    folder, new = board
    new = copied(new, tmp_path / "new")
    put(new.samples, lines_of(new.samples)[1:])
    assert "n is 2x26 in the first, 1x26 in the second" in failed(folder, tmp_path / "new")["samples"]
    new.results.unlink()
    assert failed(folder, tmp_path / "new")["samples"] == "there is no results file beside the samples"
    csv = write_answers(tmp_path / "answers.csv", answers())
    assert failed(folder, csv).keys() == {"settings", "samples", "values"}
    with user_error("there are no samples"):
        (tmp_path / "empty").mkdir()
        check_submission([folder], tmp_path / "empty")


def test_the_name_of_the_model_is_that_of_its_folder(board, tmp_path):
    folder, new = board
    new = copied(new, tmp_path)
    new.results.write_text(new.results.read_text().replace('"org/new"', '"org/great"'))
    assert "model_name" in failed(folder, tmp_path)["samples"]


def test_values_must_be_there(board, tmp_path):
    folder, new = board
    new = copied(new, tmp_path)
    new.results.write_text(new.results.read_text().replace('"cora,none"', '"another,none"'))
    assert failed(folder, tmp_path) == {"values": "cora is missing"}


@pytest.mark.parametrize("task", ["cora_demo_mc", "cora_demo_revas"])  # each answer of the second has its own limit
def test_scored_letters_and_lists_are_checked_too(task, tmp_path):
    for name, rule in (("a", varied), ("b", otherwise)):
        write(tmp_path / name, rule, task, OPTIONS, f"org/{name}")
    assert failed(tmp_path, tmp_path / "b") == {}


def test_a_copy_of_another_model_is_a_note(board, tmp_path):
    folder, new = board
    new = copied(new, tmp_path)
    named = new.results.read_text().replace("org/new", "org/third").replace("org__new", "org__third")
    new.results.write_text(named)
    _, checks, notes = check_submission([folder], tmp_path)
    wrong = sum(not line["acc"] for line in lines_of(new.samples))
    shares = f"{wrong} of {wrong} wrong answers and 52 of 52 texts are equal"
    assert notes == [f"org/third, {TASK}: perhaps a copy of org/new: {shares}, in a part of the samples"]
    assert {check.outcome for check in checks} == {"pass"}
