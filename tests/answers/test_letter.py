"""The formats that ask for the letter of one option, first or in a final sentence."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.letter import BEST_ANSWER, LETTER
from lm_eval_cora.questions.question import LETTERS
from tests.support.responses import pairs

PRINTED = [3, 0, 26, 1]  # A is option 3, B option 0, C is NOTA, D option 1


def read_letter(response: str, printed: Sequence[int] = PRINTED) -> Answer:
    return LETTER.read(response, {"printed": printed}, "strict")


def read_best_answer(response: str, printed: Sequence[int] = PRINTED) -> Answer:
    return BEST_ANSWER.read(response, {"printed": printed}, "strict")


READ = {
    0: ("B", " B", "(B)", "**B**", "answer: (b)", "**Answer:** B", "Answer:B", "Answer：B"),
    26: ("C",),
    1: ("D",),
    3: ("A",),
}

INVALID = {
    Reason.NO_LETTER: (
        "Based on",
        "A patient with",
        "a patient with",
        "A and B",
        "I think B",
        "b cells",
        "- B",
        "Answer: A patient",
        "В",
        "Ｂ",
        "\ud83d",
    ),
    Reason.OUT_OF_RANGE: ("(e)", "Z."),
}


# ---- the best answer
BEST = {
    0: (
        " B",
        " Option (B)",
        ": option: B",
        " choice B",
        " letter B",
        " __B__",
        r" $\boxed{B}$",
        r" $\boxed{\text{B}}$.",
        r" \fbox{B}",
        r" \textbf{(B)}",
        r" \mathrm{B}",
        " <strong>B</strong>",
    ),
    3: (" A", " a", " option a"),
    26: (" C",),
    1: (" D",),
}

OTHER_BEST = {0: ("The  best  answer  is  B", "<p>The best answer is<br/>B</p>")}

NOT_BEST = {
    Reason.NO_LETTER: (
        " [the_answer_letter]",
        " a balanced diet",
        " i think",
        " BC",
        " B's",
        " B’s",
        " A-type",
        " А",
        " 𝐁",
        " B选",
        " \ud83d",
    ),
    Reason.OUT_OF_RANGE: (" K",),
}

OTHER_NOT_BEST = {Reason.NO_BEST_ANSWER: ("B", "The best answer was B", "Ｔｈｅ ｂｅｓｔ ａｎｓｗｅｒ ｉｓ Ｂ")}


@pytest.mark.parametrize(
    ("read", "response", "expected"),
    [
        *((read_letter, *case) for groups in (READ, INVALID) for case in pairs(groups)),
        *((read_best_answer, f"The best answer is{end}", expected) for end, expected in pairs({**BEST, **NOT_BEST})),
        *((read_best_answer, *case) for groups in (OTHER_BEST, OTHER_NOT_BEST) for case in pairs(groups)),
    ],
)
def test_a_letter_is_read_or_there_is_a_reason(
    read: Callable[[str], Answer], response: str, expected: int | Reason
) -> None:
    answer = read(response)
    if isinstance(expected, Reason):
        assert (answer.picked, answer.position, answer.reason) == (None, None, expected)
    else:
        assert (answer.picked, answer.position, answer.reason) == (expected, PRINTED.index(expected), None)


WRAPPED = (
    *((read_letter, wrapped) for wrapped in ("({})", "{}.", "**{}**", "{}\nWhy: ...", "Answer: {}")),
    *(
        (read_best_answer, f"Because.\nThe best answer is {wrapped}")
        for wrapped in ("[{}].", ": **{}**.", ":\noption {}", r" $\boxed{{{}}}$", " <b>{}</b>", "\n\n{})")
    ),
)


@given(st.sampled_from(WRAPPED), st.integers(2, 26), st.data())
def test_a_planted_letter_is_read_back(
    planted: tuple[Callable[[str, Sequence[int]], Answer], str], options: int, data: st.DataObject
) -> None:
    read, wrapped = planted
    identities = data.draw(st.permutations(range(options)))
    position = data.draw(st.integers(0, options - 1))
    assert read(wrapped.format(LETTERS[position]), identities).picked == identities[position]


FOUND = {
    1: (
        *("The best answer is B.", "Steam is hot, so the best answer is **fog**."),
        *("Ice is cold. Therefore, the answer is B.", "B"),
    ),
    2: (
        "A. Ice is cold. B. Fog is wet. So the best answer is [C].",
        "The best answer is A. No, wait. The best answer is C. Dew",
    ),
    None: (
        *("The best answer is B. Ice", "The best answer is A or B.", "The best answer is I don't know"),
        "I am not sure.",
    ),
}


@pytest.mark.parametrize(("response", "position"), pairs(FOUND))
def test_the_best_answer_is_found(response: str, position: int | None) -> None:
    doc = {"printed": [0, 1, 2], "choices": ["Ice", "Fog", "Dew"]}
    assert BEST_ANSWER.flexible(response, doc).position == position
