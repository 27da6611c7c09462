from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.columns import Field, find_column
from lm_eval_cora.questions.question import MissingColumn, UnusableQuestion
from tests.support.messages import tells

ROW: dict[str, Any] = {
    "Question": "Frozen?",
    "choices": {"text": ["Ice", "Fog"], "label": ["A", "B"]},
    "pairs": [{"key": "A", "value": "Ice"}, {"key": "B", "value": "Fog"}],
    "cell": '{"text": ["Ice", "Fog"]}',
    "a.b": "dotted",
    "Correct Answer": "Ice",
    "index": 1,
    "nothing": None,
    "text": "{{ 7 * 7 }}",
}


DEEP = f"{{{{ {'(' * 500}1{')' * 500} }}}}"


def value(text: str, row: dict[str, Any] = ROW) -> Any:
    return Field(text).getter(list(row))(row)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Question", "Frozen?"),
        ("question", "Frozen?"),
        (" QUESTION ", "Frozen?"),
        ("correct answer", "Ice"),
        ("choices.text", ["Ice", "Fog"]),
        ("Choices.text", ["Ice", "Fog"]),
        ("choices.text.1", "Fog"),
        ("pairs.value", ["Ice", "Fog"]),
        ("cell.text", ["Ice", "Fog"]),
        ("a.b", "dotted"),
        ("{{ Question }}", "Frozen?"),
        ("Q: {{ Question }}", "Q: Frozen?"),
        ("{{ index }}", 1),
        ("{{ index - 1 }}", 0),
        ("{{ choices.text }}", ["Ice", "Fog"]),
        ("{{ row['Correct Answer'] }}", "Ice"),
        ("{{ missing | default('') }}", ""),
        ("{{ text }}", "{{ 7 * 7 }}"),
        ("{% for one in choices.text %}{{ one }};{% endfor %}", "Ice;Fog;"),
        ("{{ Question }}{{ index }}", "Frozen?1"),
        ("{{- index -}}", 1),
        ("{{- Question }} ", "Frozen?"),
        ("{{ nothing }}", None),
    ],
)
def test_where_a_value_is(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("text", ["answer", "answer.text", "question.", ".", "choices2.text"])
def test_a_column_that_is_missing(text: str) -> None:
    with pytest.raises(MissingColumn, match=rf"'{text}'") if text != "question." else pytest.raises(UnusableQuestion):
        value(text)


def test_a_similar_column_is_suggested() -> None:
    with pytest.raises(MissingColumn, match="Did you mean 'Question'"):
        value("questoin")


def test_a_row_without_a_column_that_the_first_row_has() -> None:
    read = Field("question").getter(["Question"])
    with pytest.raises(MissingColumn, match="'Question'"):
        read({"other": 1})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("choices.texts", "no choices.texts"),
        ("choices.text.7", "no choices.text.7"),
        ("Question.text", "no Question.text"),
        ("index.text", "no index.text"),
        ("Question.0", "no Question.0"),  # not the first letter
        ("Q: {{ nothing }}", "a template that fails: .* missing value"),
        ("{{ choices.text.append(1) }}", "unsafe"),
        ("{{ answer }}", "'answer' is undefined"),
        ("Q: {{ answer }}", "'answer' is undefined"),
        ("{{ index / 0 }}", "ZeroDivisionError"),
        ("{{ choices.text[9] }}", "no element|undefined"),
        ("{{ Question.__class__.__mro__ }}", "__class__|unsafe|undefined"),
    ],
)
def test_a_row_that_lacks_the_rest(text: str, message: str) -> None:
    with pytest.raises(UnusableQuestion, match=message):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ question",
        "{{ question | nofilter }}",
        "{% if %}",
        "{{ }}{{",
        "{{ [1] | random }}",
        DEEP,
        "{{ 10 ** 5000 }}",
    ],
)
def test_a_template_that_cannot_be_compiled_is_an_error_at_once(text: str) -> None:
    with pytest.raises(UserError) as error:
        Field(text)
    assert tells(str(error.value), "template", text.strip()[:8])


def test_columns_that_differ_in_case_alone_are_not_guessed_at() -> None:
    assert find_column("answer", ["Answer", "ANSWER"]) is None
    assert find_column("ANSWER", ["Answer", "ANSWER"]) == "ANSWER"
