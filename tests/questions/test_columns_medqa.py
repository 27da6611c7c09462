from __future__ import annotations

import json

import pytest

from lm_eval_cora.questions.question import UnusableQuestion
from tests.support.rows import question_of

ROW = {
    "meta_info": "step1",
    "question": "Which vitamin is missing in scurvy?",
    "answer_idx": "C",
    "answer": "Vitamin C",
    "options": [{"key": key, "value": f"Vitamin {key}"} for key in "ABCDE"],
}


def test_a_row_of_the_hub() -> None:
    question = question_of("medqa", ROW, "test-7")
    assert (question.id, question.answer, question.category) == ("test-7", 2, "step1")
    assert question.choices == ("Vitamin A", "Vitamin B", "Vitamin C", "Vitamin D", "Vitamin E")


def test_a_row_of_the_authors_files() -> None:
    options = {key: f"Vitamin {key}" for key in "ABCDE"}
    assert question_of("medqa", {**ROW, "options": options}, "7") == question_of("medqa", ROW, "7")
    # The same options as JSON in a csv file, without the text of the answer.
    assert question_of("medqa", {**ROW, "options": json.dumps(options), "answer": None}, "7") == question_of(
        "medqa", ROW, "7"
    )


def test_a_letter_that_no_option_has() -> None:
    with pytest.raises(UnusableQuestion, match=r"'F' .*A, B, C, D, E"):
        question_of("medqa", {**ROW, "answer_idx": "F"}, "test-7")


def test_a_key_that_names_another_text_than_the_answer() -> None:
    with pytest.raises(UnusableQuestion, match=r"'B' is 'Vitamin B', .* 'Vitamin C'"):
        question_of("medqa", {**ROW, "answer_idx": "B"}, "test-7")


@pytest.mark.parametrize("options", [None, "A B", [{"key": "A"}]])
def test_options_of_another_shape(options: object) -> None:
    with pytest.raises(UnusableQuestion, match="options "):
        question_of("medqa", {**ROW, "options": options}, "test-7")
