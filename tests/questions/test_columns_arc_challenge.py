from __future__ import annotations

import json

import pytest

from lm_eval_cora.questions.question import UnusableQuestion
from tests.support.rows import question_of

ROW = {
    "id": "Mercury_1",
    "question": "Which of these is frozen water?",
    "choices": {"text": ["Steam", "Ice", "Fog", "Dew"], "label": ["A", "B", "C", "D"]},
    "answerKey": "B",
}


def test_a_row_of_the_hub() -> None:
    question = question_of("arc_challenge", ROW, "test-7")
    assert (question.id, question.answer, question.category) == ("Mercury_1", 1, "")
    assert question.choices == ("Steam", "Ice", "Fog", "Dew")


@pytest.mark.parametrize("key", ["3", 3])
def test_labels_that_are_numbers(key: object) -> None:
    # Here "3" is the label of the third option, not index 3.
    choices = {"text": ["Steam", "Fog", "Ice", "Dew", "Rain"], "label": ["1", "2", "3", "4", "5"]}
    assert question_of("arc_challenge", {**ROW, "choices": choices, "answerKey": key}, "").answer == 2


def test_three_options_from_a_csv_file_without_an_id() -> None:
    choices = json.dumps({"text": ["Steam", "Ice", "Fog"], "label": ["A", "B", "C"]})
    question = question_of("arc_challenge", {**ROW, "id": None, "choices": choices}, "test-7")
    assert (question.id, len(question.choices)) == ("test-7", 3)


@pytest.mark.parametrize("key", ["E", "1", None])
def test_a_key_that_no_option_has(key: object) -> None:
    with pytest.raises(UnusableQuestion, match="an answer outside the options: "):
        question_of("arc_challenge", {**ROW, "answerKey": key}, "")


@pytest.mark.parametrize("choices", [None, {"text": "Ice", "label": ["A"]}, "Ice"])
def test_options_of_another_shape(choices: object) -> None:
    with pytest.raises(UnusableQuestion, match="options "):
        question_of("arc_challenge", {**ROW, "choices": choices}, "")


def test_more_labels_than_texts() -> None:
    with pytest.raises(UnusableQuestion, match=r"expected 2 labels, got .*C"):
        question_of("arc_challenge", {**ROW, "choices": {"text": ["Steam", "Ice"], "label": ["A", "B", "C"]}}, "")
