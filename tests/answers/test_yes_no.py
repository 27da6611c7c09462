"""Yes or no."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.yes_no import YES_NO
from tests.support.responses import pairs

YES, NO, NEITHER = (4,), (), None


def strict(response: str) -> Answer:
    return YES_NO.read(response, {"printed": [4]}, "strict")


def flexible(response: str, proposed: str) -> Answer:
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
def test_the_first_word_decides(response: str, word: str, selected: tuple[int, ...]) -> None:
    for written in (word, word.upper(), word.capitalize()):
        answer = strict(response.format(written))
        assert (answer.selected, answer.picked, answer.reason) == (selected, None, None)


FIRST_WORDS = {
    YES: ("The answer is yes",),
    NO: ("The correct answer is no.",),
    NEITHER: (
        "Yesterday",
        "Not right",
        "Nope",
        "True",
        "Correct",
        "I think yes",
        "Sí",
        "yеs",
        "ｙｅｓ",
        "Yes/No",
        "yes or no",
        "Yes or no: no",
        "No and yes",
    ),
}


@pytest.mark.parametrize(("response", "selected"), pairs(FIRST_WORDS))
def test_the_first_word_may_follow_a_label(response: str, selected: tuple[int, ...] | None) -> None:
    answer = strict(response)
    assert (answer.selected, answer.picked) == (selected, None)
    assert answer.reason is (Reason.NO_YES_OR_NO if selected is None else None)


VERDICTS = {
    YES: (
        "Yes",
        "Correct",
        "True.",
        "Answer: yes",
        "Sure! The answer is yes.",
        "So, yes.",
        "The proposed answer is correct.",
        "The proposed answer is indeed right",
        "The proposed answer is the right answer",
        "The proposed answer is true.",
        "Pulmonary embolism is the right answer.",
        "The proposed answer, Pulmonary embolism, is correct.",
        '{"answer": "yes"}',
        "No. Wait, I made a mistake. The proposed answer is correct.",
    ),
    NO: (
        "Yes. It is hard. Therefore, the proposed answer is wrong.",
        "No.",
        "Incorrect",
        "False, it",
        "The answer is: no",
        "Therefore, no.",
        "It isn't right.",
        "The proposed answer is not correct.",
        "The proposed answer is incorrect",
        "The proposed answer is wrong.",
        "The proposed answer is not right",
        f"Yes. {'She wheezes. ' * 20}Wait, I made a mistake. The proposed answer is wrong.",
        "Incorrect. The patient has asthma instead. It is true that dyspnea occurs in both.",
    ),
    NEITHER: (
        "Yes, so it is. But the proposed answer is wrong.",
        "No, the proposed answer is correct.",
        "Asthma is the right answer",
        "Yes or no",
        "To determine if the proposed answer is correct, let's analyze the question.",
        "I doubt that it is correct.",
        "Right ventricular strain is seen",
        "The proposed answer is right-sided heart failure.",
        "The proposed answer is correct only if there is no fever",
        "",
    ),
}


@pytest.mark.parametrize(("response", "selected"), pairs(VERDICTS))
def test_a_verdict_is_found(response: str, selected: tuple[int, ...] | None) -> None:
    assert flexible(response, "Pulmonary embolism").selected == selected


@pytest.mark.parametrize("text", ["Yes", "No", "True", "False"])
def test_a_verdict_is_found_if_the_proposed_answer_is_itself_yes_or_no(text: str) -> None:
    assert flexible("Yes", text).selected == YES
    assert flexible("The answer is no.", text).selected == NO


@pytest.mark.parametrize(
    ("text", "response", "selected", "decided"),
    [
        *(("man", "Yes. The human is wrong.", YES, "Yes"), ("ice", "No. This advice is right.", NO, "No")),
        ("Not", "The proposed answer is not correct.", NO, "The proposed answer is not correct"),
        ("ice", "<think>no</think> I looked. Ice is right.", YES, "Ice is right"),
    ],
)
def test_the_proposed_answer_is_found_as_whole_words(
    text: str, response: str, selected: tuple[int, ...], decided: str
) -> None:
    answer = flexible(response, text)
    assert (answer.selected, answer.reason) == (selected, None)
    assert answer.span is not None
    assert response[slice(*answer.span)] == decided
    assert answer.rule == ("the first word" if decided in ("Yes", "No") else "stated about the proposed answer")


def test_a_verdict_is_settled_once_another_line_has_begun() -> None:
    assert flexible("Yes\n\nExplanation", "Fog").settled
    assert not flexible("Yes, because", "Fog").settled


@given(st.sampled_from(["yes", "no"]), st.text(max_size=40))
def test_the_flexible_reader_does_not_contradict_the_strict_one(word: str, rest: str) -> None:
    response = f"{word}\n\n{rest}"
    assert strict(response).selected == (YES if word == "yes" else NO)
    assert flexible(response, "Fog").selected in (strict(response).selected, None)
