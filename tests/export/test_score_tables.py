"""Tables of scores in LaTeX and Markdown, read back cell by cell."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lm_eval_cora.export.score_tables import as_latex, escaped, tables_as_markdown
from lm_eval_cora.report.result_tables import model_table
from lm_eval_cora.runs.grouping import Run
from tests.support.by_hand import HOSTILE_NAMES, run_by_hand, runs_by_hand
from tests.support.messages import tells

MODELS = {
    "bad": {"original": "1" * 20 + "0" * 30, "a": "1" * 5 + "0" * 45},
    "good": {"original": "1" * 45 + "0" * 5, "a": "1" * 45 + "0" * 5},
    "alike": {"original": "1" * 45 + "0" * 5, "a": "1" * 44 + "0" * 6},
}


@pytest.fixture
def three(tmp_path: Path) -> list[Run]:
    return runs_by_hand(tmp_path, MODELS)


def rows_of(latex: str) -> list[list[str]]:
    """The rows of all tables, the heading first, split where LaTeX splits them."""
    bodies = re.findall(r"\\toprule\n(.*?)\\bottomrule", latex, re.DOTALL)
    lines = [line for body in bodies for line in body.splitlines() if line != r"\midrule"]
    assert all(line.endswith(r" \\") for line in lines)
    return [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines]


def columns_of(latex: str) -> list[int]:
    return [len(spec) for spec in re.findall(r"\\begin\{tabular\}\{(l?r*)\}", latex)]


# ---- LaTeX


def test_a_table_has_the_scores_with_errors_and_bold(three: list[Run]) -> None:
    latex = as_latex(three)
    head, *rows = rows_of(latex)
    assert head == ["model", "cora", r"95\% of cora", "mcqa", "bmca@1.0", "acc"]
    assert [row[0] for row in rows] == ["good", "alike", "bad"]
    # 0.9 (1 - 0), 0.9 (1 - 0.02) and 0.4 (1 - 0.3).
    assert [re.findall(r"\d\.\d+", row[1])[0] for row in rows] == ["0.900", "0.882", "0.280"]
    error = f"{three[1].estimates['cora'].stderr:.3f}"
    assert rows[0][1] == rf"$\mathbf{{0.900 \pm {error}}}$"
    assert [r"\mathbf" in row[1] for row in rows] == [True, True, False]
    assert rows[2][3].startswith(r"$0.400 \pm 0.0")
    assert (
        rows[0][2]
        == three[1].estimates["cora"].interval[0].__format__(".3f")
        + " to "
        + f"{three[1].estimates['cora'].interval[1]:.3f}"
    )


def test_every_row_has_the_cells_of_its_tabular(runs: list[Run]) -> None:
    latex = as_latex(runs)
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") == 3
    sizes = columns_of(latex)
    assert len(sizes) == 3
    assert {len(row) for row in rows_of(latex)} == set(sizes)
    assert "nan" not in latex


def test_the_caption_names_the_task_and_the_questions(three: list[Run]) -> None:
    latex = as_latex(three)
    caption = re.search(r"\\caption\{(.*)\}\n", latex)
    assert caption
    assert tells(caption[1], "answers, 50 questions.", "Value ± standard error", "Bold")
    labels = re.findall(r"\\label\{(.*)\}", latex)
    assert labels == ["tab:answers--50-questions"]


def test_a_table_per_task_with_its_own_label(three: list[Run]) -> None:
    latex = as_latex([*three, *(replace(run, name="other_task") for run in three)])
    assert re.findall(r"\\label\{(.*)\}", latex) == ["tab:answers--50-questions", "tab:other-task--50-questions"]
    assert r"\caption{other\_task, 50" in latex


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_in_their_cell(name: str, tmp_path: Path) -> None:
    runs = runs_by_hand(tmp_path, {HOSTILE_NAMES[name]: MODELS["good"], "bad": MODELS["bad"]})
    latex = as_latex(runs)
    rows = rows_of(latex)
    assert len(rows) == 3
    assert {len(row) for row in rows} == set(columns_of(latex))
    cell = rows[1][0]
    assert cell == escaped(HOSTILE_NAMES[name])
    assert cell.isprintable()
    # Without its commands and escaped characters, nothing has a meaning in LaTeX.
    plain = re.sub(r"\\text[a-z]+\{\}|\\[&%$#_{}]", "", cell)
    assert not set(plain) & set("\\&%$#_{}~^<>|")


def test_all_special_characters_are_escaped() -> None:
    assert escaped("\\") == r"\textbackslash{}"
    assert escaped("&%$#_{}") == r"\&\%\$\#\_\{\}"
    assert escaped("~^<>|") == r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"
    assert escaped(" two\n\n lines\u2028\ttab ") == "two lines tab"
    assert escaped("\u202e\x00\x1b") == "\ufffd\ufffd\ufffd"
    assert escaped("naïve 日本") == "naïve 日本"


def test_undefined_scores(tmp_path: Path) -> None:
    """With one question there are no errors; without an original there is no CoRA."""
    single = as_latex([run_by_hand(tmp_path, {"original": "1", "a": "0"})])
    (_, row) = rows_of(single)
    assert row[1] == "$0.000$"
    assert r"\pm" not in single
    bare = as_latex([run_by_hand(tmp_path / "bare", {"a": "10", "b": "11"})])
    assert rows_of(bare)[0][1] == "acc"


def test_nothing_defined_makes_no_table(three: list[Run]) -> None:
    table = three[0].table
    empty = replace(three[0], table=table.where(table.correct & ~table.correct))
    assert as_latex([empty]) == tables_as_markdown([empty]) == ""
    assert as_latex([]) == tables_as_markdown([]) == ""


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX: apt-get install texlive-latex-recommended")
def test_the_tables_compile(three: list[Run], runs: list[Run], tmp_path: Path) -> None:
    hostile = runs_by_hand(tmp_path, {name: MODELS["bad"] for name in HOSTILE_NAMES.values() if name.isascii()})
    text = "\n".join(map(as_latex, (three, runs, hostile)))
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\usepackage[T1]{fontenc}\n\\begin{document}\n"
    (tmp_path / "paper.tex").write_text(f"{head}{text}\\end{{document}}\n", encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


# ---- Markdown


def cells_of(line: str) -> list[str]:
    """The cells of a row of a Markdown table. A bar in a cell has a backslash."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_has_the_same_numbers(three: list[Run]) -> None:
    lines = tables_as_markdown(three).splitlines()
    assert lines[0] == "### answers, 50 questions"
    table = model_table(three, "cora", alike=True)
    rows = [cells_of(line) for line in lines if line.startswith("|")]
    assert rows[0] == list(table.columns)
    assert {len(row) for row in rows} == {len(table.columns)}
    assert [row[0] for row in rows[2:]] == ["good", "alike", "bad"]
    assert [row[1].startswith("**0.") for row in rows[2:]] == [True, True, False]
    assert rows[2][1] == f"**0.900 ± {three[1].estimates['cora'].stderr:.3f}**"
    assert "Bold" in lines[-1]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_in_markdown(name: str, tmp_path: Path) -> None:
    runs = runs_by_hand(tmp_path, {HOSTILE_NAMES[name]: MODELS["good"], "bad": MODELS["bad"]})
    text = tables_as_markdown(runs)
    rows = [cells_of(line) for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert len({len(row) for row in rows}) == 1
    assert "<" not in text


def test_models_that_were_not_asked_the_same_are_not_bold(three: list[Run], tmp_path: Path) -> None:
    short = run_by_hand(tmp_path / "short", {kind: marks[:30] for kind, marks in MODELS["good"].items()}, "short")
    both = [three[0], short]
    assert r"\mathbf" not in as_latex(both)
    assert "**" not in tables_as_markdown(both)
    assert "answers, 30 to 50 questions" in tables_as_markdown(both)
