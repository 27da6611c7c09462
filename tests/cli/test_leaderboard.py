"""`lm-eval-cora leaderboard`: what it writes, `--strict` and `--check`."""

import csv
import json
from errno import ENOSPC

import pytest

from tests.support.leaderboards import HOSTILE, put_record, record
from tests.support.messages import tells
from tests.support.written import put


@pytest.fixture
def records(tmp_path):
    for number, (model, score) in enumerate([("org/a", 0.5), (HOSTILE, 0.7)], 1):
        put_record(tmp_path / "records", number, record(model, {"cora_x": score}))
    return tmp_path / "records"


def test_a_page_and_a_csv_file_in_new_folders(records, tmp_path, cli):
    page, table = tmp_path / "site" / "index.html", tmp_path / "other" / "scores.csv"
    put_record(records, 3, "{")
    assert cli.printed("leaderboard --title 'All <models>'", records, "-o", page, "--csv", table) == ""
    assert "<h1>All &lt;models&gt;</h1>" in page.read_text()
    assert table.read_text().count("\n") == 3
    assert f"\n\"'{HOSTILE[:10]}" in table.read_text()
    assert tells(cli.err, "left out", "wrote")
    assert cli.printed("leaderboard -o -", records).startswith("<!DOCTYPE html>")
    assert cli.printed("leaderboard --csv -", records, "-o", tmp_path / "x.htm").startswith("model,task,")


def test_the_metric_that_ranks_runs_and_records(made, tmp_path, cli):
    records = tmp_path / "made"
    assert cli("export --format every-eval-ever --organization org", made / "three", "-o", records) == 0
    for source in (made / "three", records):
        lines = cli.printed("leaderboard --metric invalid --csv -", source, "-o", tmp_path / "x.html").splitlines()
        found = [float(row["value"]) for row in csv.DictReader(lines) if row["metric"] == "invalid"]
        assert len(found) > 1
        assert found == sorted(found)
    assert cli("leaderboard --metric invalif", records) == 3
    assert tells(cli.err, "--metric invalif: there is no such metric. Did you mean 'invalid'?")


def test_a_table_without_the_metric_says_what_ranks_it(records, tmp_path, cli):
    other = record("org/a", {"cora_y": 0.5})
    other["evaluation_results"][0]["metric_config"] = {"metric_name": "mv", "lower_is_better": False}
    put_record(records, 3, other)
    assert cli("leaderboard --metric mv", records, "-o", tmp_path / "x.html") == 0
    assert tells(cli.err, "cora_x: not all models have mv, so cora ranks")


def test_strict_writes_nothing_if_anything_was_left_out(records, tmp_path, cli):
    page = tmp_path / "index.html"
    assert cli("leaderboard --strict", records, "-o", page) == 0
    page.unlink()
    broken = put_record(records, 3, "{")
    assert cli("leaderboard --strict", records, "-o", page) == 3
    assert not page.exists()
    assert tells(cli.err, f"left out {broken}: ", "--strict: something was left out (1 note above)")


def test_a_check_has_a_status_and_the_files_of_a_gate(tmp_path, cli):
    xml, content = tmp_path / "check.xml", tmp_path / "check.json"
    assert cli("leaderboard two --check one --junit", xml, "--json", content) == 0
    assert "3 pass, 0 fail" in cli.out
    found = json.loads(content.read_text())
    assert (found["model"], found["outcome"], found["exit_status"], found["notes"]) == ("a/one", "pass", 0, [])
    assert [each["requirement"] for each in found["requirements"]] == ["settings", "samples", "values"]
    assert 'name="lm-eval-cora leaderboard a/one" tests="3" failures="0"' in xml.read_text()
    assert cli("leaderboard two --check seed --json - --junit", xml) == 1
    reason = json.loads(cli.out)["requirements"][0]["reason"]
    assert reason.startswith("unlike the most similar run of the board, the first: ")
    assert f'message="{reason}"' in xml.read_text()
    assert cli("leaderboard two --check empty --junit", xml) == 3
    assert '<testcase name="leaderboard"><error' in xml.read_text()
    assert cli("leaderboard two --check one --junit -") == 3
    assert tells(cli.err, "--junit -: expected a file")


def test_reports_are_written_and_linked(tmp_path, cli):
    page, reports = tmp_path / "index.html", tmp_path / "new" / "reports"
    assert cli("leaderboard one -o", page, "--reports", reports) == 0
    (report,) = reports.iterdir()
    assert report.name == "a-one-cora_demo.html"
    assert f'href="new/reports/{report.name}"' in page.read_text()
    assert "<h1>a/one, cora_demo</h1>" in report.read_text()


def test_no_report_is_left_if_a_later_one_cannot_be_written(tmp_path, made, monkeypatch, cli):
    pages = iter(["the first page"])

    def render(report):
        try:
            return next(pages)
        except StopIteration:
            raise OSError(ENOSPC, "No space left on device") from None

    monkeypatch.setattr("lm_eval_cora.renderers.page.render", render)
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "index.html", ["before"])
    assert cli("leaderboard --reports reports", made / "three") == 3
    assert tells(cli.err, "index.html: No space left on device")
    assert {path.name for path in tmp_path.iterdir()} == {"index.html"}
    assert (tmp_path / "index.html").read_text() == "before\n"
