"""Tables of scores in LaTeX and Markdown, read back cell by cell."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from lm_eval_cora.export.score_tables import as_latex, escaped, tables_as_markdown
from tests.support.messages import tells
from tests.support.shown import HOSTILE_NAMES
from tests.support.written import run_by_hand, runs_by_hand

MODELS = {
    "bad": {"original": "1" * 20 + "0" * 30, "a": "1" * 5 + "0" * 45},
    "good": {"original": "1" * 45 + "0" * 5, "a": "1" * 45 + "0" * 5},
    "alike": {"original": "1" * 45 + "0" * 5, "a": "1" * 44 + "0" * 6},
}


@pytest.fixture
def three():
    return runs_by_hand(MODELS)


def rows_of(latex):
    """The rows of all tables, the heading first, split where LaTeX splits them."""
    bodies = re.findall(r"\\toprule\n(.*?)\\bottomrule", latex, re.DOTALL)
    lines = [line for body in bodies for line in body.splitlines() if line != r"\midrule"]
    assert all(line.endswith(r" \\") for line in lines)
    return [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines]


def columns_of(latex):
    return [len(spec) for spec in re.findall(r"\\begin\{tabular\}\{(l?r*)\}", latex)]


def cells_of(markdown):
    """The rows of a Markdown table without the ruler. A bar in a cell has a backslash."""
    lines = [line for line in markdown.splitlines() if line.startswith("|") and not line.startswith("|:")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_scores_with_errors_and_bold(three):
    head, *rows = rows_of(as_latex(three))
    assert head == ["model", "cora", r"95\% of cora", "mcqa", "bmca@1.0", "acc"]
    assert [row[0] for row in rows] == ["good", "alike", "bad"]
    # 0.9 (1 - 0), 0.9 (1 - 0.02) and 0.4 (1 - 0.3).
    assert [re.findall(r"\d\.\d+", row[1])[0] for row in rows] == ["0.900", "0.882", "0.280"]
    cora = three[1].estimates["cora"]
    assert rows[0][1:3] == [rf"$\mathbf{{0.900 \pm {cora.stderr:.3f}}}$", "{:.3f} to {:.3f}".format(*cora.interval)]
    assert [r"\mathbf" in row[1] for row in rows] == [True, True, False]
    assert rows[2][3].startswith(r"$0.400 \pm 0.0")
    markdown = tables_as_markdown(three)
    without_bold = ([re.sub(r"\\mathbf\{(.*)\}", r"\1", cell) for cell in row] for row in (head, *rows))
    plain = [[cell.replace(r"\pm", "±").replace("\\", "").strip("$") for cell in row] for row in without_bold]
    assert [[cell.strip("*") for cell in row] for row in cells_of(markdown)] == plain
    assert [row[1].startswith("**0.") for row in cells_of(markdown)[1:]] == [True, True, False]
    assert markdown.startswith("### answers, 50 questions\n")
    assert "Bold" in markdown.splitlines()[-1]


def test_a_table_per_task_with_caption_and_label(three):
    latex = as_latex([*three, *(replace(run, name="other_task") for run in three)])
    first, second = re.findall(r"\\caption\{(.*)\}\n", latex)
    assert tells(first, "answers, 50 questions.", "Value ± standard error", "Bold")
    assert second.startswith(r"other\_task, 50")
    assert re.findall(r"\\label\{(.*)\}", latex) == ["tab:answers--50-questions", "tab:other-task--50-questions"]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_in_their_cell(name):
    runs = runs_by_hand({HOSTILE_NAMES[name]: MODELS["good"], "bad": MODELS["bad"]})
    rows = rows_of(as_latex(runs))
    assert len(rows) == 3
    assert {len(row) for row in rows} == set(columns_of(as_latex(runs)))
    assert rows[1][0] == escaped(HOSTILE_NAMES[name])
    assert rows[1][0].isprintable()
    # Without its commands and escaped characters, nothing has a meaning in LaTeX.
    assert not set(re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]", "", rows[1][0])) & set("\\&%$#_{}~^<>|")
    cells = cells_of(tables_as_markdown(runs))
    assert {len(row) for row in cells} == {len(rows[0])}
    assert len(cells) == 3
    assert "<" not in tables_as_markdown(runs)


def test_all_special_characters_are_escaped():
    assert escaped("\\") == r"\textbackslash{}"
    assert escaped("&%$#_{}") == r"\&\%\$\#\_\{\}"
    assert escaped("~^<>|") == r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"
    assert escaped(" two\n\n lines\u2028\ttab ") == "two lines tab"
    assert escaped("\u202e\x00\x1b naïve 日本") == "\ufffd\ufffd\ufffd naïve 日本"


def test_undefined_scores(three):
    """With one question there are no errors; CoRA 1 (1 - 1 + 0) falls. Without an original there is no CoRA."""
    single = as_latex([run_by_hand({"original": "1", "a": "0"})])
    assert rows_of(single)[1][1] == r"$0.000 \searrow$"
    assert r"\pm" not in single
    assert rows_of(as_latex([run_by_hand({"a": "10", "b": "11"})]))[0][1] == "acc"
    table = three[0].table
    empty = replace(three[0], table=table.where(table.correct & ~table.correct))
    assert as_latex([empty]) == tables_as_markdown([empty]) == as_latex([]) == tables_as_markdown([]) == ""


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX: apt-get install texlive-latex-recommended")
def test_the_tables_compile(three, runs, tmp_path):
    hostile = runs_by_hand({name: MODELS["bad"] for name in HOSTILE_NAMES.values() if name.isascii()})
    text = "\n".join(map(as_latex, (three, runs, hostile)))
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\usepackage[T1]{fontenc}\n\\begin{document}\n"
    (tmp_path / "paper.tex").write_text(f"{head}{text}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_models_that_were_not_asked_the_same_are_not_bold(three):
    short = run_by_hand({kind: marks[:30] for kind, marks in MODELS["good"].items()}, "short")
    both = [three[0], short]
    assert r"\mathbf" not in as_latex(both)
    assert "**" not in tables_as_markdown(both)
    assert "answers, 30 to 50 questions" in tables_as_markdown(both)
