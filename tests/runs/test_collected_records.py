from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.runs.collected import Collected, read_answers
from tests.support.answers_files import answers


def records_of(found: Collected) -> list[Record]:
    return [record for question in found.places for record in found.records(question)]


def test_records_are_in_the_order_of_the_table() -> None:
    found = read_answers(answers()[::-1])
    records, table = records_of(found), found.table
    assert dict(zip(table.question_ids, table.categories, strict=True)) == {f"q{n}": "ab"[n % 2] for n in range(20)}
    assert [record.question_id for record in records][::4] == list(table.question_ids)
    assert [record.correct for record in records] == table.correct.tolist()
    assert [record.invalid for record in records] == table.invalid.tolist()
    assert [-1 if record.position is None else record.position for record in records] == table.position.tolist()
    assert len(records) == len(answers())


def test_many_options_are_written_answers() -> None:
    printed = [f"option {number}" for number in range(30)]
    row = {"question": "q", "variant": 0, "picked": printed[29], "answer": printed[29], "printed": printed}
    (record,) = records_of(read_answers([row]))
    assert (record.correct, record.written, record.printed) == (True, "option 29", ())


def test_a_right_pick_without_an_answer_is_the_right_option() -> None:
    rows = [
        {"question": "q", "variant": n, "picked": "ab"[n], "correct": n == 1, "printed": ["a", "b"]} for n in range(2)
    ]
    assert [record.correct for record in records_of(read_answers(rows))] == [False, True]


@pytest.mark.parametrize(
    ("orders", "expected"),
    [(["ab", "ba"], True), (["abc", "bca", "cab"], True), (["ab", "ab"], False), (["ab", "ba", "ab"], False)],
)
def test_balanced_orders(orders: list[str], expected: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"question": "q", "variant": n, "picked": "a", "answer": "a", "printed": list(order)}
        for n, order in enumerate(orders)
    ]
    assert read_answers(rows).are_balanced() == expected
