"""`python -OO` removes docstrings and assertions. The commands say the same without them."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from tests.support.written import varied, write

REPOSITORY = Path(__file__).parents[2]


def without(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-OO", "-m", "lm_eval_cora", *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*arguments: object) -> str:
    """The same with docstrings, in this process."""
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


def test_a_report(out: Path) -> None:
    report = without("report", out, "--format", "md")
    assert report == command("report", out, "--format", "md")
    assert "Share of misled questions" in report


def test_exported_records(out: Path, tmp_path: Path) -> None:
    command("export", out, "--format", "every-eval-ever", "-o", tmp_path / "with")
    without("export", out, "--format", "every-eval-ever", "-o", tmp_path / "without")
    files = {path.relative_to(tmp_path / "with"): path.read_text() for path in (tmp_path / "with").rglob("*.json*")}
    others = {path.relative_to(tmp_path / "without"): path for path in (tmp_path / "without").rglob("*.json*")}
    assert len(files) == 2
    # The names follow from the contents, so they are the ids of the records.
    assert files.keys() == others.keys()
    for name, text in files.items():
        assert text == others[name].read_text()
    (record,) = (json.loads(text) for name, text in files.items() if name.suffix == ".json")
    descriptions = {one["metric_config"]["evaluation_description"] for one in record["evaluation_results"]}
    assert "Consistency score: how often the most frequent pick is given, over the orders of a number of options." in (
        descriptions
    )


@pytest.mark.parametrize("arguments", [["--help"], ["tasks", "--help"], ["guess", "--json"]])
def test_the_rest(arguments: list[str]) -> None:
    assert without(*arguments) == command(*arguments)
