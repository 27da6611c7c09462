from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark, declared
from lm_eval_cora.questions.loading import collect_questions, count_left_out
from lm_eval_cora.questions.question import LocatedRow, UnusableQuestion
from tests.support.messages import tells
from tests.support.rows import LOCAL

PUBLIC = declared({"open": True}, {"hub": ("somebody/public",), "split": "test"})


def rows(*changes: dict[str, Any]) -> list[LocatedRow]:
    usable = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": 0}
    return [(f"line {number}", {**usable, **change}) for number, change in enumerate(changes, start=1)]


def test_ids_are_stable() -> None:
    questions, _, _ = collect_questions(PUBLIC, rows({}, {"question": ""}, {}, {"id": 5}), id_prefix="test")
    assert [question.id for question in questions] == ["test-0", "test-2", "5"]


def test_a_public_benchmark_leaves_out_and_counts() -> None:
    defects = [{"question": " "}, {"choices": []}, {"answer": 7}, {"choices": ["Ice", "Ice"]}, {"question": ""}]
    questions, left_out, _ = collect_questions(PUBLIC, rows({}, *defects), id_prefix="test")
    assert len(questions) == 1
    parts = ("2 with", "stem (line 2, line 6)", "1 with", "(line 3)", "1 with", "(line 4)", "1 with", "(line 5)")
    assert tells(count_left_out(left_out), *parts)


def test_a_users_file_is_refused_with_each_row() -> None:
    with pytest.raises(UserError) as error:
        collect_questions(LOCAL, rows({}, {"question": " "}, {}, {"answer": 7}), id_prefix="row")
    first, second, third, fourth = str(error.value).splitlines()
    assert tells(first, "local: ", "2 of 4 rows")
    assert tells(second, "line 2: ", "stem", "' '")
    assert tells(third, "line 4: ", "answer", "7", "from 0 to 1", "2 options")
    assert tells(fourth, "'keep'")


@pytest.mark.parametrize(
    ("source", "located", "message"),
    [
        (LOCAL, rows(*[{"answer": 7}] * 20), r"20 of 20 rows(.|\n)* and 15 more"),
        (LOCAL, rows({"id": 7}, {"id": "7"}), r"line 2: .*'7'.* line 1"),  # they would count as one question
        (PUBLIC, [("line 1", {"question": "?", "options": []})], "public: line 1: .*answer.*: question, options"),
        (PUBLIC, [], "public: there are no rows"),
        (PUBLIC, rows({"answer": 7}), "public: 1 of 1 rows"),
    ],
)
def test_rows_without_questions(source: Benchmark, located: list[LocatedRow], message: str) -> None:
    with pytest.raises(UserError, match=message):
        collect_questions(source, located, id_prefix="row")


def test_many_kinds_of_defects_are_not_all_printed() -> None:
    counts = count_left_out((f"row {number}", UnusableQuestion(f"kind {number}")) for number in range(6000))
    assert len(counts) < 1000
    assert counts.endswith("; 5990 more kinds")
