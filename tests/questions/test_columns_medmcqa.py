from __future__ import annotations

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import UnusableQuestion
from tests.support.rows import question_of

ROW = {
    "id": "e9ad821a",
    "question": "Which of these is frozen water?",
    "opa": "Steam",
    "opb": "1",
    "opc": "None",
    "opd": "Ice",
    "cop": 3,
    "subject_name": "Physiology",
}


def test_a_row_of_the_hub() -> None:
    question = question_of("medmcqa", ROW, "validation-7")
    assert (question.id, question.answer, question.category) == ("e9ad821a", 3, "Physiology")
    assert question.choices == ("Steam", "1", "None", "Ice")


def test_without_subject_and_id() -> None:
    question = question_of("medmcqa", {**ROW, "id": "", "subject_name": None}, "validation-7")
    assert (question.id, question.category) == ("validation-7", "")


def test_the_test_split_has_no_answers() -> None:
    with pytest.raises(UnusableQuestion, match="an answer outside the options: -1"):
        question_of("medmcqa", {**ROW, "cop": -1}, "")


@pytest.mark.parametrize("cop", [4, "4"])
def test_a_file_that_counts_from_1_is_refused_as_a_whole(cop: object) -> None:
    with pytest.raises(UserError, match=r"medmcqa: .* count from 1"):
        question_of("medmcqa", {**ROW, "cop": cop}, "")
