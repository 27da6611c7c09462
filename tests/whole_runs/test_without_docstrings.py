"""`python -OO` removes docstrings and assertions. The commands print the same without them."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from tests.support.installation import REPOSITORY, Environment
from tests.support.written import varied, write

THE_REST = [["--help"], ["tasks", "--help"], ["guess", "--json"]]


def command(*arguments: object) -> str:
    """The output with docstrings, from this process."""
    with redirect_stdout(StringIO()) as printed:
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as ended:  # of --help
            code = ended.code
    assert not code
    return printed.getvalue()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("out"), varied, "cora_demo_revas", {"questions": 4}).folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


@pytest.fixture(scope="module")
def without(out: Path, exported: Path) -> list[str]:
    """The output with `python -OO`: the report, the exported records, and the rest."""
    python = Environment(Path(sys.executable), {"PYTHONOPTIMIZE": "2", "PYTHONPATH": str(REPOSITORY)})
    commands = [
        ("report", out, "--format", "md"),
        ("export", out, "--format", "every-eval-ever", "-o", exported),
        *THE_REST,
    ]
    said = python.run_all(("-c", "assert False"), *(("lm_eval_cora", *command) for command in commands))
    assert [status for status, _ in said] == [0] * (1 + len(commands)), said
    return [text for _, text in said[1:]]


def test_a_report(out: Path, without: list[str]) -> None:
    report = without[0]
    assert report == command("report", out, "--format", "md")
    assert "Share of misled questions" in report


@pytest.mark.usefixtures("without")
def test_exported_records(out: Path, exported: Path, tmp_path: Path) -> None:
    command("export", out, "--format", "every-eval-ever", "-o", tmp_path)
    files = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.json*")}
    others = {path.relative_to(exported): path for path in exported.rglob("*.json*")}
    assert len(files) == 2
    # The names follow from the contents, so they are the ids of the records.
    assert files.keys() == others.keys()
    for name, text in files.items():
        assert text == others[name].read_text()
    (record,) = (json.loads(text) for name, text in files.items() if name.suffix == ".json")
    descriptions = {one["metric_config"]["evaluation_description"] for one in record["evaluation_results"]}
    assert "Consistency score: share of the orders, of a given number of options, that get the most frequent pick." in (
        descriptions
    )


def test_the_rest(without: list[str]) -> None:
    assert without[2:] == [command(*arguments) for arguments in THE_REST]
