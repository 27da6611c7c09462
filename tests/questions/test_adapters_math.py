from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.adapters import MATH, boxes, math_question, subject_of
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import OpenQuestion, UnusableQuestion


def row(solution: Any, problem: Any = "What is $1 + 1$?", **more: Any) -> dict[str, Any]:
    return {"problem": problem, "level": "Level 2", "type": "Intermediate Algebra", "solution": solution, **more}


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("", []),
        ("no box", []),
        (r"$\boxed{-2}$ or $\boxed{1}$", ["-2", "1"]),
        (r"\fbox{1} \boxed 2", ["1", "2"]),
        (r"\boxed{\boxed{1} and 2} \boxed{3}", [r"\boxed{1} and 2", "3"]),
        (r"\boxed{1} \boxed{2", ["1"]),
        (r"\boxed{} \boxed{3}", ["", "3"]),
    ],
)
def test_all_boxes(text: str, contents: list[str]) -> None:
    assert boxes(text) == contents


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"It is $\boxed{2}$.", "2"),
        (r"\[\boxed{\frac{1}{2}}.\]", r"\frac{1}{2}"),
        (r"\[\boxed{\left\{1, 2\right\}}\]", r"\left\{1, 2\right\}"),
        (r"The day is $\boxed{\text{Friday}}$.", r"\text{Friday}"),
        # Several boxes are a list of answers without repeats.
        (r"So $x$ is $\boxed{3}$ or $\boxed{\frac{2}{5}}$.", r"3, \frac{2}{5}"),
        (r"Either way $\boxed{3}$; again $\boxed{3}$.", "3"),
        # Other spellings that TeX allows and some solutions use.
        (r"It is $\boxed 2$.", "2"),
        (r"It is \fbox{2}.", "2"),
    ],
)
def test_the_answer_is_what_is_boxed(solution: str, answer: str) -> None:
    assert math_question(row(solution), "algebra-test-0") == OpenQuestion(
        "algebra-test-0", "What is $1 + 1$?", answer, "Level 2"
    )


def test_a_problem_whose_solution_boxes_more_than_its_answer() -> None:
    begins = "Find the coordinates of one of the foci of the hyperbola \\[x^2 - 10x = 4y^2 - 5.\\] (...)"
    solution = r"They are $\boxed{(0,0)}$ and $\boxed{(10,0)}$."
    assert math_question(row(solution, begins), "").answer == "(0,0)"
    # A solution with one box is not corrected.
    assert math_question(row(r"$\boxed{(10,0)}$", begins), "").answer == "(10,0)"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row("It is 2."), "a solution without a box"),
        (row(r"It is $\boxed{}$."), "a solution without a box"),
        (row(r"It is $\boxed{2"), "a solution without a box"),
        (row(None), "a problem or solution that is not text"),
        (row(r"$\boxed{2}$", None), "a problem or solution that is not text"),
        (row(r"$\boxed{2}$", " "), "empty stem"),
        (row("$\\boxed{\ud83d}$"), "text that is not valid Unicode"),
    ],
)
def test_a_row_that_cannot_be_asked(bad: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableQuestion) as raised:
        math_question(bad, "q")
    assert raised.value.reason == reason


def test_subjects_are_called_as_on_the_hub() -> None:
    names = ["Algebra", "Counting & Probability", "Number Theory"]
    assert [subject_of("x.jsonl", {"type": name}) for name in names] == [
        *("algebra", "counting_and_probability", "number_theory")
    ]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(UserError, match="math: row 1: no column 'level'"):
        collect_questions(MATH, [("row 1", {"problem": "?", "type": "Algebra", "solution": ""})], id_prefix="test")
