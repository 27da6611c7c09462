from itertools import permutations
from math import factorial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_cora.questions.question import LETTERS, NOTA, Question
from lm_eval_cora.variants.order import POSITIONS, order
from lm_eval_cora.variants.template import own_templates
from tests.support.questions import WATER, question_with, questions


def printed(variants):
    return [variant.printed for variant in variants]


def check_what_holds_for_every_order(question, variants):
    assert [variant.ordinal for variant in variants] == list(range(len(variants)))
    assert [variant.choices for variant in variants if variant.original] == [question.choices]
    for variant in variants:
        assert sorted(variant.printed) == list(range(len(question.choices)))
        assert variant.choices == tuple(question.choices[option] for option in variant.printed)
        assert variant.answer == question.answer
        assert variant.kind == f"answer_at_{LETTERS[variant.printed.index(question.answer)]}"
    assert len(set(printed(variants))) == len(variants)


def test_printed_options():
    # Ice swaps places with Steam, with itself, with Fog, with Dew.
    template = own_templates().fixed
    variants = order(WATER, template=template)
    assert printed(variants) == [(1, 0, 2, 3), (0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 2, 1)]
    assert {(variant.ask, variant.template) for variant in variants} == {("best_answer", template)}
    assert {(variant.ask, variant.template) for variant in order(WATER)} == {("letter", None)}


@given(questions)
def test_swaps(question):
    options = len(question.choices)
    variants = order(question)
    check_what_holds_for_every_order(question, variants)
    # The right option is once at each position, in the order of the positions.
    assert [variant.kind for variant in variants] == list(POSITIONS[:options])
    assert [variant.ordinal for variant in variants if variant.original] == [question.answer]
    for variant in variants:
        moved = {place for place, option in enumerate(variant.printed) if place != option}
        assert moved in (set(), {question.answer, variant.printed.index(question.answer)})
        assert bool(moved) != variant.original


@given(questions)
def test_rotations(question):
    options = len(question.choices)
    variants = order(question, orders="cyclic")
    check_what_holds_for_every_order(question, variants)
    assert printed(variants) == [tuple((start + k) % options for k in range(options)) for start in range(options)]
    assert variants[0].original
    assert sorted(variant.kind for variant in variants) == list(POSITIONS[:options])


@settings(max_examples=20)
@given(st.sampled_from([question_with(size, right) for size in range(2, 6) for right in range(size)]))
def test_all_orders(question):
    options = len(question.choices)
    variants = order(question, orders="all")
    check_what_holds_for_every_order(question, variants)
    assert variants[0].original
    assert set(printed(variants)) == set(permutations(range(options)))
    # Each position is as frequent as there are orders of the other options.
    counts = [len([variant for variant in variants if variant.kind == kind]) for kind in POSITIONS[:options]]
    assert counts == [factorial(options - 1)] * options


@pytest.mark.parametrize("options", [6, 10, 26])
def test_all_orders_of_too_many_options_are_an_error(options):
    with pytest.raises(ValueError, match=f"'q' has {options} options, .* at most 5 .* swap or cyclic"):
        order(question_with(options), orders="all")


@pytest.mark.parametrize("orders", ["swap", "cyclic", "all"])
def test_equal_distractors_are_one_option(orders):
    variants = order(Question("q", "Which?", ("Fog", "Ice", "Fog "), 1), orders=orders)
    for variant in variants:
        assert sorted(variant.printed) == [0, 0, 1]
        assert list(variant.choices) == [("Fog", "Ice")[option] for option in variant.printed]
    # An order that only swaps two equal distractors is not a second original.
    assert [variant.choices for variant in variants if variant.original] == [("Fog", "Ice", "Fog")]
    assert orders != "swap" or printed(variants) == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]


def test_options_are_neither_removed_nor_added():
    # This probe does not print NOTA, so a source option with these words keeps its own identity.
    variants = order(Question("q", "Which?", ("Ice", "Fog", "None of the above"), 0))
    assert printed(variants) == [(0, 1, 2), (1, 0, 2), (2, 1, 0)]
    assert NOTA not in {option for variant in variants for option in variant.printed}
