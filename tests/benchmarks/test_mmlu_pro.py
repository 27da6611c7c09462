from __future__ import annotations

import pytest

from lm_eval_cora.benchmarks.mmlu_pro import to_question
from lm_eval_cora.question import LETTERS, UnusableQuestion

ROW = {
    "question_id": 0,
    "question": "Which of these is frozen water?",
    "options": ["Steam", "Fog", "Ice"],
    "answer": "C",
    "answer_index": 2,
    "category": "physics",
}


def test_a_row_of_the_hub() -> None:
    question = to_question(ROW, "test-7")
    assert (question.id, question.answer, question.category) == ("0", 2, "physics")


def test_ten_options() -> None:
    options = [f"option {n}" for n in range(10)]
    for index in range(10):
        row = {**ROW, "options": options, "answer": LETTERS[index], "answer_index": index}
        assert to_question(row, "").answer == index


@pytest.mark.parametrize(("letter", "index"), [("B", 2), ("C", 0)])
def test_a_letter_that_contradicts_the_index(letter: str, index: int) -> None:
    with pytest.raises(UnusableQuestion, match=r"letter .* index: answer .*, answer_index"):
        to_question({**ROW, "answer": letter, "answer_index": index}, "")


def test_a_letter_outside_the_options() -> None:
    with pytest.raises(UnusableQuestion, match="an answer outside the options: answer 'D'"):
        to_question({**ROW, "answer": "D", "answer_index": 2}, "")
