"""Yes or no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers.yes_no import YES_NO

YES, NO, NEITHER = (4,), (), None


def strict(response):
    return YES_NO.read(response, {"printed": [4]}, "strict")


def flexible(response, proposed):
    return YES_NO.read(response, {"printed": [4], "choices": [proposed]}, "flexible")


@pytest.mark.parametrize(
    "response",
    [
        "{}",
        "{}.",
        "{}, because no or yes",
        "**{}**",
        "__{}__",
        "Answer: {}",
        "Answer：{}",
        "**Answer:** {}",
        "Answer: **{}**",
    ],
)
@pytest.mark.parametrize(("word", "selected"), [("yes", YES), ("no", NO)])
def test_the_first_word_decides(response, word, selected):
    for written in (word, word.upper(), word.capitalize()):
        answer = strict(response.format(written))
        assert (answer.selected, answer.picked, answer.reason) == (selected, None, None)


def test_a_verdict_is_settled_once_another_line_has_begun():
    assert flexible("Yes\n\nExplanation", "Fog").settled
    assert not flexible("Yes, because", "Fog").settled


@given(st.sampled_from(["yes", "no"]), st.text(max_size=40))
def test_the_flexible_reader_does_not_contradict_the_strict_one(word, rest):
    response = f"{word}\n\n{rest}"
    assert strict(response).selected == (YES if word == "yes" else NO)
    assert flexible(response, "Fog").selected in (strict(response).selected, None)
