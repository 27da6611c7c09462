from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.runs.answer_rows import read_answers
from lm_eval_cora.runs.answers_file import AnswerRecords
from tests.support.answers_files import answers


def test_records_are_in_the_order_of_the_table() -> None:
    rows = read_answers(answers()[::-1])
    records = AnswerRecords(rows)
    assert [record.question_id for record in records][::4] == list(rows.table.question_ids)
    assert [record.correct for record in records] == rows.table.correct.tolist()
    assert [record.invalid for record in records] == rows.table.invalid.tolist()
    assert [-1 if record.position is None else record.position for record in records] == rows.table.position.tolist()
    assert len(records) == len(answers())
    assert (records[-1], records[1:3]) == (list(records)[-1], list(records)[1:3])


def test_many_options_are_written_answers() -> None:
    printed = [f"option {number}" for number in range(30)]
    row = {"question": "q", "variant": 0, "picked": printed[29], "answer": printed[29], "printed": printed}
    (record,) = AnswerRecords(read_answers([row]))
    assert (record.correct, record.written, record.printed) == (True, "option 29", ())


def test_a_right_pick_without_an_answer_is_the_right_option() -> None:
    rows = [
        {"question": "q", "variant": n, "picked": "ab"[n], "correct": n == 1, "printed": ["a", "b"]} for n in range(2)
    ]
    assert [record.correct for record in AnswerRecords(read_answers(rows))] == [False, True]


@pytest.mark.parametrize(
    ("orders", "expected"),
    [(["ab", "ba"], True), (["abc", "bca", "cab"], True), (["ab", "ab"], False), (["ab", "ba", "ab"], False)],
)
def test_balanced_orders(orders: list[str], expected: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"question": "q", "variant": n, "picked": "a", "answer": "a", "printed": list(order)}
        for n, order in enumerate(orders)
    ]
    assert AnswerRecords(read_answers(rows)).are_balanced() == expected
