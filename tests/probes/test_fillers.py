from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.probes.fillers import UNHEARD, fillers

VOWELS = set("aeiou")


def can_be_said(word: str) -> bool:
    """Whether a word has seven letters a to z, alternately consonant and vowel, and one capital: "Tavuzel"."""
    return (
        len(word) == 7
        and word == word.capitalize()
        and all("a" <= letter <= "z" for letter in word.lower())
        and [letter in VOWELS for letter in word.lower()] == [False, True] * 3 + [False]
    )


@given(st.integers(0, 30), st.integers(), st.text(max_size=10))
def test_fillers_can_be_said_and_differ(count: int, seed: int, question: str) -> None:
    words = fillers(count, [], seed, question)
    assert len(words) == len(set(words)) == count
    assert all(can_be_said(word) for word in words)


def test_many_fillers_differ() -> None:
    # 2,000 of 24,200 words are drawn. Without a check, about 80 of them would repeat.
    words = fillers(2000, [], 0)
    assert len(set(words)) == 2000
    assert all(can_be_said(word) for word in words)


def test_every_filler_contains_an_unheard_syllable() -> None:
    assert all(any(unheard in word.lower() for unheard in UNHEARD) for word in fillers(2000, [], 0))


def test_no_english_word_contains_an_unheard_syllable() -> None:
    english_words = pytest.importorskip("english_words")
    read: Callable[..., set[str]] = english_words.get_english_words_set
    words = read(["web2", "gcide"], alpha=True, lower=True)
    assert len(words) > 200_000
    assert not [word for word in words if any(unheard in word for unheard in UNHEARD)]


def test_all_parts_of_a_word_are_drawn() -> None:
    words = [word.lower() for word in fillers(2000, [], 0)]
    assert {word[2:5] for word in words} == set(UNHEARD)
    for place in (1, 5):
        assert {word[place] for word in words} == VOWELS
    for place in (0, 6):
        assert {word[place] for word in words} == set("bdgklmnprst")


@given(st.integers(0, 12), st.integers(0, 12), st.integers(), st.text(max_size=5))
def test_the_first_fillers_do_not_depend_on_the_count(few: int, more: int, seed: int, question: str) -> None:
    assert fillers(few + more, [], seed, question)[:few] == fillers(few, [], seed, question)


def test_a_filler_depends_on_its_key() -> None:
    assert fillers(3, [], 0, "q1") == fillers(3, [], 0, "q1")
    assert fillers(3, [], 0, "q1") != fillers(3, [], 1, "q1")
    assert fillers(3, [], 0, "q1") != fillers(3, [], 0, "q2")


def test_fillers_never_change() -> None:
    # Stored values: a released task must always print the same fillers.
    assert fillers(4, [], 0, "q1") == ("Muvubip", "Tuvozur", "Devupok", "Luvupit")


@pytest.mark.parametrize("written", [str, str.lower, str.upper, "What is a {}?".format, "x{}y".format])
def test_a_filler_does_not_occur_in_the_taken_texts(written: Callable[[str], str]) -> None:
    first, second, third = fillers(3, [], 0, "q1")
    # Words in the taken texts are skipped, ignoring case, and the next words follow.
    assert fillers(2, ["Fog", written(first), "Ice"], 0, "q1") == (second, third)
    assert fillers(2, [written(second)], 0, "q1") == (first, third)
    assert fillers(1, iter([written(first), written(second)]), 0, "q1") == (third,)


def test_taken_texts_are_not_joined() -> None:
    (first,) = fillers(1, [], 0, "q1")
    assert fillers(1, [first[:3], first[3:]], 0, "q1") == (first,)
