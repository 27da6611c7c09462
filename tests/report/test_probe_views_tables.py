"""Tables and warnings of reports: undefined values, marks and invalid answers."""

import numpy as np
import pytest

from lm_eval_cora.metrics.estimate import share_of
from lm_eval_cora.report.probe_views import picks_by_letter
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table
from tests.support.messages import tells
from tests.support.simulated import knows
from tests.support.written import lines_of, put, the_run, varied, write


def only_section(*paths):
    section, *_ = make_report(read_runs(paths)).sections
    return section


def titled(section, title):
    blocks = [*section.blocks, *section.more]
    return [block for block in blocks if isinstance(block, Table) and block.title == title]


@pytest.mark.parametrize(("task", "has"), [("cora_demo_order", True), ("cora_demo_plus", False)])
def test_all_equal_by_category_is_for_answers_that_can_be_equal(tmp_path, task, has):
    """In MCQA+ the right option changes: in some variants it is "None of the above"."""
    write(tmp_path, knows, task, {"categories": ["astronomy", "biology"]})
    (table,) = titled(only_section(tmp_path), "By category")
    assert ("all_equal" in table.columns) == has


def test_the_cheap_mcqa_plus_has_no_ranges(tmp_path):
    write(tmp_path, varied, "cora_demo_plus", {"variants": 1})
    section = only_section(tmp_path)
    (scores,) = titled(section, "All scores")
    names = ["invalid", "followed", "acc", "mcqa_plus_sampled", "questions", "answers"]
    assert [row[0] for row in scores.rows] == names
    assert titled(section, "By category") == []


def questions_of(folder, choices):
    """Write a question for each text; its letters are the options, and the first one is right."""
    rows = [{"id": str(n), "question": f"Q{n}?", "choices": list(own), "answer": 0} for n, own in enumerate(choices)]
    return put(folder / "mine.jsonl", rows)


def test_a_line_for_all_models_needs_one_even_share(tmp_path):
    def only_four(doc):
        return "" if len(doc["printed"]) == 5 else knows(doc)

    source = questions_of(tmp_path, ["pqrs", "pqrs", "pqrst", "pqrst"])
    options = {"data_files": str(source), "orders": "cyclic"}
    one = write(tmp_path / "1", only_four, "cora_local_order", options, "a/one")
    other = write(tmp_path / "2", knows, "cora_local_order", options, "a/other")
    assert picks_by_letter(read_runs([one.folder, other.folder])).reference == ()
    alone = picks_by_letter(read_runs([other.folder]))
    # 8 picks of four letters and 10 of five: A has 2 + 2 of 18, E 2.
    assert alone.reference == pytest.approx([4 / 18] * 4 + [2 / 18])
    assert "without a letter preference picks each letter at the even share" in alone.note
    assert "needs all answers and ten questions per letter" in alone.note


def test_even_shares_are_not_expected_with_swapped_orders(tmp_path):
    """The page shows the test instead of a line."""
    options = {"data_files": str(questions_of(tmp_path, ["pqr"] * 30))}
    chart = picks_by_letter(
        [the_run(write(tmp_path / "1", lambda doc: "The best answer is C.", "cora_local_order", options).folder)]
    )
    assert chart.reference == ()
    assert "a wrong option that the model prefers raises the share of its letter" in chart.note
    # The right option is picked at C only: d = (-1/3, -1/3, 2/3) 30 times, T = 2 * 30^2 (6/9) / (30 * 6/9) = 60.
    assert "position_chi_square is 60.0 (p = 0.0005; Cramér's V 1.000" in chart.note


def test_invalid_answers_of_counted_answers_only(tmp_path):
    """Repeated answers to a variant and incomplete questions do not appear in the table."""
    written = write(tmp_path, knows, "cora_demo_order", {"questions": 3})
    lines = lines_of(written.samples)
    again, cut = ({**line, "filtered_resps": [""]} for line in (lines[0], lines[-1]))
    put(written.samples, [*lines[:-2], cut, again])  # a variant of the last question is missing
    assert titled(only_section(tmp_path), "Invalid answers") == []


def test_many_invalid_answers_give_a_warning(tmp_path):
    write(tmp_path, lambda doc: "" if doc["ordinal"] else knows(doc), "cora_demo_order", {"questions": 5})
    (_, note), (_, followed) = only_section(tmp_path).notes
    assert tells(note, "80% of the answers are invalid", "empty", "20")
    assert tells(followed, "fewer than 90% of the responses follow the format", "--reader strict", "--reader flexible")


def test_incomplete_questions_are_not_sampled_variants(tmp_path):
    written = write(tmp_path, varied, "cora_demo_plus", {"questions": 2})
    put(written.samples, lines_of(written.samples)[:3])
    run = the_run(tmp_path)
    assert "mcqa_plus" in run.estimates
    assert not any("are not shown" in told for told in run.warnings)


def test_no_number_is_printed_as_minus_zero():
    assert Number(0.2, signed=True, ends=(-1e-9, 0.5)).interval == "+0.000 to +0.500"
    assert str(Number(-1e-9, signed=True)) == "+0.000"
    assert str(Number.of(share_of(np.array([True] * 10_000)))) == "1.000 ± 0.000"
