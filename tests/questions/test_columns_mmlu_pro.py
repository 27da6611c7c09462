from __future__ import annotations

import pytest

from lm_eval_cora.questions.question import LETTERS, UnusableQuestion
from tests.support.rows import question_of

ROW = {
    "question_id": 0,
    "question": "Which of these is frozen water?",
    "options": ["Steam", "Fog", "Ice"],
    "answer": "C",
    "answer_index": 2,
    "category": "physics",
}


def test_a_row_of_the_hub() -> None:
    question = question_of("mmlu_pro", ROW, "test-7")
    assert (question.id, question.answer, question.category) == ("0", 2, "physics")


def test_ten_options() -> None:
    options = [f"option {n}" for n in range(10)]
    for index in range(10):
        row = {**ROW, "options": options, "answer": LETTERS[index], "answer_index": index}
        assert question_of("mmlu_pro", row, "").answer == index


@pytest.mark.parametrize(("letter", "index"), [("B", 2), ("C", 0)])
def test_a_letter_that_contradicts_the_index(letter: str, index: int) -> None:
    with pytest.raises(UnusableQuestion, match="two answers that contradict each other"):
        question_of("mmlu_pro", {**ROW, "answer": letter, "answer_index": index}, "")


def test_a_letter_outside_the_options() -> None:
    with pytest.raises(UnusableQuestion, match=r"two answers that contradict each other: .*'D'"):
        question_of("mmlu_pro", {**ROW, "answer": "D", "answer_index": 2}, "")
