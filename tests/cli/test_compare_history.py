"""`lm-eval-cora compare --history`: what it prints and writes, and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from tests.support.messages import tells
from tests.support.written import otherwise, strict, varied, write


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    for name, rule in (("one", varied), ("two", otherwise)):
        write(folder / name, rule, "cora_demo_prompts", {"questions": 3}, f"org/{name}")
    return folder


def test_a_table_a_page_and_figures(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    starts = {"html": b"<!DOCTYPE html>", "svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    for suffix, start in starts.items():
        path = tmp_path / "new" / f"history.{suffix}"
        assert main(["compare", "--history", str(out), "-o", str(path)]) == 0
        assert path.read_bytes().lstrip().startswith(start)
    said = capsys.readouterr()
    assert said.out.startswith("cora_demo_prompts: CoRA of the versions\n\n| version ")
    assert f"wrote {path}" in said.err


def test_json(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--history", str(out), "--metric", "mcqa", "--json"]) == 0
    (task,) = strict(capsys.readouterr().out)
    assert [version["version"] for version in task["versions"]] == ["org/one", "org/two"]
    assert task["versions"][1]["metrics"]["mcqa"]["difference"].keys() == {"value", "stderr", "low", "high"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["OUT/one"], "expected two or more runs of the same lm-eval-cora task"),
        (["OUT", "-o", "new/x.docx"], "-o new/x.docx: expected the name of a file that ends in .html, .htm, .svg"),
        (["OUT", "-o", "-"], "-o -: expected the name of a file"),
        (["OUT", "--baseline", "x", "-o", "new/x.html"], "--baseline: expected no --history"),
        (["OUT", "--metric", "corra", "-o", "new/x.html"], "--metric corra: there is no such metric"),
    ],
)
def test_mistakes(
    arguments: list[str],
    told: str,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "--history", *[text.replace("OUT", str(out)) for text in arguments]]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_output_without_history(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(out), str(out), "-o", "x.html"])
    assert ended.value.code == 2
    assert tells(capsys.readouterr().err, "-o: expected --history, too")
