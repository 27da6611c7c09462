"""Fillers, and what several probes do with the options of a question in the same way."""

import re
import unicodedata
from functools import cache
from itertools import product
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.question import FIRST_FILLER, NOTA, Question
from lm_eval_cora.variants.alterations import HEARD, UNHEARD, fillers
from lm_eval_cora.variants.divergent import divergent
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from tests.support.questions import (
    COUNTS,
    WATER,
    check_what_holds_for_every_variant,
    fillers_of,
    printed_by_kind,
    question_with,
    questions,
)

VOWELS = set("aeiou")
CONSONANTS = "bdgklmnprst"
SPACE = {"".join(parts) for parts in product(CONSONANTS, sorted(VOWELS), UNHEARD, sorted(VOWELS), CONSONANTS)}
"""All 24,200 words of this form, in small letters: consonants and vowels alternate."""

LATIN = (
    *("ca", "cs", "da", "de", "en", "es", "fi", "fil", "fr", "hu", "id", "is", "it", "lt", "lv", "ms", "nb", "nl"),
    *("pl", "pt", "ro", "sh", "sk", "sl", "sv", "tr", "vi"),
)
"""The languages of wordfreq with Latin letters."""


def plain(text):
    """The text in small letters without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("ł", "l").replace("ø", "o").replace("ı", "i"))
    return re.sub("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+", "", decomposed)


def of_filler_length(words):
    """The words of six or seven letters: a filler, or a filler without its last letter."""
    return set(plain("\n".join(word for word in words if 6 <= len(word) <= 7)).split("\n"))


@cache
def frequent_words():
    """Words and names of six or seven letters that occur in texts of 27 languages."""
    wordfreq = pytest.importorskip("wordfreq")
    lists = (level for language in LATIN for level in wordfreq.get_frequency_list(language, "best"))
    return of_filler_length(word for level in lists for word in level)


@given(st.integers(0, 30), st.integers(0, 12), st.integers(), st.text(max_size=10))
def test_fillers_can_be_said_and_differ(count, more, seed, question):
    words = fillers(count, [], seed, question)
    assert len(words) == len(set(words)) == count
    assert all(word.lower() in SPACE and word == word.capitalize() for word in words)  # such as "Tuvozur"
    # The first ones do not depend on the count.
    assert fillers(count + more, [], seed, question)[:count] == words


def test_no_filler_is_a_word_or_a_name():
    """The whole space of fillers, compared with dictionaries and with the words in texts of 27 languages."""
    possible = {word for word in SPACE if word[:5] not in HEARD}
    assert (len(SPACE), len(possible)) == (24_200, 24_200 - len(HEARD) * 55)
    assert len(frequent_words()) > 600_000
    assert {"suzukis", "kazuki", "povozit"} <= frequent_words()
    assert not possible & frequent_words()
    # Without its last letter, a filler is not a word either. So "Kazukis" and "Kazukin" are not fillers.
    assert not {word[:6] for word in possible} & frequent_words()
    english_words = pytest.importorskip("english_words")
    dictionaries = of_filler_length(english_words.get_english_words_set(["web2", "gcide"], lower=True))
    assert not (possible | {word[:6] for word in possible}) & dictionaries


def test_fillers_never_change_and_depend_on_their_key():
    # Stored values: a released task must always print the same fillers.
    assert fillers(4, [], 0, "q1") == ("Muvubip", "Tuvozur", "Devupok", "Luvupit")
    # Without the words with a heard beginning: Savozum and Mavukir would be the second and the fourth.
    assert {"savoz", "mavuk"} <= HEARD
    assert fillers(4, [], 0, "q2") == ("Tozuvak", "Tazukir", "Muvozem", "Guvuzos")
    assert fillers(3, [], 0, "q1") != fillers(3, [], 1, "q1")


@pytest.mark.parametrize("written", [str, str.lower, str.upper, "What is a {}?".format, "x{}y".format])
def test_a_filler_does_not_occur_in_the_taken_texts(written):
    first, second, third = fillers(3, [], 0, "q1")
    # Words in the taken texts are skipped, ignoring case, and the next words follow.
    assert fillers(2, ["Fog", written(first), "Ice"], 0, "q1") == (second, third)
    assert fillers(1, iter([written(first), written(second)]), 0, "q1") == (third,)
    assert fillers(1, [first[:3], first[3:]], 0, "q1") == (first,), "the texts are not joined"


# ---- what several probes do in the same way

WITH_FILLERS = pytest.mark.parametrize("make", [plus, revas])


@WITH_FILLERS
def test_a_filler_in_the_text_of_the_question_is_not_printed(make):
    first, second, third = fillers(3, [], 0, "q")
    question = Question("q", f"What is a {first.lower()}?", ("Ice", second.upper(), "Fog"), 0)
    texts = [text for variant in make(question) for text in variant.choices]
    assert [filler in texts for filler in (first, second, third)] == [False, False, True]
    assert third not in [text for variant in make(question, nota_text=f"no {third}") for text in variant.choices]


@WITH_FILLERS
def test_other_orders_print_the_first_text_of_equal_options(make):
    variants = make(Question("q", "Which?", ("None of the above", "Ice", "none of the above."), 1))
    texts = {text for variant in variants if variant.kind == "shuffled" for text in variant.choices}
    assert texts == {"None of the above", "Ice"}


@pytest.mark.parametrize(
    ("make", "kinds"),
    [
        (divergent, ("shuffled", "with_nota_shuffled", "decoupled_with_nota_shuffled")),
        *((plus, ("shuffled",)), (revas, ("shuffled", "options_6_shuffled", "nota_answer_shuffled"))),
    ],
)
def test_the_text_of_nota_and_the_seed(make, kinds):
    texts = {text for variant in make(WATER, nota_text="None of these") for text in variant.choices}
    assert {*WATER.choices, "None of these"} <= texts
    assert "None of the above" not in texts
    alone = make(WATER, seed=3)
    make(question_with(7, id="other"), seed=4)
    assert make(WATER, seed=3) == alone
    for other in (make(WATER, seed=4), make(Question("q2", WATER.stem, WATER.choices, 1), seed=3)):
        assert all(printed_by_kind(other)[kind] != printed_by_kind(alone)[kind] for kind in kinds)
        assert make is divergent or fillers_of(other) != fillers_of(alone)
    # Category and right answer do not change the orders.
    moved = Question(WATER.id, WATER.stem, WATER.choices, 3, "weather")
    assert printed_by_kind(make(moved, seed=3))["shuffled"] == printed_by_kind(alone)["shuffled"]


@pytest.mark.parametrize(("make", "several_orders"), [(plus, False), (revas, True)])
@given(question=questions, seed=st.integers(0, 5), nota_text=st.sampled_from(["None of the above", "None of these"]))
def test_properties_of_the_kinds_of_mcqa_plus(make, several_orders, question, seed, nota_text):
    variants = make(question, seed=seed, nota_text=nota_text)
    check_what_holds_for_every_variant(question, variants, nota_text)
    options, source = len(question.choices), tuple(range(len(question.choices)))
    printed = printed_by_kind(variants)
    with_nota = (*(k for k in source if k != question.answer), NOTA)
    first_orders = {"original": source, "nota_answer": with_nota}
    most = {"original": options if several_orders else 4, "nota_answer": 4 if several_orders else 1}
    for count in (count for count in COUNTS if count != options):
        kind = f"options_{count}"
        (first,), most[kind] = printed[kind], count if several_orders else 1
        kept = sorted({*first} & {*source})
        assert first == (*kept, *range(FIRST_FILLER, FIRST_FILLER + max(0, count - options)))
        assert len(first) == count
        first_orders[kind] = first
    for kind, first in first_orders.items():
        orders = [*printed[kind], *printed.get("shuffled" if kind == "original" else f"{kind}_shuffled", ())]
        assert orders[0] == first
        assert len(set(orders)) == len(orders) == min(most[kind], factorial(len(first)))
        # The options are drawn once, so all orders of a number have the same options.
        assert all(sorted(order) == sorted(first) for order in orders)
    assert [v.printed for v in variants if v.ask == "yes_no"] == [(k,) for k in source]
    assert several_orders or all(variant.ask != "select_all" for variant in variants)
