from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lm_eval_cora.benchmarks import BenchmarkError, collect_questions, count_left_out
from lm_eval_cora.benchmarks.local import LOCAL

PUBLIC = replace(LOCAL, name="public", strict=False)


def rows(*changes: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    usable = {"question": "Which?", "choices": ["Ice", "Fog"], "answer": 0}
    return [(f"line {number}", {**usable, **change}) for number, change in enumerate(changes, start=1)]


def test_ids_are_stable() -> None:
    questions, _ = collect_questions(PUBLIC, rows({}, {"question": ""}, {}, {"id": 5}), id_prefix="test")
    assert [question.id for question in questions] == ["test-0", "test-2", "5"]


def test_a_public_benchmark_leaves_out_and_counts() -> None:
    defects = [{"question": " "}, {"choices": []}, {"answer": 7}, {"choices": ["Ice", "Ice"]}, {"question": ""}]
    questions, left_out = collect_questions(PUBLIC, rows({}, *defects), id_prefix="test")
    assert len(questions) == 1
    assert count_left_out(left_out) == (
        "2 with empty stem (line 2, line 6); 1 with no options (line 3); "
        "1 with an answer outside the options (line 4); 1 with an option equal to the right one (line 5)"
    )


def test_a_users_file_is_refused_with_each_row() -> None:
    with pytest.raises(BenchmarkError) as error:
        collect_questions(LOCAL, rows({}, {"question": " "}, {}, {"answer": 7}), id_prefix="row")
    assert str(error.value) == (
        "local: 2 of 4 rows cannot be asked:\n"
        "  line 2: empty stem: the question reads ' '\n"
        "  line 4: an answer outside the options: 7 is no index from 0 to 1, no letter and no text of the 2 options"
    )


def test_many_bad_rows_are_not_all_printed() -> None:
    with pytest.raises(BenchmarkError, match=r"20 of 20 rows(.|\n)* and 15 more"):
        collect_questions(LOCAL, rows(*[{"answer": 7}] * 20), id_prefix="row")


def test_two_rows_with_one_id() -> None:
    # 7 and "7" would be regrouped as one question.
    with pytest.raises(BenchmarkError, match="line 2: an id that another row has: '7', as line 1"):
        collect_questions(LOCAL, rows({"id": 7}, {"id": "7"}), id_prefix="row")


def test_a_missing_column() -> None:
    with pytest.raises(BenchmarkError) as error:
        collect_questions(PUBLIC, [("line 1", {"question": "Which?", "options": []})], id_prefix="row")
    assert str(error.value) == (
        "public: line 1 has no column 'choices', 'answer'; expected question, choices, answer, got question, options"
    )


def test_nothing_to_ask() -> None:
    with pytest.raises(BenchmarkError, match="public: there are no rows"):
        collect_questions(PUBLIC, [], id_prefix="row")
    with pytest.raises(BenchmarkError, match="public: 1 of 1 rows cannot be asked"):
        collect_questions(PUBLIC, rows({"answer": 7}), id_prefix="row")
