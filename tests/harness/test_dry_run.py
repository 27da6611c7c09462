"""Errors for unknown tasks, and for arguments that the harness' parser refuses."""

import pytest
from lm_eval._cli import HarnessCLI

from lm_eval_cora.cli import main
from lm_eval_cora.harness.compat import UsageError, harness_arguments, harness_options
from tests.support.messages import tells
from tests.support.simulated import TASKS, quickly


@pytest.fixture(autouse=True)
def quick():
    with quickly():
        yield


@pytest.fixture
def error(capsys):
    """Returns the error of a command for unknown tasks. Both commands find them in the same way."""

    def error_of(names, folder, command="tasks"):
        check, dummy = ["tasks", "--check", *names.split(",")], ["run", "--model", "dummy", "--tasks", names]
        assert main([*(dummy if command == "run" else check), "--include_path", str(folder)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        (line,) = [line for line in err.splitlines() if line.startswith(f"lm-eval-cora {command}: ")]
        return line

    return error_of


def test_a_name_like_it_is_suggested(error, tmp_path):
    for command in ("tasks", "run"):
        line = error("cora_medqqa", tmp_path, command)
        assert tells(line, "'cora_medqqa'", "Did you mean 'cora_medqa'")
    assert tells(error("medqua", tmp_path), "'medqua'", "Did you mean 'cora_medqa'")
    assert tells(error("cora_scoree", tmp_path), "Did you mean 'cora_score'")
    assert "mean" not in error("zzzz", tmp_path)


def test_each_unknown_name_has_its_own_suggestion(error, tmp_path):
    line = error("cora_dmeo,cora_demo,cora_mmluu", tmp_path)
    assert tells(line, "'cora_dmeo'", "mean 'cora_demo'", "'cora_mmluu'", "mean 'cora_mmlu'")


def test_a_task_of_the_users_own_is_suggested(error, tmp_path):
    (tmp_path / "puzzles.yaml").write_text(f"task: my_puzzles\ninclude: {TASKS}/demo/cora_demo.yaml\n")
    assert tells(error("my_puzles", tmp_path), "Did you mean 'my_puzzles'")


BROKEN = {
    "include": ("task: mine\ninclude: nowhere.yaml\n", "nowhere.yaml"),
    "quotes": ('task: "mine"  # a comment\ndoc_to_text: "{{question}}\n', "line 2"),
    "tabs": ("task: mine\n\tgroup: x\n", "line 2"),
    "not a mapping": ("task: mine\n---\n- 1\n", "document"),
    "a group": ("group: mine\ntask: [cora_demo\n", "line 2"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_the_harness_cannot_read_is_named(error, tmp_path, name):
    text, reason = BROKEN[name]
    path = tmp_path / "below" / "some.yaml"
    path.parent.mkdir()
    path.write_text(text)
    assert tells(error("mine", tmp_path), "'mine'", str(path), reason)


@pytest.mark.parametrize("command", ["tasks", "run"])
def test_a_file_with_another_ending_is_named(error, tmp_path, command):
    (tmp_path / "mine.yml").write_text("task: mine\n")
    assert tells(error("mine", tmp_path, command), "'mine'", "mine.yml", ".yaml")


def test_files_about_other_tasks_are_not_blamed(error, tmp_path):
    (tmp_path / "one.yaml").write_text("task: mine_too\ninclude: nowhere.yaml\n")
    (tmp_path / "two.yaml").write_text("# task: mine\ninclude: nowhere.yaml\n")
    (tmp_path / "three.yaml").write_bytes(b"task: \xff\xfe\n")
    (tmp_path / "folder.yaml").mkdir()
    line = error("mine", tmp_path)
    assert "there is no task 'mine'" in line
    assert "nowhere.yaml" not in line


def test_a_path_that_is_wrong(tmp_path, capsys):
    broken = tmp_path / "broken.yaml"
    broken.write_text('task: mine\ndoc_to_text: "\n')
    for path, told in ((tmp_path / "none.yaml", "no file"), (broken, "line 2")):
        assert main(["run", "--model", "dummy", "--tasks", str(path)]) == 1
        err = capsys.readouterr().err
        assert told in err
        assert str(path) in err
        assert "Traceback" not in err


# ---- arguments
def test_the_options_of_the_harness():
    runs = HarnessCLI()._subparsers.choices["run"]
    taken = {action.dest for action in runs._actions}
    assert {option.removeprefix("--") for option in harness_options()} >= taken - {"help"}


def test_arguments_that_the_harness_refuses(capsys):
    for arguments, told in (
        (["--tasks", "x", "--sing"], "unrecognized arguments: --sing"),
        (["--tasks", "x", "--num_fewshot", "few"], "'few'"),
        (["--tasks", "x", "--model_args", '{"a": '], "Invalid JSON"),
    ):
        with pytest.raises(UsageError) as caught:
            harness_arguments(arguments)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
    assert capsys.readouterr().err == ""


def test_the_harness_help_is_printed(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        harness_arguments([])
    assert "--num_fewshot" in capsys.readouterr().out
