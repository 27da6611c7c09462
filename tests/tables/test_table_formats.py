"""Tables of scores in LaTeX and Markdown, read back cell by cell."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from lm_eval_cora.export.methods import methods, prompts
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.score_views import paper_tables
from lm_eval_cora.tables import table_formats as formats
from lm_eval_cora.tables.table_formats import escaped
from tests.support.messages import tells, user_error
from tests.support.shown import HOSTILE_NAMES, scores_as_csv
from tests.support.written import run_by_hand, runs_by_hand, the_run, write_by_hand

MODELS = {
    "bad": {"original": "1" * 20 + "0" * 30, "a": "1" * 5 + "0" * 45},
    "good": {"original": "1" * 45 + "0" * 5, "a": "1" * 45 + "0" * 5},
    "alike": {"original": "1" * 45 + "0" * 5, "a": "1" * 44 + "0" * 6},
}


def as_latex(runs, names=(), **layout):
    return formats.as_latex(paper_tables(runs, names, **layout))


def tables_as_markdown(runs, names=(), **layout):
    return formats.as_markdown(paper_tables(runs, names, **layout))


@pytest.fixture
def three():
    return runs_by_hand(MODELS)


def rows_of(latex):
    """The rows of all tables, the heading first, split where LaTeX splits them."""
    bodies = re.findall(r"\\toprule\n(.*?)\\bottomrule", latex, re.DOTALL)
    lines = [line for body in bodies for line in body.splitlines() if not line.startswith((" ", r"\midrule"))]
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
    assert head == ["model", "CoRA", "MCQA", "BMCA(1.0)"]
    assert [row[0] for row in rows] == ["bad", "good", "alike"]
    # 0.4 (1 - 0.3), 0.9 (1 - 0) and 0.9 (1 - 0.02).
    assert [re.findall(r"\d\.\d+", row[1])[0] for row in rows] == ["0.280", "0.900", "0.882"]
    cora = three[1].estimates["cora"]
    assert rows[1][1] == rf"$\mathbf{{0.900 \pm {cora.stderr:.3f}}}$"
    assert [r"\mathbf" in row[1] for row in rows] == [False, True, True]
    assert rows[0][2].startswith(r"$0.400 \pm 0.0")
    low, high = three[0].estimates["cora"].interval
    assert rows_of(as_latex(three, intervals=True))[1][1] == rf"$0.280\;[{low:.3f}, {high:.3f}]$"
    markdown = tables_as_markdown(three)
    assert cells_of(markdown)[1][1] == f"0.280 ± {three[0].estimates['cora'].stderr:.3f}"
    assert [row[1].startswith("**0.") for row in cells_of(markdown)[1:]] == [False, True, True]
    assert markdown.startswith("### Scores on answers (50 questions)\n")


def on_tasks(runs, *names):
    return [replace(run, name=name) for name in names for run in runs]


@pytest.mark.parametrize(
    ("rows", "heads"), [("", ["first\\_\\allowbreak{}task", "second"]), ("tasks", ["bad", "good"])]
)
def test_one_table_of_all_tasks_by_model_or_by_task(rows, heads, three):
    latex = as_latex(on_tasks(three[:2], "first_task", "second"), rows=rows)
    assert re.findall(r"\\multicolumn\{3\}\{c\}\{(.*?)\}(?: &| \\\\)", latex) == heads
    assert r"\cmidrule{2-7}" in latex
    head, first, second = rows_of(latex)
    names = ["first\\_\\allowbreak{}task", "second"] if rows else ["bad", "good"]
    assert (head[0], [first[0], second[0]]) == ("task" if rows else "model", names)
    assert head[1:4] == head[4:] == ["CoRA", "MCQA", "BMCA(1.0)"]
    assert re.findall(r"\\begin\{(table\*?)\}", latex) == ["table*"]
    assert re.findall(r"\\caption\{(.*)\}\n", latex) == [
        f"Scores {'of' if rows else 'on'} {', '.join(heads)} (50 questions)."
    ]


def test_what_does_not_fit_is_in_another_table(three):
    runs = on_tasks(three, "a", "b", "c")
    assert re.findall("on (.*) \\(", as_latex(runs)) == ["a, b", "c"]
    narrow = as_latex(runs, width=1)
    assert re.findall("on (.*) \\(", narrow) == ["a", "b", "c"]
    assert "table*" not in narrow
    assert len(set(re.findall(r"\\label\{(.*)\}", narrow))) == 3


def test_more_metrics_than_columns_are_in_another_table(three):
    names = ["cora", "mcqa", "bmca@1.0", "ci", "mv", "acc", "acc_mean"]
    for width, columns in ((2, [7, 2]), (1, [4, 4, 2])):
        latex = as_latex(three, names, width=width)
        assert columns_of(latex) == columns
        assert len(set(re.findall(r"\\label\{(.*)\}", latex))) == len(columns)


def test_models_that_were_not_asked_the_same_have_a_note():
    runs = [run_by_hand({"original": "10", "a": "1" * 2}, "a"), run_by_hand({"original": "10", "b": "1" * 2}, "b")]
    by_task = [replace(run, label="") for run in runs]
    assert "Not all models of a task were asked the same." in paper_tables(by_task)[0].note


def test_the_note_has_at_most_forty_words(compared):
    """With errors and intervals, bold, a run that stopped early, and CoRA that falls: 0.8 (1 - 0.8 + 0.2)."""
    steep = run_by_hand({"original": "1" * 40 + "0" * 10, "a": "1" * 10 + "0" * 40}, "steep")
    runs = [steep, *runs_by_hand(MODELS), run_by_hand({"original": "1?", "a": "1?"}, "early")]
    tables = [*paper_tables(runs), *paper_tables([steep, *runs_by_hand(MODELS)])]
    for table in (*tables, *differences(compared("bad", "good", "alike"), intervals=True)):
        assert len(table.note.split()) <= 40, table.note
    assert tells(tables[0].note, "Some variants were not asked.", "CoRA falls with the accuracy here.")
    assert "Bold" in tables[1].note


def test_chosen_metrics_in_their_order(three):
    assert rows_of(as_latex(three, ["mv", "cora"]))[0] == ["model", "MV", "CoRA"]
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
    """Compare models by name, as tables of a paper do."""

    def of(*names):
        models = dict(zip(names, MODELS.values(), strict=False))
        paths = {write_by_hand(tmp_path / f"{n}.jsonl", own): name for n, (name, own) in enumerate(models.items())}
        return compare_models(list(paths), labels=paths, baseline="")

    return of


def differences(found, metrics=(), *, intervals=False):
    return found.paper_tables(metrics, rows="", width=0, intervals=intervals)


def test_differences_to_the_first_model(compared):
    found = compared("a-1", "b_2", "c")
    latex = formats.as_latex(differences(found))
    head, first, second, third = rows_of(latex)
    assert head == ["model", "CoRA", "MCQA", "BMCA(1.0)"]
    # 25 questions are gained and none lost: p of the three pairs together is below 0.001, as is that of CoRA.
    assert first[2].startswith(r"$0.400 \pm")
    assert [row[2] for row in (second, third)] == ["$+0.500^{***}$"] * 2
    assert r"\caption{Differences to a-\allowbreak{}1 on answers (50 questions).}" in latex
    pair = found.found[0].pairs["cora"][0, 1]
    ends = f"[{pair.together.low:+.3f}, {pair.together.high:+.3f}]"
    assert rows_of(formats.as_latex(differences(found, ["cora"], intervals=True)))[2][1] == rf"$+0.620\;{ends}^{{***}}$"


@pytest.mark.parametrize(("lost", "stars"), [(5, "*"), (3, ""), (8, "**"), (12, "***")])
def test_stars_follow_the_test(lost, stars, tmp_path):
    """Of 50 questions some are lost and none gained: McNemar's mid-p is 2^-lost."""
    answers = [dict.fromkeys("ab", "1" * 50), dict.fromkeys("ab", "0" * lost + "1" * (50 - lost))]
    paths = [write_by_hand(tmp_path / f"{n}.jsonl", {"original": own["a"], **own}) for n, own in enumerate(answers)]
    (table,) = differences(compare_models(paths, baseline=""), ["mcqa"])
    assert str(table.rows[1][1]) == f"-{lost / 50:.3f}{stars}"


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_stay_in_their_cell(name):
    runs = runs_by_hand({HOSTILE_NAMES[name]: MODELS["good"], "bad": MODELS["bad"]})
    rows = rows_of(as_latex(runs))
    assert len(rows) == 3
    assert {len(row) for row in rows} == set(columns_of(as_latex(runs)))
    hostile = rows[1][0].removeprefix(r"\parbox[t]{12em}{\raggedright ")
    hostile = hostile.removesuffix("}") if hostile != rows[1][0] else hostile
    assert hostile == escaped(HOSTILE_NAMES[name])
    assert hostile.isprintable()
    # Without its commands and escaped characters, nothing has a meaning in LaTeX.
    assert not set(re.sub(r"\\(text|allow)[a-z]+\{\}|\\[&%$#_{}]", "", hostile)) & set("\\&%$#_{}~^<>|")
    cells = cells_of(tables_as_markdown(runs))
    assert {len(row) for row in cells} == {len(rows[0])}
    assert len(cells) == 3
    assert "<" not in tables_as_markdown(runs)


def test_all_special_characters_are_escaped():
    assert escaped("\\") == r"\textbackslash{}"
    assert escaped("&%$#_{}") == r"\&\%\$\#\_\allowbreak{}\{\}"
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
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_the_tables_compile_without_an_overfull_box(columns, three, demo, compared, tmp_path):
    runs = [the_run(demo[task].folder) for task in ("cora_demo", "cora_demo_revas_mc")]
    ascii_names = [name for name in HOSTILE_NAMES.values() if name.isascii()]
    hostile = on_tasks(runs_by_hand(dict.fromkeys(ascii_names, MODELS["bad"])), *ascii_names)
    layouts = [{}, {"width": 1}, {"rows": "tasks", "intervals": True}]
    written = [as_latex(own, **layout) for own in (three, runs, hostile) for layout in layouts]
    found = compared("a_1", HOSTILE_NAMES["markup"], HOSTILE_NAMES["HTML"])
    written += [formats.as_latex(differences(found)), *(write(runs, latex=True) for write in (methods, prompts))]
    head = f"\\documentclass[{columns}]{{article}}\n\\usepackage{{booktabs,graphicx}}\n\\usepackage[T1]{{fontenc}}\n"
    body = "\n\\clearpage\n".join(written)
    (tmp_path / "paper.tex").write_text(f"{head}\\begin{{document}}\n{body}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert b"Overfull" not in done.stdout


def test_models_that_were_not_asked_the_same_are_not_bold(three):
    short = run_by_hand({kind: marks[:30] for kind, marks in MODELS["good"].items()}, "short")
    both = [three[0], short]
    assert r"\mathbf" not in as_latex(both)
    assert "**" not in tables_as_markdown(both)
    assert "30 to 50 questions" in tables_as_markdown(both)
