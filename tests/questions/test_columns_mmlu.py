from __future__ import annotations

import pytest

from lm_eval_cora.discovery.task_files import benchmark
from lm_eval_cora.questions.loading import collect_questions, count_left_out
from lm_eval_cora.questions.question import UnusableQuestion
from tests.support.rows import question_of

ROW = {
    "question": "Which of these is frozen water?",
    "subject": "conceptual_physics",
    "choices": ["Steam", "Ice", "Fog", "Dew"],
    "answer": 1,
}


def test_a_row_of_the_hub() -> None:
    question = question_of("mmlu", ROW, "test-7")
    assert (question.id, question.answer, question.category) == ("test-7", 1, "conceptual_physics")


def test_texts_that_read_like_no_text() -> None:
    choices = ("None", "N/A", "1", "0")
    assert question_of("mmlu", {**ROW, "choices": list(choices)}, "test-0").choices == choices
    # The same options as JSON in a csv file.
    assert (
        question_of("mmlu", {**ROW, "choices": '["None", "N/A", "1", "0"]', "answer": "1"}, "test-0").choices == choices
    )


def test_two_equal_distractors_are_one_option_and_an_option_equal_to_the_right_one_drops_the_question() -> None:
    twins = {**ROW, "choices": ["Steam", "Ice", "Steam", "Dew"]}
    assert question_of("mmlu", twins, "test-0").identities == (0, 1, 0, 3)
    ambiguous = {**ROW, "choices": ["Steam", "Ice", "Ice", "Dew"]}
    questions, left_out, _ = collect_questions(
        benchmark("mmlu"), [("row 0", twins), ("row 1", ambiguous), ("row 2", ROW)], id_prefix="test"
    )
    # The ids are row numbers, which rows that are left out do not change.
    assert [question.id for question in questions] == ["test-0", "test-2"]
    assert count_left_out(left_out) == "1 with an option equal to the right one (row 1)"


def test_an_answer_outside_the_options() -> None:
    with pytest.raises(UnusableQuestion, match=r"an answer outside the options: 3.5 "):
        question_of("mmlu", {**ROW, "answer": 3.5}, "test-0")
