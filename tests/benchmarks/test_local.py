from __future__ import annotations

import pytest

from lm_eval_cora.benchmarks.local import answer_index, to_question
from lm_eval_cora.question import UnusableQuestion

ROW = {"question": "2 + 2?", "choices": ["3", "4", "22"], "answer": 1}


def test_row() -> None:
    question = to_question({**ROW, "id": 9, "category": "sums", "level": "unused"}, "row-0")
    assert (question.id, question.category, question.answer) == ("9", "sums", 1)


def test_id_and_category_may_be_missing() -> None:
    assert to_question(ROW, "row-0").id == "row-0"
    assert to_question({**ROW, "id": None, "category": ""}, "row-0").category == ""


def test_numbers_become_text_and_a_csv_cell_holds_a_json_list() -> None:
    assert to_question({**ROW, "choices": [3, 4, 2.5]}, "r").choices == ("3", "4", "2.5")
    assert to_question({**ROW, "choices": '["3", "4"]'}, "r").choices == ("3", "4")


@pytest.mark.parametrize(
    ("answer", "choices", "index"),
    [
        (0, ["Ice", "Fog"], 0),
        ("B", ["Ice", "Fog"], 1),
        ("b", ["Ice", "Fog"], 1),
        (" Fog ", ["Ice", "Fog"], 1),
        ("1", ["Ice", "Fog"], 1),
        ("A", ["A", "B"], 0),
        ("4", ["3", "4"], 1),
        ("1", ["0", "1"], 1),
        (2, ["0", "1", "2"], 2),
        (4, ["3", "4"], 1),
    ],
)
def test_what_an_answer_means(answer: object, choices: list[str], index: int) -> None:
    assert answer_index(answer, choices) == index


@pytest.mark.parametrize(
    ("answer", "choices", "message"),
    [
        (2, ["Ice", "Fog"], "2 is no index from 0 to 1, no letter and no text of the 2 options"),
        (-1, ["Ice", "Fog"], "-1 is no index"),
        ("C", ["Ice", "Fog"], "'C' is no index"),
        ("", ["Ice", "Fog"], "'' is no index"),
        (None, ["Ice", "Fog"], "None is no index"),
        (True, ["Ice", "Fog"], "True is no index"),
        (1.0, ["Ice", "Fog"], "1.0 is no index"),
        ("Ice", ["Ice", "Ice"], "an option equal to the right one"),
        ("A", ["B", "A"], "an answer with two meanings: 'A' is a letter and the text of another option"),
        (
            "1",
            ["1", "2"],
            "an answer with two meanings: '1' is an index and the text of another option; give the letter",
        ),
        (
            2,
            ["1", "2", "3"],
            "an answer with two meanings: 2 is an index and the text of another option; give the letter",
        ),
        ("1" * 5000, ["Ice", "Fog"], "is no index from 0 to 1"),
        ("²", ["Ice", "Fog"], "'²' is no index"),
    ],
)
def test_an_answer_that_is_none_or_two(answer: object, choices: list[str], message: str) -> None:
    with pytest.raises(UnusableQuestion) as error:
        answer_index(answer, choices)
    assert message in str(error.value)


@pytest.mark.parametrize("choices", [None, 5, "Ice, Fog", '{"A": "Ice"}', {"A": "Ice"}])
def test_choices_that_are_no_list(choices: object) -> None:
    with pytest.raises(UnusableQuestion, match="options that are no list"):
        to_question({**ROW, "choices": choices}, "r")


@pytest.mark.parametrize("option", [None, ["Ice"], True, {"a": "Ice"}, float("nan"), float("inf")])
def test_an_option_that_is_not_text(option: object) -> None:
    with pytest.raises(UnusableQuestion, match="an option that is not text: it is "):
        to_question({"question": "Which?", "choices": ["Ice", option], "answer": "A"}, "r")


def test_no_options() -> None:
    with pytest.raises(UnusableQuestion, match="no options"):
        to_question({"question": "Which?", "choices": [], "answer": "A"}, "r")
