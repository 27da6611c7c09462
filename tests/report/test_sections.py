"""The section of each task: marks of the best models, and tables checked by a slow count."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from math import isnan
from statistics import mean

import pytest

from lm_eval_cora import metrics
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.report.content import Dots, Examples
from lm_eval_cora.report.probe_views import with_references
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table
from tests.support.written import answers, copied, edit, run_by_hand, the_run, write_answers


def section_of(report, title):
    (found,) = [section for section in report.sections if section.title == title]
    return found


def block_of(section, title):
    (found,) = [block for block in (*section.blocks, *section.more) if block.title.startswith(title)]
    return found


def table_of(section, title):
    block = block_of(section, title)
    assert all(len(row) == len(block.columns) for row in block.rows)
    return {str(row[0]): list(row[1:]) for row in block.rows}


def share_that_agrees(records):
    outcomes = []
    for one, other in combinations([record for record in records if record.ask in ("letter", "best_answer")], 2):
        if one.picked is None or other.picked is None:
            outcomes.append(0.0)
        elif one.picked in other.printed and other.picked in one.printed:
            outcomes.append(float(one.picked == other.picked))
    return mean(outcomes) if outcomes else None


@pytest.mark.parametrize("task", ["cora_demo_plus", "cora_demo_order_mc", "cora_demo_revas"])
def test_the_ten_least_consistent_questions(task, demo):
    run = the_run(demo[task].folder)
    by_question = {}
    for record in run.source.records:
        by_question.setdefault(record.question_id, []).append(record)
    shares = {question: share_that_agrees(records) for question, records in by_question.items()}
    least = sorted(share for share in shares.values() if share is not None)[:10]
    block = block_of(section_of(make_report([run]), task), "The least consistent")
    assert [shares[example.question_id] for example in block.examples] == pytest.approx(least)
    for example in block.examples:
        records = sorted(by_question[example.question_id], key=lambda record: record.ordinal)
        hits = sum(record.correct for record in records)
        agree = f"{shares[example.question_id]:.2f} of the pairs"
        assert example.summary.startswith(f"{hits} of {len(records)} right, {agree}")
        assert len(example.answers) == len(records)
        for answered, record in zip(example.answers, records, strict=True):
            assert answered.kind == record.kind
            assert answered.verdict == ("right" if record.correct else "invalid" if record.invalid else "wrong")
            assert [each.right for each in answered.options] == [each == record.answer for each in record.printed]
            if record.position is not None:
                assert [each.letter for each in answered.options if each.picked] == ["ABCDEFGHIJ"[record.position]]


def test_invalid_answers_by_reason(demo):
    run = the_run(demo["cora_demo"].folder)
    section = section_of(make_report([run]), "cora_demo")
    counts = Counter(str(record.reason) for record in run.source.records if record.invalid)
    rows = table_of(section, "Invalid answers")
    assert {reason: row[0] for reason, row in rows.items()} == counts
    for count, share, *_ in rows.values():
        assert share.value == count / len(run.source.records)  # type: ignore[operator]


def part(run, questions):
    return ResponseTable.from_records(record for record in run.source.records if record.question_id in questions)


def test_questions_with_option_references_and_without(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    ids = the_run(tmp_path).table.question_ids
    marked = {ids[1], ids[4], ids[7]}
    edit(written.samples, lambda line: line["doc"].update(refers_to_options=line["doc"]["question_id"] in marked))
    run = the_run(tmp_path)
    rows = table_of(section_of(make_report([run]), "cora_demo"), "Questions with option references")
    assert rows["questions"] == [3, len(ids) - 3]
    inside, outside = part(run, marked), part(run, {*ids} - marked)
    for name in ("mcqa", "mcqa_plus", "ci", "cora", "consistency_rate"):
        for cell, table in zip(rows[name], (inside, outside), strict=True):
            assert (cell.value, cell.stderr) == pytest.approx(tuple(getattr(metrics, name)(table)))
    assert with_references([the_run(demo["cora_demo"].folder)]) is None


def test_the_aggregated_row(demo, tmp_path):
    for task in ("cora_demo_prompts", "cora_demo_order", "cora_demo_sampling"):
        copied(demo[task], tmp_path)
    section = section_of(make_report(read_runs([tmp_path])), "cora_demo: SCORE")
    rows = [row for row in table_of(section, "SCORE").values() if not isinstance(row[0], str)]  # without the probes
    tables = {probe: the_run(demo[f"cora_demo_{probe}"].folder).table for probe in ("prompts", "order", "sampling")}
    expected = metrics.aggregated(**tables)
    names = ("acc_mean", "acc_min", "acc_max", "cr_all", "cr_prompts_order")
    found = [(row[0].value, row[0].stderr) for row in rows[:5] if isinstance(row[0], Number)]
    assert found == [tuple(getattr(expected, name)) for name in names]
    assert [row[0] for row in rows[5:]] == [expected.predictions, expected.questions] == [10 + 5 + 5, 12]


@pytest.mark.parametrize(("old", "new"), [("worse", "better"), ("better", "worse")])
def test_every_difference_on_a_page_is_new_minus_old_with_its_interval(old, new, tmp_path):
    shares, sign = {"worse": 0.2, "better": 0.9}, "+" if new == "better" else "-"
    rows = {name: answers(name, shares[name], questions=30) for name in (old, new)}
    paths = [write_answers(tmp_path / f"{name}.jsonl", own) for name, own in rows.items()]
    section, *_ = make_report(read_runs(paths)).sections
    assert f"{new} minus {old} is {sign}0." in section.headline.sentences[0]
    charts = [block for block in section.blocks if isinstance(block, Dots) and block.is_difference]
    assert [list(chart.rows) for chart in charts[:1]] == [[f"{new} - {old}"]]
    assert charts[1].title == f"Differences in accuracy by kind of variant: {new} - {old}"
    assert all(chart.x_label.endswith(", new minus old") for chart in charts)
    assert str(table_of(section, f"Differences to {old}, new minus old")["cora"][0]).startswith(sign)
    assert_intervals(section)


def assert_intervals(section):
    """Each difference with an error in a table of a section is before its interval."""
    blocks = [block for block in (*section.blocks, *section.more) if not isinstance(block, Examples)]
    rows = [row for block in blocks for row in (block if isinstance(block, Table) else block.numbers).rows]
    shown = [pair for row in rows for pair in pairwise(row) if isinstance(pair[0], Number) and pair[0].signed]
    assert shown
    assert [number for number, ends in shown if not isnan(number.stderr) and ends != number.interval] == []


def test_a_note_about_a_run_stands_once():
    run = replace(run_by_hand({"original": "1" * 20, "a": "10" * 10}), notes=("read twice",))
    notes = [section.notes for section in make_report([run, replace(run, name="second")]).sections]
    assert [("model", "read twice") in own for own in notes] == [True, False]
