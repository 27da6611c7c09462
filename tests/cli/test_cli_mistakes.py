"""Suggestions for mistyped commands, options and tasks, and how `--metadata` is parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lm_eval_cora.cli import main, make_parser
from lm_eval_cora.harness.dry_run import harness_arguments
from tests.support.messages import tells
from tests.support.pairs import pairs

SUGGESTED: list[tuple[str, str, str]] = [
    ("raport out", "'raport'", "'report'"),
    ("tsaks", "'tsaks'", "'tasks'"),
    ("report out --formt md", "--formt", "'--format'"),
    ("report out --formt=md", "--formt", "'--format'"),
    ("report out --format jsn", "'jsn'", "'json'"),
    ("report out --format MD", "'MD'", "'md'"),
    ("export out --format every_eval_ever", "'every_eval_ever'", "'every-eval-ever'"),
    ("report out --reader strickt", "'strickt'", "'strict'"),
    ("tasks --chekc cora_demo", "--chekc", "'--check'"),
    ("run --tasks cora_demo --targt-stderr 0.1", "--targt-stderr", "'--target-stderr'"),
    ("run --tasks cora_demo --num_fewshto 3", "--num_fewshto", "'--num_fewshot'"),
    ("run --tasks cora_demo --num-fewshot 3", "--num-fewshot", "'--num_fewshot'"),
    ("run --tasks cora_demo --stop exat", "'exat'", "'exact'"),
]


COMMANDS = ("run", "report", "compare", "plan", "gate", "score", "export", "leaderboard", "read", "guess", "tasks")


@pytest.mark.parametrize(("line", "wrong", "meant"), SUGGESTED)
def test_suggestions(line: str, wrong: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(line.split())
    out, err = capsys.readouterr()
    assert out == ""
    assert tells(err, "usage: lm-eval-cora", "error: ", wrong, "Did you mean ", meant)


@pytest.mark.parametrize(
    "line", ["zzzz", "report out --zzzz", "report out --format zzzz", "report", "guess --options x", "run --zzzz 1"]
)
def test_no_suggestion_if_nothing_is_close(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(line.split())
    assert "Did you mean" not in capsys.readouterr().err


def test_choices_as_each_python_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    parser = make_parser()
    for choices in ("'html', 'md', 'every-eval-ever'", "html, md, every-eval-ever"):  # since 3.12 without quotes
        with pytest.raises(SystemExit):
            parser.error(f"argument --format: invalid choice: 'every_eval' (choose from {choices})")
        assert "Did you mean 'every-eval-ever'?" in capsys.readouterr().err


# ---- lm-eval-cora tasks


def test_a_name_that_fits_no_task(capsys: pytest.CaptureFixture[str]) -> None:
    for names, told in (
        (["nothere"], ["'nothere'"]),
        (["medqua"], ["'medqua'", "Did you mean 'cora_medqa'"]),
        (["cora_scorre"], ["'cora_scorre'", "Did you mean 'cora_score'"]),
        (["medqa", "nothere"], ["'nothere'"]),  # one of two fits
        (["MEDQA"], ["'MEDQA'", "Did you mean 'cora_medqa'"]),
    ):
        assert main(["tasks", *names]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert tells(err, "lm-eval-cora tasks: ", *told)


def test_names_and_groups_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*names: str) -> list[str]:
        assert main(["tasks", *names]) == 0
        rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| cora_")]
        return [row.strip("|").partition("|")[0].strip() for row in rows]

    assert listed("cora_plus") == ["cora_medmcqa_plus", "cora_mmlu_plus"]
    assert len(listed("cora_score")) == 8
    assert listed("demo_revas", "cora_plus") == sorted([*listed("demo_revas"), *listed("cora_plus")])
    assert len(listed("cora")) == len(listed()) > 50


# ---- tasks --check --metadata


def checked(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], Any]:
    """The tasks and the metadata that `tasks --check` passes to the dry run."""
    found: list[Any] = []

    def dry_run(names: list[str], metadata: Any, **_: Any) -> dict[str, str]:
        found.append((names, metadata))
        return {}

    with monkeypatch.context() as patched:
        patched.setattr("lm_eval_cora.harness.dry_run.dry_run", dry_run)
        assert main(["tasks", "--check", *arguments]) == 0
    ((names, metadata),) = found
    return names, metadata


METADATA: list[Any] = [
    ['{"cora": {"seed": 1}, "a": [1]}'],
    pytest.param(["a=1"], marks=pairs),
    pytest.param(["a=1,b=true,c=x,d=0.5"], marks=pairs),
    pytest.param(["a=1", "b=[1,2]"], marks=pairs),
    pytest.param(["a=1", "cora={'seed':1}"], marks=pairs),
]


@pytest.mark.parametrize("words", METADATA, ids=str)
def test_metadata_is_read_as_the_harness_reads_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = harness_arguments(["--tasks", "x", "--metadata", *words]).metadata
    assert expected
    assert checked(monkeypatch, "cora_demo", "--metadata", *words) == (["cora_demo"], expected)
    assert checked(monkeypatch, "--metadata", *words, "--limit", "2", "cora_demo") == (["cora_demo"], expected)


def test_metadata_of_several_values_with_json_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ("seed=1", '{"cora": {"seed": 1}}'):
        with pytest.raises(SystemExit):
            main(["run", "--model", "dummy", "--tasks", "cora_demo", "--metadata", '{"cora": {"questions": 5}}', more])
        assert "--metadata: expected one JSON object, got 2 values" in capsys.readouterr().err


@pairs
def test_metadata_in_parts_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ["--metadata", '{"cora": {"seed": 1}}', "--metadata", "a=1", "b=2"]
    assert checked(monkeypatch, "x", *parts) == (["x"], {"cora": {"seed": 1}, "a": 1, "b": 2})


def test_tasks_may_be_named_after_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    given = '{"cora": {"seed": 1}}'
    found = checked(monkeypatch, "one", "--metadata", given, "two,three", "four")
    assert found == (["one", "two", "three", "four"], json.loads(given))
    assert checked(monkeypatch, "--metadata", given, "two")[0] == ["two"]


@pytest.mark.parametrize("given", ["{", "[1]", "5", "a", 'cora={"seed": 1}', "[" * 100_000], ids=lambda text: text[:20])
def test_metadata_that_the_harness_refuses(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["tasks", "--check", "cora_demo"], ["run", "--model", "dummy", "--tasks", "cora_demo"]):
        with pytest.raises(SystemExit, match=r"^2$"):
            main([*command, "--metadata", given])
        out, err = capsys.readouterr()
        assert out == ""
        assert tells(err, f"usage: lm-eval-cora {command[0]}", "error: ", """--metadata '{"cora": {"seed": 1}}'""")
