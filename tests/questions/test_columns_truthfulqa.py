from __future__ import annotations

from collections import Counter
from math import sqrt

import pytest

from lm_eval_cora.questions.question import UnusableQuestion
from tests.support.rows import question_of

CHOICES = ["Ice", "Steam", "Fog", "Dew"]
ROW = {"question": "What is frozen water?", "mc1_targets": {"choices": CHOICES, "labels": [1, 0, 0, 0]}}


def test_the_order_is_drawn_by_the_id_alone() -> None:
    question = question_of("truthfulqa", ROW, "validation-7")
    assert question == question_of("truthfulqa", {**ROW, "question": "What is frozen water?"}, "validation-7")
    assert sorted(question.choices) == sorted(CHOICES)
    assert question.choices[question.answer] == "Ice"
    # A fixed order, because a different one would change all scores.
    assert question_of("truthfulqa", ROW, "validation-2").choices == ("Dew", "Fog", "Ice", "Steam")


def test_the_right_answer_stands_everywhere_equally_often() -> None:
    # The source lists the right answer first. Without a new order, always picking A would be right.
    places = Counter(question_of("truthfulqa", ROW, f"validation-{number}").answer for number in range(2000))
    # 500 expected each, standard deviation sqrt(2000 * 1/4 * 3/4) = 19.4.
    assert all(abs(places[place] - 500) < 4 * sqrt(2000 * 3 / 16) for place in range(4))


def test_two_and_thirteen_options() -> None:
    for count in (2, 13):
        targets = {"choices": [f"option {n}" for n in range(count)], "labels": [1] + [0] * (count - 1)}
        question = question_of("truthfulqa", {**ROW, "mc1_targets": targets}, "validation-0")
        assert question.choices[question.answer] == "option 0"
        assert len(question.choices) == count


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0]])
def test_labels_without_one_right_answer(labels: list[int]) -> None:
    with pytest.raises(UnusableQuestion, match="an answer outside the options"):
        question_of("truthfulqa", {**ROW, "mc1_targets": {"choices": CHOICES, "labels": labels}}, "")


@pytest.mark.parametrize("targets", [None, "Ice", ["Ice"], {"labels": [1]}])
def test_targets_of_another_shape(targets: object) -> None:
    with pytest.raises(UnusableQuestion, match=r"no mc1_targets.choices"):
        question_of("truthfulqa", {**ROW, "mc1_targets": targets}, "")
