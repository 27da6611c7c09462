"""The commands on several tasks, and with paths that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from tests.support.messages import tells
from tests.support.written import copied, lines_of, otherwise, put, strict, varied, write


def test_other_tasks_are_compared_if_one_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "1", tmp_path / "2"
    for task in ("cora_demo_order", "cora_demo_sampling"):
        write(one, varied, task, {"questions": 3}, "a/one")
    write(other, otherwise, "cora_demo_order", {"questions": 3}, "a/other")
    write(other, otherwise, "cora_demo_sampling", {"questions": 4}, "a/other")
    capsys.readouterr()
    assert main(["compare", str(one), str(other)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("cora_demo_order: 3 questions")
    assert "cora_demo_sampling: 3 questions" not in said.out
    assert tells(said.err, "cora_demo_sampling: ", "1 of 4 questions", "second")
    assert main(["compare", str(one), str(other), "--json"]) == 1
    (found,) = strict(capsys.readouterr().out)
    assert found["task"] == "cora_demo_order"


def test_a_comparison_says_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path / "1", varied, "cora_demo_order", {"questions": 3})
    other = copied(one, tmp_path / "2")
    put(one.samples, ["{", *lines_of(one.samples)])
    results = json.loads(other.results.read_text())
    results["configs"]["cora_demo_order"]["generation_kwargs"] = {"temperature": 2.0}
    other.results.write_text(json.dumps(results))
    capsys.readouterr()
    assert main(["compare", str(one.folder), str(other.folder), "--json"]) == 0
    said = capsys.readouterr()
    (found,) = strict(said.out)
    for note in ("left out 1 line: 1 not JSON", "generation_kwargs is {"):
        assert note in said.err
        assert any(note in told for told in found["notes"])


def test_the_format_follows_the_name_of_the_file(tmp_path: Path) -> None:
    written = write(tmp_path, varied, "cora_demo_order", {"questions": 2})
    for name, beginning in {"x.md": "# Consistency", "x.json": "[", "x.csv": "model,", "x.htm": "<!DOCTYPE"}.items():
        assert main(["report", str(written.folder), "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().lstrip().startswith(beginning)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["report", "OUT", "-o", "OUT"], "expected a file, got a folder"),
        (["report", "OUT", "--format", "csv", "-o", "/dev/full"], "/dev/full: No space left on device"),
        (["export", "OUT", "--format", "every-eval-ever", "-o", "-"], "expected a folder"),
        (["tasks", "--check", "cora_demo", "--include_path", "OUT/nowhere"], "there is no such folder"),
    ],
)
def test_invalid_paths(arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = write(tmp_path, varied, "cora_demo_order", {"questions": 2})
    capsys.readouterr()
    assert main([argument.replace("OUT", str(written.folder)) for argument in arguments]) == 1
    assert told in capsys.readouterr().err


def test_a_part_of_a_name_chooses_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "medqa_p"]) == 0
    names = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("| cora")]
    assert names == ["cora_medqa_plus", "cora_medqa_plus_mc", "cora_medqa_prompts"]


def test_checking_needs_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tasks", "--check"])
    assert ended.value.code == 2
    assert tells(capsys.readouterr().err, "--check", "task or group", "tasks --check cora_medqa")


def test_a_foreign_task_ends_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "foreign.yaml").write_text(
        "task: foreign\ndataset_path: nobody/nothing\noutput_type: generate_until\ntest_split: test\n"
    )
    assert main(["tasks", "--check", "foreign", "--include_path", str(tmp_path)]) == 1
    assert "lm-eval-cora tasks: foreign: cannot be loaded: " in capsys.readouterr().err


def test_task_files_that_are_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def missing() -> None:
        raise FileNotFoundError("the task files are missing: looked for them everywhere")

    monkeypatch.setattr("lm_eval_cora.cli.tasks.task_list", missing)
    assert main(["tasks"]) == 1
    told = "lm-eval-cora tasks: the task files are missing: looked for them everywhere\n"
    assert capsys.readouterr().err == told
