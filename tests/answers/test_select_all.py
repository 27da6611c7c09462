"""The letters of all right options."""

from itertools import combinations

import pytest

from lm_eval_cora.answers.select_all import SELECT_ALL
from lm_eval_cora.questions.question import LETTERS

CHOICES = ("Steam", "Fog", "Dew", "Ice", "Hail")
PRINTED = [3, 0, 26, 1, 2]  # A is option 3, B option 0, C is NOTA, D option 1, E option 2


def read_selection(response, printed=PRINTED, choices=CHOICES):
    return SELECT_ALL.read(response, {"printed": printed, "choices": choices}, "strict")


def letters_of(selected):
    return None if selected is None else "".join(LETTERS[PRINTED.index(identity)] for identity in selected)


def test_two_letters_of_one_option_select_it_once():
    # A and C print the same text.
    assert read_selection("A, B, C", [0, 1, 0], ["x", "y", "x"]).selected == (0, 1)
    assert read_selection("C", [0, 1, 0], ["x", "y", "x"]).selected == (0,)


def test_the_room_for_an_answer_grows_with_the_options_up_to_a_limit():
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
def test_every_selection_is_read_back(written):
    for size in range(1, 6):
        for letters in combinations("ABCDE", size):
            answer = read_selection(written(letters), choices=["Text"] * 5)
            assert letters_of(answer.selected) == "".join(letters)
