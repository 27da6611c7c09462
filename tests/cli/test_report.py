"""`lm-eval-cora report`: formats, labels, figures, and messages."""

import struct
from pathlib import Path

import pytest

from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.runs.grouping import read_runs
from tests.support.messages import tells
from tests.support.written import edit, lines_of, put, strict


@pytest.mark.parametrize("format_name", ["md", "json", "csv"])
def test_a_report_as_text(format_name, cli, tmp_path):
    line = f"report one two --format {format_name}"
    printed = cli.printed(line)
    assert all(word in printed for word in ("cora_demo", "a/one", "b/two"))
    if format_name == "csv":
        assert cli.printed("export one two --format csv") == printed
    path = tmp_path / "new" / "folders" / "x.md"  # the named format goes before the name of the file
    assert cli.printed(line, "-o", path) == ""
    assert cli.err.endswith(f"wrote {path}\n")
    assert path.read_text() == printed


def test_a_report_as_a_page_or_as_the_name_of_the_file_says(cli, tmp_path, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    assert cli("report", made / "one", "--title", "Mine & <yours>") == 0
    page = (tmp_path / "report.html").read_text()
    assert "Mine &amp; &lt;yours&gt;" in page
    assert cli.printed("report -o - --title 'Mine & <yours>'", made / "one") == page
    for name, start in {"X.MD": "# Consistency", "x.json": "[", "x.csv": "model,", "x.htm": "<!DOCTYPE"}.items():
        assert cli("report", made / "one", "-o", name) == 0
        assert (tmp_path / name).read_text().lstrip().startswith(start)


def test_warnings_are_on_stderr(cli, tmp_path):
    path = put(tmp_path / "samples.jsonl", ["{", *lines_of(next(Path("one").rglob("samples_*.jsonl")))[1:]])
    strict(cli.printed("report --format json", path))
    assert tells(cli.err, "samples: left out 1 line: 1 not JSON")


def test_text_that_cannot_be_encoded(cli, tmp_path):
    """An escaped lone surrogate (half an emoji). The harness writes none, other programs do."""
    path = put(tmp_path / "samples.jsonl", lines_of(next(Path("one").rglob("samples_*.jsonl"))))
    edit(path, lambda line: line["doc"].update(category=f"{line['doc']['question_id']}\ud83d"))
    for format_name in ("md", "json", "csv"):
        assert cli(f"report {path} --format {format_name} -o", tmp_path / format_name) == 0


def test_labels_may_contain_equals_signs_and_spell_paths_differently(cli, made):
    found = strict(cli.printed(f"report ./one two {made}/good.jsonl --label one/=Small --label 'two=Large = big' "
                               f"--label {made}/good.jsonl=Good --format json"))  # fmt: skip
    assert [run["model"] for run in found] == ["Small", "Large = big", "Good"]


def test_every_figure_as_files_of_a_width(cli, tmp_path):
    figures, page = tmp_path / "of" / "paper", tmp_path / "report.md"
    assert cli("report good.jsonl --width 7 -o", page, "--figures", figures) == 0
    assert page.is_file()
    files = list(figures.iterdir())
    assert f"wrote {len(files)} files to {figures}" in cli.err
    charts = charts_of(make_report(read_runs([Path("good.jsonl")])))
    assert len({file.stem for file in files}) == len(charts) > 2
    assert sorted(file.suffix for file in files) == sorted([".svg", ".pdf", ".png", ".tex"] * len(charts))
    assert {struct.unpack(">I", file.read_bytes()[16:20])[0] for file in figures.glob("*.png")} == {300 * 7}


def test_chosen_figures(cli, tmp_path):
    assert (
        cli("report good.jsonl -o", tmp_path / "x.md", "--only", "bmca,questions", "--figures", tmp_path / "some") == 0
    )
    stems = {file.stem for file in (tmp_path / "some").iterdir()}
    assert stems == {"bmca", "questions-good"}
    assert cli("report good.jsonl -o", tmp_path / "y.md", "--only", "bmca,bcma", "--figures", tmp_path / "none") == 1
    assert "--only bcma: there is no such figure. The figures are changes, questions, bmca" in cli.err
    assert not (tmp_path / "none").exists()
