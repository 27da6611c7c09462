"""`lm-eval-cora tasks`: the list, the folder, and the check."""

import json

import pytest

from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.harness import dry_run
from tests.support.messages import tells
from tests.support.names import NAMES
from tests.support.simulated import TASKS, Simulated, knows, run
from tests.support.written import put


def listed(cli, *names):
    """The rows of the list, by task."""
    rows = [line.split("|")[1:-1] for line in cli.printed("tasks", *names).splitlines() if line.startswith("| cora_")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def test_the_list_of_tasks(cli):
    rows = listed(cli)
    assert sorted(rows) == NAMES
    assert rows["cora_medqa"] == ["1,273", "26"]
    assert rows["cora_truthfulqa"] == ["817", "8 to 74"]
    assert rows["cora_local"][0] == "yours"
    assert cli.out.splitlines()[-1].endswith(f"The task files are in {tasks_folder()}")
    assert cli.printed("tasks --path") == f"{tasks_folder()}\n"
    # Parts of names, and groups.
    assert list(listed(cli, "medqa_p")) == ["cora_medqa_plus", "cora_medqa_plus_mc", "cora_medqa_prompts"]
    assert len(listed(cli, "cora_score")) == 8
    both = ["cora_demo_revas", "cora_demo_revas_mc", "cora_medmcqa_plus", "cora_mmlu_plus"]
    assert listed(cli, "demo_revas", "cora_plus") == {name: rows[name] for name in both}


@pytest.mark.parametrize(
    ("task", "options", "arguments"),
    [
        ("cora_demo_mc", {"questions": 2, "seed": 5}, {"num_fewshot": 1}),
        *(("cora_demo_revas_mc", {"questions": 1}, {}), ("cora_demo_plus", {}, {"limit": 2})),
        ("cora_demo", {"questions": 10}, {"limit": 0.3}),
    ],
)
def test_the_cost_of_a_run(task, options, arguments, cli):
    more = [part for name, value in arguments.items() for part in (f"--{name}", value)]
    line, *_ = cli.printed(f"tasks --check {task} --metadata", json.dumps({"cora": options}), *more).splitlines()
    model = Simulated(knows)
    variants = len(run(model, task, options, TASKS / "demo", **arguments)["samples"][task])
    assert tells(line, f"{task}: ", f", {len(model.prompts):,} requests")
    assert (f", {variants:,} variants, " in line) == (len(model.prompts) > variants)


def test_several_tasks_and_a_folder_of_the_user(cli, tmp_path):
    ours = f"include: {tasks_folder()}/demo/cora_demo.yaml"
    put(tmp_path / "mine.yaml", ["task: mine", ours, "metadata: {version: 1}"])
    line = """tasks --check cora_demo,cora_demo_order mine --metadata '{"cora": {"questions": 1}}' --include_path"""
    names = [line.partition(":")[0] for line in cli.printed(line, tmp_path).splitlines() if line[0] != " "]
    assert names == ["cora_demo", "cora_demo_order", "mine"]


def test_tasks_of_the_harness(cli, monkeypatch):
    monkeypatch.setattr(dry_run, "dry_run", lambda names, metadata, **_: {str(names): metadata["cora"]})
    options = """--metadata '{"cora": {"seed": 1}}'"""
    assert cli.printed(f"tasks --check --of a,b {options}") == "['cora_of']: {'seed': 1, 'task': ['a', 'b']}\n"
    assert cli.printed("tasks --check cora_of_order --of a") == "['cora_of_order']: {'task': ['a']}\n"


def test_the_file_of_one_task_is_none_of_another(cli):
    assert cli("""tasks --check cora_demo --metadata '{"cora": {"data_files": "my.csv"}}'""") == 1
    assert tells(cli.err, "demo: option 'data_files'", "apply to all tasks of a run", "a command of its own")


def test_the_reading_of_the_first_question(cli, tmp_path):
    path = put(tmp_path / "my.csv", ["question;A;B;C;answer", "Frozen water?;Steam;Ice;Fog;2"])
    options = json.dumps({"cora": {"data_files": str(path)}})
    lines = cli.printed("tasks --check cora_local --metadata", options).splitlines()
    assert [line.strip() for line in lines[1:-1]] == [
        "question: 'Frozen water?'",
        "options: A 'Steam', B 'Ice', C 'Fog'",
        "right: 'Fog'",
    ]
    assert tells(lines[-1], "decoupled_with_nota_shuffled: ", "Question: Frozen water?", "None of the above")


def test_a_foreign_task_and_too_many_shots_end_the_check(cli, tmp_path):
    text = "task: foreign\ndataset_path: nobody/nothing\noutput_type: generate_until\ntest_split: test"
    put(tmp_path / "foreign.yaml", [text])
    assert cli("tasks --check foreign --include_path", tmp_path) == 1
    assert "lm-eval-cora tasks: foreign: cannot be loaded: " in cli.err
    assert cli("tasks --check cora_demo --num_fewshot 500") == 1
    assert "lm-eval-cora tasks: cora_demo: --num_fewshot 500" in cli.err


def test_task_files_that_are_missing(cli, monkeypatch):
    def missing():
        raise FileNotFoundError("the task files are missing: looked for them everywhere")

    monkeypatch.setattr("lm_eval_cora.cli.tasks.task_list", missing)
    assert cli("tasks") == 1
    assert cli.err == "lm-eval-cora tasks: the task files are missing: looked for them everywhere\n"
