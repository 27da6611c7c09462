"""Tables of scores in LaTeX and Markdown, read back cell by cell."""

import csv
import re
import shutil
import subprocess
from dataclasses import replace
from io import StringIO

import pytest

from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.score_views import BOLD, paper_tables
from lm_eval_cora.tables import table_formats as formats
from lm_eval_cora.tables.table_formats import escaped
from tests.support.messages import tells, user_error
from tests.support.shown import HOSTILE_NAMES, scores_as_csv
from tests.support.written import run_by_hand, runs_by_hand, write_by_hand

MODELS = {
    "bad": {"original": "1" * 20 + "0" * 30, "a": "1" * 5 + "0" * 45},
    "good": {"original": "1" * 45 + "0" * 5, "a": "1" * 45 + "0" * 5},
    "alike": {"original": "1" * 45 + "0" * 5, "a": "1" * 44 + "0" * 6},
}


def as_latex(runs, names=()):
    return formats.as_latex(paper_tables(runs, names))


def tables_as_markdown(runs, names=()):
    return formats.as_markdown(paper_tables(runs, names))


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
    assert head == ["model", "CoRA", r"95\% of CoRA", "MCQA", "BMCA(1.0)"]
    assert [row[0] for row in rows] == ["good", "alike", "bad"]
    # 0.9 (1 - 0), 0.9 (1 - 0.02) and 0.4 (1 - 0.3).
    assert [re.findall(r"\d\.\d+", row[1])[0] for row in rows] == ["0.900", "0.882", "0.280"]
    cora = three[1].estimates["cora"]
    assert rows[0][1:3] == [rf"$\mathbf{{0.900 \pm {cora.stderr:.3f}}}$", "$[{:.3f}, {:.3f}]$".format(*cora.interval)]
    assert [r"\mathbf" in row[1] for row in rows] == [True, True, False]
    assert rows[2][3].startswith(r"$0.400 \pm 0.0")
    markdown = tables_as_markdown(three)
    assert cells_of(markdown)[3][1] == f"0.280 ± {three[0].estimates['cora'].stderr:.3f}"
    assert [row[1].startswith("**0.") for row in cells_of(markdown)[1:]] == [True, True, False]
    assert markdown.startswith("### answers\n")
    assert "Bold" in markdown.splitlines()[-1]


def test_a_table_per_task_with_caption_and_label(three):
    latex = as_latex([*three, *(replace(run, name="other_task") for run in three)])
    first, second = re.findall(r"\\caption\{(.*)\}\n", latex)
    assert tells(first, "answers. 50 questions. Value ± standard error", BOLD)
    assert second.startswith(r"other\_task. 50")
    assert re.findall(r"\\label\{(.*)\}", latex) == ["tab:answers", "tab:other-task"]


def test_chosen_metrics_in_their_order(three):
    assert rows_of(as_latex(three, ["mv", "cora"]))[0] == ["model", "MV", r"95\% of MV", "CoRA"]
    assert [line.split(",")[2] for line in scores_as_csv(three[:1], ["mv", "cora"]).splitlines()] == [
        "metric",
        "mv",
        "cora",
    ]
    for write in (as_latex, tables_as_markdown, scores_as_csv):
        with user_error("--metrics mvx: there is no such metric. Did you mean 'mv'?"):
            write(three, ["mv", "mvx"])


@pytest.fixture
def compared(tmp_path):
    """Compare models by name, with some metrics in tables for a paper."""

    def of(*names, metrics=("cora", "mcqa")):
        models = dict(zip(names, MODELS.values(), strict=False))
        paths = {write_by_hand(tmp_path / f"{n}.jsonl", own): name for n, (name, own) in enumerate(models.items())}
        return compare_models(list(paths), labels=paths, metrics=metrics)

    return of


def test_differences_of_two_models(compared):
    found = compared("bad", "good")
    latex = formats.as_latex(found.paper_tables)
    head, cora, mcqa = rows_of(latex)[:3]
    assert head == ["metric", "bad", "good", "new minus old", r"95\%", "p"]
    # 25 questions are gained and none lost: p is 2^-25 = 2.98e-08.
    assert (mcqa[0], mcqa[3][:8], mcqa[5]) == ("MCQA", "$+0.500 ", r"$2.98 \times 10^{-8}$")
    assert re.fullmatch(r"\$\[\+0\.\d{3}, \+0\.\d{3}\]\$", cora[4])
    assert re.findall(r"\\label\{(.*)\}", latex)[0] == "tab:answers-differences"
    assert tells(latex, r"\caption{answers: differences. 50 questions.", "McNemar", "normal test")
    assert cells_of(formats.as_markdown(found.paper_tables))[2][:2] == ["MCQA", "0.400 ± 0.070"]


def test_differences_of_three_models(compared):
    found = compared("a-1", "b_2", "c")
    latex = formats.as_latex(found.paper_tables)
    assert [row[0] for row in rows_of(latex)][:4] == ["models", r"b\_2 $-$ a-1", "c $-$ a-1", r"c $-$ b\_2"]
    assert re.findall(r"\\label\{(.*)\}", latex) == [f"tab:answers-differences-in-{name}" for name in ("CoRA", "MCQA")]
    row = list(csv.DictReader(StringIO(formats.as_csv(each.data for each in found.found))))[3]
    assert (row["metric"], row["first"], row["second"], row["method"]) == ("mcqa", "a-1", "b_2", "mcnemar")
    assert (float(row["p_value"]), float(row["p_together"])) == (2**-25, 3 * 2**-25)


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
    assert rows_of(as_latex([run_by_hand({"a": "10", "b": "11"})]))[0][1] == "Acc."
    table = three[0].table
    empty = replace(three[0], table=table.where(table.correct & ~table.correct))
    assert as_latex([empty]) == tables_as_markdown([empty]) == as_latex([]) == tables_as_markdown([]) == ""


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX: apt-get install texlive-latex-recommended")
def test_the_tables_compile(three, runs, compared, tmp_path):
    hostile = runs_by_hand({name: MODELS["bad"] for name in HOSTILE_NAMES.values() if name.isascii()})
    differences = compared("a_1", HOSTILE_NAMES["markup"], HOSTILE_NAMES["HTML"], metrics=())
    text = "\n".join([*map(as_latex, (three, runs, hostile)), formats.as_latex(differences.paper_tables)])
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\usepackage[T1]{fontenc}\n\\begin{document}\n"
    (tmp_path / "paper.tex").write_text(f"{head}{text}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_runs_that_did_not_ask_everything_are_marked(three):
    text = tables_as_markdown([*three, run_by_hand({"original": "1?", "a": "1?"}, "early")])
    assert {row[0] for row in cells_of(text)[1:]} == {*MODELS, "early †"}
    assert "†: the run did not ask all variants" in text


def test_models_that_were_not_asked_the_same_are_not_bold(three):
    short = run_by_hand({kind: marks[:30] for kind, marks in MODELS["good"].items()}, "short")
    both = [three[0], short]
    assert r"\mathbf" not in as_latex(both)
    assert "**" not in tables_as_markdown(both)
    assert "30 to 50 questions" in tables_as_markdown(both)
