import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.questions.question import NOTA, Question
from lm_eval_cora.variants.divergent import divergent
from tests.support.questions import kinds_of, printed_by_kind, question_with, questions

WATER = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew", "Rain"), 1)
SEVERAL = ("with_nota", "decoupled", "decoupled_with_nota")


@pytest.mark.parametrize(("options", "variants"), [(2, 8), (3, 14), (4, 20), (5, 26), (13, 74), (26, 152)])
def test_number_of_variants(options, variants):
    assert len(divergent(question_with(options))) == variants


def test_kinds_are_in_the_documented_order():
    several = [kind for one in SEVERAL for each in (one, f"{one}_shuffled") for kind in [each] * 4]
    assert kinds_of(divergent(WATER)) == ["original", "shuffled", *several]


def test_printed_options_before_any_reordering():
    printed = printed_by_kind(divergent(WATER))
    assert printed["original"] == [(0, 1, 2, 3, 4)]
    # NOTA replaces each distractor in turn, in its place.
    in_turn = [(NOTA, 1, 2, 3, 4), (0, 1, NOTA, 3, 4), (0, 1, 2, NOTA, 4), (0, 1, 2, 3, NOTA)]
    assert printed["with_nota"] == in_turn
    # The answer (option 1) and one distractor, in the question's order.
    assert printed["decoupled"] == [(0, 1), (1, 2), (1, 3), (1, 4)]
    assert printed["decoupled_with_nota"] == [(0, 1, NOTA), (1, 2, NOTA), (1, 3, NOTA), (1, 4, NOTA)]


@given(questions, st.integers(0, 5))
def test_every_variant_has_the_answer_and_shuffled_ones_have_another_order(question, seed):
    variants = divergent(question, seed=seed)
    assert [variant.ordinal for variant in variants] == list(range(len(variants)))
    for variant in variants:
        assert variant.answer == question.answer
        assert variant.choices[variant.printed.index(variant.answer)] == question.choices[question.answer]
        assert len(set(variant.printed)) == len(variant.printed)
    by_kind = printed_by_kind(variants)
    for kind, shuffled in [("original", "shuffled"), *((kind, f"{kind}_shuffled") for kind in SEVERAL)]:
        for before, after in zip(by_kind[kind], by_kind[shuffled], strict=True):
            assert before != after
            assert sorted(before) == sorted(after)


def test_options_that_read_like_nota_or_are_equal():
    variants = divergent(Question("q", "Which?", ("Ice", "Fog", " none of the above."), 0))
    assert (len(variants), variants[0].printed) == (14, (0, 1, NOTA))
    # A right one is right wherever it is printed.
    variants = divergent(Question("q", "Which?", ("None of the above", "Fog"), 0))
    assert len(variants) == 8
    assert all(variant.answer == NOTA and NOTA in variant.printed for variant in variants)
    # Equal distractors share an identity, and each has its variants.
    variants = divergent(Question("q", "Which?", ("Fog", "Ice", "Fog"), 1))
    assert (len(variants), variants[0].printed) == (14, (0, 1, 0))
