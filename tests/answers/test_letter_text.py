"""The format that asks for the text of one option, which is printed without a label."""

import pytest

from lm_eval_cora.answers.letter import OPTION_TEXT
from lm_eval_cora.answers.records import read_answer
from tests.support.responses import pairs

OPTIONS = ["Steam", "Ice", "Fog", "40 cm", "- 40 cm"]
READ = {
    1: (
        "Ice",
        "ice",
        "Ice.",
        "**Ice**",
        "• Ice",
        " Ice \n\nIt is frozen.",
        "It is ice.",
        "The answer is: Ice",
        "`Ice`",
    ),
    3: ("40 cm", "• 40 cm", "40 cm\nbecause of the mirror"),
    4: ("- 40 cm", "• - 40 cm"),
}


@pytest.mark.parametrize(("said", "place"), pairs(READ))
def test_a_text_is_read(said, place):
    assert read_answer(said, OPTIONS, format="option_text").position == place


def test_options_may_differ_in_case_alone_or_begin_alike():
    for place, option in enumerate(options := ["Aa", "aa", "Ice", "Ice cream"]):
        assert read_answer(f"• {option}\n\nSo it is.", options, format="option_text").position == place


@pytest.mark.parametrize("said", ["Snow", "Steam or ice", "Both", "Ice and fog are cold."])
def test_other_words_and_several_options_are_no_answer(said):
    assert read_answer(said, OPTIONS, format="option_text").position is None


@pytest.mark.parametrize("said", ["It is ice.", "Ice is frozen", "B", "The answer is Ice"])
def test_the_format_is_followed_if_the_first_line_is_an_option(said):
    assert read_answer("Ice\n\nIt is frozen.", OPTIONS, format="option_text", reader="strict").span == (0, 3)
    assert read_answer(said, OPTIONS, format="option_text", reader="strict").position is None


def test_the_limit_of_tokens_is_that_of_the_longest_option():
    for longest, tokens in ((3, 32), (95, 32), (96, 64), (200, 96), (5_000, 128)):
        assert OPTION_TEXT.tokens({"choices": ["a", "b" * longest]}) == tokens
    assert OPTION_TEXT.allowed({"choices": ["Ice", "Fog"]}) == ("Ice", "Fog")
