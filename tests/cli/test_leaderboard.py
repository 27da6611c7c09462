"""`lm-eval-cora leaderboard`: what it writes, and mistakes."""

from __future__ import annotations

from errno import ENOSPC
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.report.content import Report
from tests.support.leaderboards import HOSTILE, put_record, record
from tests.support.messages import tells
from tests.support.written import put, varied, write


@pytest.fixture
def records(tmp_path: Path) -> Path:
    for number, (model, score) in enumerate([("org/a", 0.5), (HOSTILE, 0.7)], 1):
        put_record(tmp_path / "records", number, record(model, {"cora_x": score}))
    return tmp_path / "records"


def test_a_page_and_a_csv_file_in_new_folders(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, table = tmp_path / "site" / "index.html", tmp_path / "other" / "scores.csv"
    put_record(records, 3, "{")
    assert main(["leaderboard", str(records), "-o", str(page), "--csv", str(table), "--title", "All <models>"]) == 0
    assert "<h1>All &lt;models&gt;</h1>" in page.read_text()
    assert table.read_text().count("\n") == 3
    assert f"\n\"'{HOSTILE[:10]}" in table.read_text()
    said = capsys.readouterr()
    assert said.out == ""
    assert tells(said.err, "left out", "wrote")


def test_strict_writes_nothing_if_anything_was_left_out(
    records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "index.html"
    arguments = ["leaderboard", str(records), "-o", str(page), "--strict"]
    assert main(arguments) == 0
    page.unlink()
    broken = put_record(records, 3, "{")
    assert main(arguments) == 3
    assert not page.exists()
    assert tells(capsys.readouterr().err, f"left out {broken}: ", "--strict: something was left out (1 note above)")


def test_standard_output(records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", str(records), "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert main(["leaderboard", str(records), "-o", str(tmp_path / "x.htm"), "--csv", "-"]) == 0
    assert capsys.readouterr().out.startswith("model,task,")


def test_reports_are_written_and_linked(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = write(tmp_path / "runs", varied, "cora_demo_prompts", {"questions": 2}, "org/m")
    page, reports = tmp_path / "index.html", tmp_path / "new" / "reports"
    assert main(["leaderboard", str(written.folder), "-o", str(page), "--reports", str(reports)]) == 0
    (report,) = reports.iterdir()
    assert report.name == "org-m-cora_demo_prompts.html"
    assert f'href="new/reports/{report.name}"' in page.read_text()
    assert "<h1>org/m, cora_demo_prompts</h1>" in report.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "index.html", "new"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["EMPTY"], "there are no samples of lm-eval-cora tasks and no records"),
        (["missing"], "missing: there is no such file or folder"),
        (["RECORDS", "-o", "RECORDS"], "expected a file, got a folder"),
        (["RECORDS", "-o", "new/x.pdf"], "-o new/x.pdf: expected a name that ends in .html or .htm"),
        (["RECORDS", "-o", "new/x.html", "--csv", "x.html"], "--csv x.html: expected a name that ends in .csv"),
        (["RECORDS", "-o", "new/x.html", "--reports", "FILE"], "--reports FILE: expected a folder"),
        (["RECORDS", "-o", "FILE/x.html"], "expected a folder, but"),
        (["RECORDS", "-o", "/dev/full"], "/dev/full: No space left on device"),
        (["RECORDS", "--label", "x=y"], "--label x=y: expected PATH=NAME"),
    ],
)
def test_mistakes_end_with_one_line_and_status_3(
    arguments: list[str],
    told: str,
    records: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("EMPTY").mkdir()
    Path("FILE").touch()
    before = set(tmp_path.rglob("*"))
    assert main(["leaderboard", *[text.replace("RECORDS", str(records)) for text in arguments]]) == 3
    said = capsys.readouterr().err
    assert said.startswith("lm-eval-cora leaderboard: ")
    assert told in said
    assert said.count("\n") == 1
    assert set(tmp_path.rglob("*")) == before


def test_no_report_is_left_if_a_later_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    pages = iter(["the first page"])

    def render(report: Report) -> str:
        try:
            return next(pages)
        except StopIteration:
            raise OSError(ENOSPC, "No space left on device") from None

    for task in ("cora_demo_order", "cora_demo_prompts"):
        write(tmp_path / "runs", varied, task, {"questions": 2}, "org/m")
    monkeypatch.setattr("lm_eval_cora.report.board_page.render", render)
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "index.html", ["before"])
    assert main(["leaderboard", "runs", "--reports", "reports"]) == 3
    assert tells(capsys.readouterr().err, "index.html: No space left on device")
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "index.html"}
    assert (tmp_path / "index.html").read_text() == "before\n"


def test_wrong_usage_has_status_3() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["leaderboard"])
    assert ended.value.code == 3
