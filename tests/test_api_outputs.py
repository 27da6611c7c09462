"""Reports and records of what `read_runs` returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lm_eval_cora as cora
from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError
from tests.support.answers_files import answers
from tests.support.written import put


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return put(tmp_path / "answers.jsonl", answers(questions=2))


@pytest.mark.parametrize("name", ["new/report.html", "report.md"])
def test_the_report_is_that_of_the_command(name: str, file: Path, tmp_path: Path) -> None:
    cora.write_report(cora.read_runs(file)[0], tmp_path / name, title="Mine")
    assert main(["report", str(file), "--title", "Mine", "-o", str(tmp_path / f"command{Path(name).suffix}")]) == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / f"command{Path(name).suffix}").read_bytes()


def test_the_records_name_the_submitter(file: Path, tmp_path: Path) -> None:
    record, _ = cora.write_records(cora.read_runs(file), tmp_path, organization="Lab", relationship="first_party")
    source = json.loads(record.read_text())["source_metadata"]
    assert (source["source_organization_name"], source["evaluator_relationship"]) == ("Lab", "first_party")
    with pytest.raises(UserError, match=r"relationship: expected 'first_party' or .* got 'none'"):
        cora.write_records(cora.read_runs(file), tmp_path, relationship="none")  # type: ignore[arg-type]


def test_results_that_were_not_read_are_told() -> None:
    for given in ({"results": {}}, [{"results": {}}]):
        with pytest.raises(UserError, match=r"got results of simple_evaluate. Pass cora.read_runs\(results\)"):
            cora.write_report(given, "x.html")


def test_scores_and_files_that_cannot_be_used(file: Path, tmp_path: Path) -> None:
    def told(scores: Any, name: str = "x.md") -> str:
        with pytest.raises(UserError) as caught:
            cora.write_report(scores, tmp_path / name)
        return str(caught.value)

    scores = cora.read_runs(file)
    assert "expected scores that read_runs returns, got 1 others of 2" in told([*scores, cora.score(file)])
    assert "got 0 others of 0" in told([])
    assert "each model and task once, got answers, answers 2 times" in told(scores * 2)
    assert "expected a name that ends in .html or .htm or .md" in told(scores, "x.pdf")
