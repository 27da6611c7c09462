"""Tables of scores: marks, which models share that cannot be told apart, and a table per probe."""

import pytest

from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.paired import leading
from lm_eval_cora.report import score_views
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.tables.number import FALLS, Number
from lm_eval_cora.tables.table_formats import as_latex
from tests.support.shown import marked, value_in, widths
from tests.support.simulated import knows
from tests.support.written import DEMO, answers, runs_by_hand, write, write_answers

GOOD = {"original": "1" * 45 + "0" * 5, "a": "1" * 45 + "0" * 5, "b": "1" * 44 + "0" * 6}
BAD = {"original": "1" * 20 + "0" * 30, "a": "1" * 5 + "0" * 45, "b": "0" * 50}


@pytest.fixture
def runs():
    return runs_by_hand({"bad": BAD, "good": GOOD, "alike": {**GOOD, "a": GOOD["b"]}})


def test_models_that_cannot_be_told_apart_share_the_mark(runs):
    table = score_views.model_table(runs, "cora", comparable=True)
    assert [row[0] for row in table.rows] == ["good", "alike", "bad"]
    # 0.9 (1 - 0.02) for both, although their variants differ.
    assert [value_in(table, row, "cora") for row in range(3)] == pytest.approx([0.882, 0.882, 0.2 * 1.2])
    best = marked(table)
    assert best.keys() == {"cora", "mcqa", "bmca@1.0"}
    assert all(set(names) == {"good", "alike"} for names in best.values())
    assert "Bold" in table.note
    table = score_views.model_table(runs, "acc", comparable=True)  # the leading metric is first, with its interval
    assert list(table.columns)[:3] == ["model", "acc", "95% of acc"]
    assert list(table.columns).count("acc") == 1
    assert widths(table) == {len(table.columns)}


def test_where_cora_falls_it_has_a_mark_with_its_reason_and_is_not_the_best():
    """steep: 0.8 (1 - 0.8 + 0.2) = 0.32 falls, as 0.8 > 0.6. steady has more right in all variants, but CoRA 0.26."""
    steep = {"original": "1" * 40 + "0" * 10, "a": "1" * 10 + "0" * 40}
    steady = {"original": "1" * 13 + "0" * 37, "a": "1" * 13 + "0" * 37}
    runs = runs_by_hand({"steep": steep, "steady": steady})
    tables = [score_views.model_table(runs, "cora", comparable=True), *score_views.overviews({"x": runs})]
    tables.append(score_views.score_table(runs, comparable=True))
    for table in tables:
        (cell,) = [str(cell) for row in table.rows for cell in row if str(cell).endswith(FALLS)]
        assert cell.startswith("0.320 ± ")
        assert table.note.count(f"{FALLS} {CORA_FALLS}") == 1
    assert "cora" not in marked(tables[0])
    latex = as_latex(score_views.paper_tables(runs))
    assert (latex.count(r"\searrow"), FALLS in latex) == (2, False)
    assert FALLS not in score_views.model_table(runs[1:], "cora", comparable=True).note


def answered(questions, right, all_right):
    """The first questions right in the original, and fewer of them in a variant."""
    return {"original": "1" * right + "0" * (questions - right), "a": "1" * all_right + "0" * (questions - all_right)}


def test_a_model_is_bold_exactly_if_it_cannot_be_told_apart_from_the_best():
    """CoRA is 0.8 (1 - 0.8 + 0.45) = 0.52 and 0.78 (1 - 0.78 + 0.41) = 0.49, which falls; the third model has 0.1."""
    alike = {"best": answered(100, 80, 45), "second": {**answered(100, 78, 41), "a": "0" * 30 + "1" * 41 + "0" * 29}}
    runs = runs_by_hand({**alike, "low": answered(100, 10, 10)})
    assert marked(score_views.model_table(runs, "cora", comparable=True))["cora"] == ["best", "second"]
    assert bests(score_views.score_table(runs, comparable=True))["cora"] == [True, True, False]
    for own in (runs[:2], runs_by_hand(dict.fromkeys("abc", GOOD))):  # where all are alike, none is bold
        assert not marked(score_views.model_table(own, "cora", comparable=True))
        assert score_views.BOLD not in score_views.score_table(own, comparable=True).note


def test_lower_is_better_for_invalid_answers(tmp_path):
    shares = {"a": 0.2, "b": 0.95}
    runs = read_runs([write_answers(tmp_path / f"{name}.jsonl", answers(name, shares[name], 40)) for name in shares])
    assert marked(score_views.model_table(runs, "cora", comparable=True))["invalid"] == ["b"]


def test_one_model_and_models_that_were_not_asked_the_same_have_no_marks(runs):
    for own, comparable in ((runs, True), (runs, False), (runs[:1], True)):
        for table in (
            score_views.model_table(own, "cora", comparable=comparable),
            score_views.score_table(own, comparable=comparable),
        ):
            assert bool(marked(table)) is (comparable and len(own) > 1)
            assert ("Bold" in table.note) is (comparable and len(own) > 1)


def test_consistency_of_wrong_answers_is_no_merit():
    """A model that is always wrong has the highest CI; the table marks nobody and says why."""
    runs = runs_by_hand({"wrong": dict.fromkeys(BAD, "0" * 50), "good": GOOD, "bad": BAD})
    assert leading([run.estimates["ci"] for run in runs]) != set(range(3))
    table = score_views.score_table(runs, comparable=True)
    best = bests(table)
    assert best["ci"] == [False] * 3
    assert "ci has no mark" in table.note
    assert any(best["cora"])


def bests(table):
    """For each row, which of its numbers are marked."""
    return {str(row[0]): [cell.best for cell in row if isinstance(cell, Number)] for row in table.rows}


def test_metrics_of_the_models_own_questions_have_no_marks(demo, tmp_path):
    second = write(tmp_path, knows, "cora_demo_revas", {"questions": 12}, "org/other")
    rows = bests(score_views.score_table(read_runs([demo["cora_demo_revas"].folder, second.folder]), comparable=True))
    own = [name for name in rows if name.startswith(("tf_", "confidence_", "recall_", "replaced_acc"))]
    assert len(own) > 3
    assert not any(any(rows[name]) for name in own)
    assert rows["acc"] == [False, True]


def test_scores_of_different_probes_are_in_different_tables(demo):
    runs = read_runs([demo[task].folder for task in DEMO])
    *tables, _ = make_report(runs).overview  # the last one is the validity of all probes together
    probes = {run.task: run.probe for run in runs}
    assert len(tables) == len({run.probe.name for run in runs}) == 6
    shown = []
    for table in tables:
        (probe,) = {probes[str(row[0])].name for row in table.rows}
        assert table.title == f"All runs of the probe {probe}"
        assert widths(table) == {len(table.columns)}
        shown += [row[0] for row in table.rows]
    assert sorted(map(str, shown)) == sorted(DEMO)
