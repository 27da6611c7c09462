"""Files of answers that were collected without the harness, in reports and comparisons."""

from dataclasses import replace

import pytest

import lm_eval_cora as cora
from lm_eval_cora.report.comparison import matched
from lm_eval_cora.report.sections import BLOCKS, invalid_answers, least_consistent
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.grouping import is_answers_file, read_contestants, read_runs
from tests.support.messages import tells, user_error
from tests.support.written import WRITERS, answers, put, the_run, write_answers

RIGHT = [{"question": n // 3, "variant": n % 3, "correct": n % 4 > 0, "original": n % 3 == 0} for n in range(18)]


def test_the_numbers_are_those_of_score_in_all_formats(tmp_path):
    paths = [write_answers(tmp_path / f"a{suffix}", answers()) for suffix in WRITERS]
    runs = read_runs([*paths, write_answers(tmp_path / "reversed.jsonl", answers()[::-1])])
    assert len({(run.task, run.data, *map(str, run.estimates.values())) for run in runs}) == 1
    scores, run = cora.score(paths[0]), the_run(paths[0])
    defined = [name for name in scores if name not in scores.undefined]
    assert list(run.estimates) == defined
    assert {"cora", "consistency_rate", "acc_min", "macro_acc", "followed", "sc"} <= set(defined)
    for name in defined:
        found, expected = run.estimates[name], scores[name]
        assert repr((*found, *found.interval)) == repr((*expected, *expected.interval)), name
    assert (run.model, run.task, run.form, run.reader) == ("a", "answers", None, None)


PAIRS = [{"question": q, "variant": n} for q in range(3) for n in range(2)]
COLUMNS = {
    "right and wrong": (RIGHT, {"bmca_curve"}),
    "kinds": (
        [{**row, "correct": True, "kind": "xy"[row["variant"]]} for row in PAIRS],
        {"bmca_curve", "by_kind", "changes", "heat_maps"},
    ),
    "picks": (answers(), {"bmca_curve", "accuracy_ranges", "by_kind", "by_category", "changes", "heat_maps"}),
    "all orders": (
        [{**row, "picked": "a", "answer": "a", "printed": list(["ab", "ba"][row["variant"]])} for row in PAIRS],
        {"bmca_curve", "picks_by_letter"},
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_charts_and_tables_are_those_that_the_columns_define(name, tmp_path):
    rows, expected = COLUMNS[name]
    probe = the_run(put(tmp_path / "a.jsonl", rows)).probe
    assert {*probe.charts, *probe.tables} == expected
    assert expected <= BLOCKS.keys()


def test_examples_show_picks_and_options(tmp_path):
    run = the_run(write_answers(tmp_path / "a.csv", answers()))
    examples = least_consistent(run, 10)
    first = examples.examples[0]
    rows = {row["variant"]: row for row in answers() if row["question_id"] == first.question_id}
    assert {shown.kind for shown in first.answers} == rows.keys()
    for shown in first.answers:
        picked, options = rows[shown.kind]["picked"], shown.options
        assert shown.verdict == ("invalid" if picked is None else "right" if picked == "Ice" else "wrong")
        assert [option.text for option in options] == rows[shown.kind]["printed"]
        assert [option.text for option in options if option.right] == ["Ice"]
        assert [option.text for option in options if option.picked] == ([] if picked is None else [picked])
    assert invalid_answers([run]) is None


@pytest.mark.parametrize("columns", [("picked", "answer"), ("correct",)])
def test_answers_without_options(columns, tmp_path):
    rows = [{**row, "correct": row["picked"] == "Ice"} for row in answers()]
    kept = ("question_id", "variant", *columns)
    run = the_run(put(tmp_path / "a.jsonl", [{name: row[name] for name in kept} for row in rows]))
    records = [record for question in run.table.question_ids for record in run.answers_to(question)]
    for name in ("correct", "invalid", "original"):
        assert [getattr(record, name) for record in records] == getattr(run.table, name).tolist()
    assert [record.kind for record in records] == [run.table.kinds[code] for code in run.table.kind]
    assert (least_consistent(run, 10) is None) == (columns == ("correct",))


# ---- which files are answers
def test_files_of_answers(tmp_path):
    lines = [
        ("a.jsonl", {"question": 1, "variant": 0, "correct": True}, True),
        ("a.jsonl", {"doc_id": 0, "doc": {"question_id": "q"}}, False),
        ("samples_cora_demo_2026-01-01T00-00-00.jsonl", {"question": 1}, False),
        *((name, {"results": {}}, False) for name in ("scores_2026-01-01T00-00-00.json", "results.json")),
        *(("a.CSV", "question,variant", True), ("a.txt", {"question": 1}, False)),
    ]
    for name, line, expected in lines:
        assert is_answers_file(put(tmp_path / name, [line])) == expected
    assert not is_answers_file(tmp_path)


def test_missing_columns_are_one_line(tmp_path):
    path = write_answers(tmp_path / "a.csv", [{"qid": 1, "perm": 0, "choices": "[]", "gold": "A", "output": "B"}])
    names = "question=qid, variant=perm, answer=gold, response=output. Without 'original'"
    parts = (str(path), "'question'", "'variant'", "'qid', 'perm', 'choices', 'gold'", "Rename yours", names)
    with user_error(*parts):
        read_runs([path])


def test_a_file_and_a_run(demo, tmp_path):
    path = put(tmp_path / "a.jsonl", RIGHT)
    runs = read_runs([path, demo["cora_demo"].folder, path], reader="flexible")
    assert [run.task for run in runs] == ["answers", "cora_demo"]
    assert tells("; ".join(runs[0].warnings), "--reader flexible does not apply")
    for pair in (runs, runs[::-1]):
        assert "file of answers" in not_comparable(*pair)


# ---- comparison
ASKED = " of 20 questions were asked differently"
UNLIKE = {
    "fewer questions": (lambda rows: rows[:-4], "1 of 20 questions are only in the first (q19)"),
    "fewer variants": (lambda rows: rows[:-1], f"1{ASKED} ('q19')"),
    "other options": (lambda rows: [{**rows[0], "printed": ["Ice", "Fog", "No"]}, *rows[1:]], f"1{ASKED} ('q0')"),
    "another right answer": (lambda rows: [{**row, "answer": "Fog"} for row in rows], f"20{ASKED} ('q0', 'q1', 'q10',"),
    "no options": (
        lambda rows: [{name: row[name] for name in row if name != "printed"} for row in rows],
        "1 of 3 columns that every row has are only in the first (printed)",
    ),
    "all skipped": (
        lambda rows: [
            *({**row, "picked": None, "correct": None} for row in rows[:4]),
            *({**row, "correct": row["picked"] == "Ice"} for row in rows[4:]),
        ],
        "all variants of 1 of 20 questions were skipped ('q0')",
    ),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_different_questions_are_refused(name, tmp_path):
    change, message = UNLIKE[name]
    paths = [put(tmp_path / "a.jsonl", answers()), put(tmp_path / "b.jsonl", change(answers()))]
    ((one, other),), alone = matched([contestant.runs for contestant in read_contestants(paths)])
    assert not alone
    assert message in not_comparable(one, other)
    with user_error(message):
        cora.compare(*map(cora.score, paths))
    assert (one.task != other.task) == (name != "all skipped")  # the reports show different questions apart
    assert not_comparable(one, replace(one, model="x")) == ""
