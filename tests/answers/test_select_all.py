"""The letters of all right options."""

from collections.abc import Callable, Sequence
from itertools import combinations

import pytest

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.select_all import SELECT_ALL
from lm_eval_cora.questions.question import LETTERS
from tests.support.responses import pairs

CHOICES = ("Steam", "Fog", "Dew", "Ice", "Hail")
PRINTED = [3, 0, 26, 1, 2]  # A is option 3, B option 0, C is NOTA, D option 1, E option 2


def read_selection(response: str, printed: Sequence[int] = PRINTED, choices: Sequence[str] = CHOICES) -> Answer:
    return SELECT_ALL.read(response, {"printed": printed, "choices": choices}, "strict")


def letters_of(selected: tuple[int, ...] | None) -> str | None:
    return None if selected is None else "".join(LETTERS[PRINTED.index(identity)] for identity in selected)


READ = {
    "B": ("B", "b", "b)", "B because\nC is wrong", "B. Fog\nA, C. are wrong", "The answer is B", "B is right"),
    "A": ("A. patient with", "A. All of the above", "A\nB: wrong", "The answer is: A"),
    "E": ("E. None of the above",),
    "AC": (
        "A, C",
        "A, C,",
        "AC",
        "(AC)",
        "(A), (C)",
        "[A, C]",
        "{A, C}",
        "`A, C`",
        '"A, C"',
        "['A', 'C']",
        '["A", "C"]',
        "A, C<|im_end|>",
        "A, C<|eot_id|>",
        "A.\nC.",
        "(A)\n(C)",
        "A, C\nB. Fog is wrong\nD. Dew is wrong",
        "A and C are right",
        "**Answer: A, C**",
        "Answer：A, C",
        "The right choices are: A, C",
        "Correct options: A, C",
        "All right choices: A, C",
        "Letters: A, C",
        "Final answer: A, C",
        "$A, C$",
        "A and C are right",
        "A, C because of the heat",
        "A, C\nAnswer:",
    ),
    "ACD": ("ACD", "**ACD**"),
    "ABCDE": ("ABCDE", "A, B, C, D, E (All of the above)"),
    "ABC": ("A, B, and C",),
    "BC": ("B. Fog, C. Dew", "B. Fog\nC. Dew", "The correct answers are:\n\n**B. Fog**\n\n**C. Dew**"),
    "ACE": ("A\nC\nE",),
    "AB": ("A. Steam, B. Fo", "A\nB\n" + "\n" * 5000 + "C"),
    "BCD": ("B,\nC and D",),
}

INVALID = {
    Reason.NO_LETTER: (
        "All of the above",
        "None of the above",
        "Because A, C",
        "A patient with B",
        "b cells",
        "BAD",
        "DEAD",
        "А, С",
        "Ａ、Ｃ",
        "\ud83d",
    ),
    Reason.OUT_OF_RANGE: ("F", "A, F", "B. Fog, F. Hail"),
}


@pytest.mark.parametrize(("response", "expected"), [*pairs(READ), *pairs(INVALID)])
def test_letters_are_read_or_there_is_a_reason(response: str, expected: str | Reason) -> None:
    answer = read_selection(response)
    letters, reason = (None, expected) if isinstance(expected, Reason) else (expected, None)
    assert (letters_of(answer.selected), answer.picked, answer.reason) == (letters, None, reason)


def test_two_letters_of_one_option_select_it_once() -> None:
    # A and C print the same text.
    assert read_selection("A, B, C", [0, 1, 0], ["x", "y", "x"]).selected == (0, 1)
    assert read_selection("C", [0, 1, 0], ["x", "y", "x"]).selected == (0,)


def test_the_room_for_an_answer_grows_with_the_options_up_to_a_limit() -> None:
    for choices, tokens in ((["Ice", "Fog"], 32), (["Ice" * 60], 96), (["Ice" * 500], 128)):
        assert SELECT_ALL.tokens({"choices": choices}) == tokens


@pytest.mark.parametrize(
    "written",
    [
        *(",".join, " and ".join, "\n".join, " ".join),
        lambda letters: ", ".join(letters).lower(),
        lambda letters: " ".join(f"**({letter})**" for letter in letters),
        lambda letters: ", ".join(f"{letter}. Text" for letter in letters),
        lambda letters: "\n".join(f"- **{letter})** text" for letter in letters),
        lambda letters: "Answer: " + ", ".join(letters) + ".\n\nB is wrong because of D.\nE. Text",
        lambda letters: "<think>A, B</think>" + ", ".join(letters) + "\nA. Text\nB. Text",
    ],
)
def test_every_selection_is_read_back(written: Callable[[Sequence[str]], str]) -> None:
    for size in range(1, 6):
        for letters in combinations("ABCDE", size):
            answer = read_selection(written(letters), choices=["Text"] * 5)
            assert letters_of(answer.selected) == "".join(letters)


UNCLEAR = (
    "A-C",
    "A–C",
    "B or C",
    "C (A and B are wrong)",
    "B C is wrong",
    "b, c cells",
    "a and b cells",
    "A. Steam\nB. a kind of cloud",
    "A: Yes\nB: No\nC: Yes",
    "A. Right.\nB. Wrong.",
    "B is incorrect",
    "B is not right",
)


@pytest.mark.parametrize("response", UNCLEAR)
def test_an_ambiguous_selection_is_invalid(response: str) -> None:
    answer = read_selection(response)
    assert (answer.selected, answer.reason) in ((None, Reason.UNCLEAR), (None, Reason.NO_LETTER))


# The text of an option is a letter, or begins with a letter and a mark, which is common in medicine.
TEXTS = {
    ("Fog", "E. coli", "Dew", "Ice", "S. aureus"): {
        **dict.fromkeys(("B. E. coli", "(B) E. coli"), "B"),
        **dict.fromkeys(("B. E. coli\nE. S. aureus", "B E. coli, E S. aureus"), "BE"),
    },
    ("x", "y", "z", "e", "D"): {"A. x\nD. e": "AD"},
    ("A and B", "B", "A", "Both A and B", "I"): {"D. Both A and B. Because": "D", "A) A and B": "A"},
    ("Vitamin A", "Vitamin B", "Vitamin C and zinc", "Zinc", "I"): {"A. Vitamin A, C. Vitamin C and zinc": "AC"},
    ("All of the above", "B cells", "None", "x", "y"): {"B. B cells": "B", "A. All of the above": "A"},
    ("A.", "B.", "C.", "D.", "E."): {"A, C": "AC"},
    ("", " ", "c", "d", "e"): {"A, B": "AB"},
    ("Straße", "Weg", "İstanbul", "d", "e"): {"A. Straße, B. Weg, C. İstanbul": "ABC"},
}


@pytest.mark.parametrize(
    ("choices", "response", "letters"),
    [(choices, response, letters) for choices, said in TEXTS.items() for response, letters in said.items()],
)
def test_the_text_of_an_option_is_not_read_for_letters(choices: tuple[str, ...], response: str, letters: str) -> None:
    assert letters_of(read_selection(response, choices=choices).selected) == letters


FOUND = {
    (0, 2): (
        *("A and C", "Sure! The correct answers are A and C.", "Based on the info, options A and C are correct"),
        *("I would choose A and C", "After some thought:\n\n**Answer:** A, C", "Ice\nDew"),
        "<think>A?</think>The answers are C and A.",
    ),
    (0, 1): ("The answers are A, B.\n\nOn reflection, the answers are A and C.",),
    None: (
        *("The incorrect options are B, D", "Options to exclude: B, D", "I would eliminate options B and D."),
        *("Do not choose B.", "We must choose between options A and C.", "All of the above", "It depends.", ""),
    ),
}


@pytest.mark.parametrize(("response", "selected"), pairs(FOUND))
def test_a_selection_is_found_anywhere(response: str, selected: tuple[int, ...] | None) -> None:
    doc = {"printed": [0, 1, 2, 3], "choices": ["Ice", "Fog", "Dew", "Sun"]}
    assert SELECT_ALL.read(response, doc, "flexible").selected == selected
