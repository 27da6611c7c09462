"""The value of JSON that is the answer."""

from __future__ import annotations

import pytest

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.letter import LETTER

KEYS = ("answer", "final_answer", "Correct Answer", "correctAnswer", "selected_option", "answer_choice", "choice")
OTHER_KEYS = ("letter", "prediction", "result", "response", "output")


def read(text: str) -> Answer:
    return LETTER.flexible(text, {"printed": (0, 1, 2), "choices": ("Ice", "Fog", "Dew")})


@pytest.mark.parametrize("key", [*KEYS, "choice", "prediction", "result", "response", "output"])
@pytest.mark.parametrize(
    "layout", ['{{"{0}": "B"}}', '{{"why": "A is gas.", "{0}": "B"}}', "{{'{0}': 'B', 'C': 'no'}}"]
)
def test_the_key_of_an_answer_decides(key: str, layout: str) -> None:
    text = layout.format(key)
    answer = read(text)
    assert (answer.position, answer.rule) == (1, "a value of JSON")
    assert text[slice(*answer.span or ())] == "B"


@pytest.mark.parametrize(
    "text",
    [
        '{"A": false, "B": true, "C": false}',
        '{"name": "reply", "arguments": {"choice": "B"}}',
        'submit(answer="B")',
        '<function=reply>{"x": "B"}</function>',
        '{"answer": ["B"]}',
        '{"answer": "A", "thought": "no"} Sorry. {"answer": "B"}',
    ],
)
def test_other_layouts(text: str) -> None:
    assert (read(text).position, read(text).rule) == (1, "a value of JSON")


def test_several_values() -> None:
    assert read('{"answer": ["A", "B"]}').reason is Reason.SEVERAL


@pytest.mark.parametrize(
    "text", ["B", "The answer is B.", '{"explanation": "A is gas."}', '"' * 1000, '{"a": ' * 100_000]
)
def test_without_a_key_of_an_answer(text: str) -> None:
    assert read(text).rule != "a value of JSON"
