"""The value of JSON, of a printed Python dict or of a tool call that is the answer."""

import pytest

from lm_eval_cora.answers.records import read_answer

OPTIONS = ("Ice", "Fog", "Dew")
KEYS = ("answer", "final_answer", "Correct Answer", "correctAnswer", "selected_option", "answer_choice", "choice")
OTHER_KEYS = ("letter", "prediction", "result", "response", "output")


@pytest.mark.parametrize("key", [*KEYS, *OTHER_KEYS])
@pytest.mark.parametrize(
    "layout", ['{{"{0}": "B"}}', '{{"why": "A is gas.", "{0}": "B"}}', "{{'{0}': 'B', 'C': 'no'}}"]
)
def test_the_key_of_an_answer_decides(key, layout):
    text = layout.format(key)
    answer = read_answer(text, OPTIONS)
    assert (answer.position, answer.rule) == (1, "a value of JSON")
    assert text[slice(*answer.span or ())] == "B"


@pytest.mark.parametrize(
    "text",
    [
        *('{"A": false, "B": true, "C": false}', '{"name": "reply", "arguments": {"choice": "B"}}'),
        *('submit(answer="B")', '<function=reply>{"x": "B"}</function>', '{"answer": ["B"]}'),
        '{"answer": "A", "thought": "no"} Sorry. {"answer": "B"}',
    ],
)
def test_other_layouts(text):
    assert (read_answer(text, OPTIONS).position, read_answer(text, OPTIONS).rule) == (1, "a value of JSON")


@pytest.mark.parametrize(
    "text", ["B", "The answer is B.", '{"explanation": "A is gas."}', '"' * 1000, '{"a": ' * 100_000]
)
def test_without_a_key_of_an_answer(text):
    assert read_answer(text, OPTIONS).rule != "a value of JSON"
