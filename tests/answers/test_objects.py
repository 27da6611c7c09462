"""The value of JSON that is the answer."""

from __future__ import annotations

import pytest

from lm_eval_cora.answers.objects import values

KEYS = [
    "answer",
    "final_answer",
    "Correct Answer",
    "correctAnswer",
    "selected_option",
    "answer_choice",
    "choice",
    "letter",
]


@pytest.mark.parametrize("key", [*KEYS, "prediction", "result", "response", "output"])
@pytest.mark.parametrize(
    "layout", ['{{"{0}": "B"}}', '{{"why": "A is gas.", "{0}": "B"}}', "{{'{0}': 'B', 'C': 'no'}}"]
)
def test_the_key_of_an_answer_decides(key: str, layout: str) -> None:
    text = layout.format(key)
    ((value, start, end),) = values(text) or []
    assert value == text[start:end] == "B"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"A": false, "B": true, "C": false}', "B"),
        ('{"name": "reply", "arguments": {"choice": "B"}}', "B"),
        ('submit(answer="B")', "B"),
        ('<function=reply>{"x": "B"}</function>', "B"),
        ('{"answer": ["B"]}', "B"),
        ('{"answer": "A", "thought": "no"} Sorry. {"answer": "B"}', "B"),
    ],
)
def test_other_layouts(text: str, expected: str) -> None:
    assert [value for value, _, _ in values(text) or []] == [expected]


def test_several_values() -> None:
    assert len(values('{"answer": ["A", "B"]}') or []) == 2


@pytest.mark.parametrize(
    "text", ["", "B", "The answer is B.", '{"explanation": "A is gas."}', '"' * 1000, '{"a": ' * 100_000]
)
def test_without_a_key_of_an_answer(text: str) -> None:
    assert values(text) is None
