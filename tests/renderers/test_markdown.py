"""Reports as text: hostile names stay in their cells, and all numbers can be read back."""

import csv
from dataclasses import replace
from io import StringIO
from math import isnan

import pytest

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.renderers.markdown import as_markdown
from lm_eval_cora.report.content import Report, Section
from lm_eval_cora.report.score_views import as_json
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table
from lm_eval_cora.tables.table_formats import table_as_text
from tests.support.markdown import tokens
from tests.support.shown import scores_as_csv
from tests.support.written import copied, strict, the_run

HOSTILE = ["|", "\t| x |\n|---|", "a\u2028b\u2029c\x85d\x0be\r\nf", "`x`|`y`"]


def tables(markdown):
    """The cells of each table by row."""
    found, before = [], ""
    for token in tokens(markdown):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif before in ("td_open", "th_open"):
            found[-1][-1].append(token.content)
        before = token.type
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_stays_in_its_cell(name):
    assert table_as_text(["a", "b"], []).splitlines()[0].split() == ["|", "a", "|", "b", "|"]  # without rows
    text = table_as_text([name, "value"], [[name, Number(0.5, 0.1)], ["x", name], [name, 1_000]])
    assert len(text.splitlines()) == 5
    (table,) = tables(text)
    assert [len(row) for row in table] == [2, 2, 2, 2]
    assert table[1][1] == "0.500 ± 0.100"
    assert table[3] == [" ".join(name.split()), "1,000"]


def test_notes_and_signatures_stay_on_their_line():
    name = "a\n# b\n\n| b |"
    table = Table("Title", ["name"], [["row"]], "the question <script>x</script>\n# What? a\\|b")
    section = Section("cora_demo", "asks", [table], [(name, "cora|x")], [(name, "left out")])
    text = as_markdown(Report("Title", [section]))
    (note,) = [line for line in text.split("\n") if line.startswith("- ")]
    assert note.endswith(": left out")
    (signature,) = [line for line in text.split("\n") if line.startswith("`cora|x`")]
    assert signature.endswith(")")
    assert "\nthe question &lt;script>x&lt;/script> # What? a\\\\\\|b\n" in text


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_revas_mc"])
def test_csv_and_json_have_every_digit(task, demo):
    run = the_run(demo[task].folder)
    head, *rows = csv.reader(StringIO(scores_as_csv([run]), newline=""))
    numbers_of = ("value", "stderr", "low", "high")
    more = ("questions", "answers", "signature", "reader", "benchmark", "data")
    assert head == ["model", "task", "metric", *numbers_of, *more]
    (found,) = strict(as_json([run]))
    facts = [found[name] for name in ("task", "probe", "form", "signature", "benchmark", "data", "files")]
    files = [str(demo[task].samples)]
    assert facts == [task, run.probe.name, run.form, run.signature, "demo", run.data.digest, files]
    assert [row[2] for row in rows] == list(found["metrics"]) == list(run.estimates)
    assert found["study"].keys() == run.studies.keys()
    for row, estimate in zip(rows, run.estimates.values(), strict=True):
        numbers = [None if isnan(number) else number for number in (*estimate, *estimate.interval)]
        assert [float(text) if text else None for text in row[3:7]] == numbers
        assert found["metrics"][row[2]] == dict(zip(numbers_of, numbers, strict=True))
        counts = [str(len(run.table.sizes)), str(len(run.source.records))]
        assert row[7:] == [*counts, run.signature, run.reader or "", "demo", run.data.digest]


def test_undefined_is_null_and_empty(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    written.samples.write_text("\n".join(written.samples.read_text().split("\n")[:5]))
    run = the_run(tmp_path)
    (found,) = strict(as_json([run]))
    assert found["metrics"]["cora"] == dict.fromkeys(("value", "stderr", "low", "high"))
    assert "cora_demo,cora,,,,,0,0," in scores_as_csv([run])
    assert "n/a" in as_markdown(make_report([run]))


def test_a_report_on_nothing():
    assert as_markdown(make_report([])).startswith("# Consistency of the answers\n")
    assert strict(as_json([])) == []
    assert len(scores_as_csv([]).splitlines()) == 1


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\tx", "\r=1", "\n=1", " =1"])
def test_a_text_in_a_csv_file_is_no_formula(name, demo):
    (run,) = read_runs([demo["cora_demo_revas"].samples])
    hostile = replace(run, model=name, name=name, signature=name, data=Data(name, name))
    vars(hostile)["estimates"] = {name: Estimate(-0.25, 0.125, ends=(-0.5, 0.0))}
    (line,) = csv.DictReader(StringIO(scores_as_csv([hostile]), newline=""))
    texts = {line[column] for column in ("model", "task", "metric", "signature", "benchmark", "data")}
    assert texts == {f"'{name}".replace("\r", " ")}
    assert [line[column] for column in ("value", "stderr", "low", "high")] == ["-0.25", "0.125", "-0.5", "0.0"]
