"""`lm-eval-cora run --shard I/N`: jobs that share a run, and the folder of all of them."""

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.harness.docs import in_shards
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.signature import missing_shards
from tests.support.commands import Commands
from tests.support.messages import tells
from tests.support.simulated import quickly
from tests.support.written import digits

TASKS = "cora_demo,cora_demo_mc"


@pytest.fixture
def run(tmp_path, capsys):
    with quickly():
        yield Commands(tmp_path, capsys)


def estimates(folder):
    return {one.name: (one.signature, digits(one), one.size) for one in read_runs([folder])}


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 9), min_size=1), st.integers(1, 5), st.randoms())
def test_shards_are_disjoint_complete_balanced_and_do_not_depend_on_the_order(costs, count, random):
    shards = in_shards(costs, count)
    assert sorted(unit for shard in shards for unit in shard) == sorted(costs)
    sums = [sum(costs[unit] for unit in shard) for shard in shards]
    assert max(sums) - min(sums) <= max(costs.values())
    order = list(costs)
    random.shuffle(order)
    assert in_shards({unit: costs[unit] for unit in order}, count) == shards


@pytest.mark.parametrize("early", [[], ["--stop", "exact"]])
def test_the_folder_of_all_shards_is_the_run_in_one_piece(run, tmp_path, early):
    whole = run.ours(*early, tasks=TASKS, questions=10)
    out = tmp_path / "shared"
    parts = [run.ours(*early, "--shard", f"{i}/3", "--output_path", out, tasks=TASKS, questions=10) for i in (3, 1, 2)]
    assert estimates(out) == estimates(whole.folder)
    asked = [prompt for part in parts for prompt in part.prompts]
    assert sorted(asked) == sorted(whole.prompts)
    for one in read_runs([out]):
        assert tells(one.notes[0], "merged 3 runs")
        assert one.differences == []  # each shard is compared with its own results file
        assert (len(one.parts), one.without_answers(["acc"]).parts) == (3, ())
    # Without --shard the command sums up the answers that the shards have kept.
    (summed,) = (run.ours(*early, "--output_path", out, tasks=TASKS, questions=10),)
    assert summed.prompts == []
    newest = max(out.rglob("results_*.json"), key=lambda path: path.name)
    assert json.loads(newest.read_text())["results"] == whole.results
    assert estimates(out) == estimates(whole.folder)
    assert not any("left out" in note for one in read_runs([out]) for note in one.notes)


def test_a_shard_that_was_killed_goes_on(run, tmp_path):
    arguments = ("--shard", "2/3", "--output_path", tmp_path / "shared")
    first = run.ours(*arguments)
    for path in (tmp_path / "shared").rglob("*.json*"):
        path.unlink()
    assert run.ours(*arguments).prompts == []
    assert first.prompts


def test_a_missing_and_a_doubled_shard_are_named(run, tmp_path):
    out = tmp_path / "shared"
    for _ in range(2):
        run.ours("--shard", "2/3", "--output_path", out)
    run.ours("--shard", "3/3", "--output_path", out)
    (found,) = read_runs([out])
    assert any(tells(note, "1 of 3 shards are missing (1)", "about the others") for note in found.notes)
    assert any(tells(note, "left out", "shard 2 of 3 is there twice") for note in found.notes)
    assert "|shard:2/3,3/3|" in found.signature


def test_a_shard_whose_results_were_changed_is_named(run, tmp_path):
    out = tmp_path / "shared"
    for number in (1, 2):
        run.ours("--shard", f"{number}/2", "--output_path", out)
    path = min(out.rglob("results_*.json"))
    results = json.loads(path.read_text())
    results["results"]["cora_demo"]["acc,none"] = 0.99
    path.write_text(json.dumps(results))
    (found,) = read_runs([out])
    assert any(tells(note, "differs from its samples", "acc is 0.9900") for note in found.warnings)


def test_shards_of_other_settings_or_another_number_are_not_merged(run, tmp_path):
    out = tmp_path / "shared"
    run.ours("--shard", "1/2", "--output_path", out)
    run.ours("--shard", "2/2", "--output_path", out, questions=6)
    (found,) = read_runs([out])
    assert any(tells(note, "left out", "its settings differ") for note in found.notes)
    shutil.rmtree(out)
    run.ours("--shard", "1/2", "--output_path", out)
    run.ours("--shard", "2/3", "--output_path", out)
    (found,) = read_runs([out])
    assert any(tells(note, "left out", "its settings differ") for note in found.notes)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--shard", "4/3"], ["--shard", "such as 3/8", "'4/3'"]),
        (["--shard", "0/3"], ["--shard", "such as 3/8", "'0/3'"]),
        (["--shard", "1/3", "--until", "cora>=0.4"], ["--shard 1/3", "--until needs the answers to all"]),
        (["--shard", "1/3", "--budget", "100"], ["--shard 1/3", "--budget needs the answers to all"]),
        (["--shard", "1/9"], ["cora_demo: --shard 1/9", "got 4", "at most 4 shards"]),
    ],
)
def test_what_cannot_be_split_is_refused_before_the_model_is_built(run, arguments, told):
    ran = run.ours(*arguments)
    assert ran.code in (1, 2)
    assert ran.models == []
    assert tells(ran.err, *told)


def test_signatures_without_a_valid_shard_are_of_whole_runs():
    assert missing_shards(["cora|shard:x/y|v1", "none"]) == []
    assert missing_shards(["cora|shard:2/3|v1"]) == [1, 3]
