from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.probes.prompts import prompts
from lm_eval_cora.probes.sampling import sampling
from lm_eval_cora.probes.unaltered import unaltered
from lm_eval_cora.prompting.template import own_templates
from lm_eval_cora.question import OpenQuestion, Question

WATER = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Steam "), 1)
HALF = OpenQuestion("q2", "What is half of a half?", r"\frac14", "Level 1")

NAMES = [template.name for template in own_templates().all]

questions = st.integers(2, 26).flatmap(
    lambda size: st.builds(
        Question,
        st.just("q"),
        st.text(min_size=1, alphabet="abc{}"),
        st.just(tuple(f"option {k}" for k in range(size))),
        st.integers(0, size - 1),
    )
)


@given(questions)
def test_question_and_options_are_unchanged(question: Question) -> None:
    for variants in (prompts(question, NAMES, fixed=NAMES[3]), sampling(question)):
        assert [variant.ordinal for variant in variants] == list(range(len(variants)))
        for variant in variants:
            assert (variant.choices, variant.printed) == (question.choices, question.identities)
            assert (variant.answer, variant.ask) == (question.answer, "best_answer")


def test_a_variant_for_each_template() -> None:
    variants = prompts(WATER, NAMES, fixed="question_middle")
    assert [variant.kind for variant in variants] == NAMES
    assert [variant.kind for variant in variants if variant.original] == ["question_middle"]
    assert {variant.printed for variant in variants} == {(0, 1, 2, 0)}


@pytest.mark.parametrize("fixed", NAMES)
def test_the_fixed_template_is_the_original(fixed: str) -> None:
    assert [variant.kind for variant in prompts(WATER, NAMES, fixed) if variant.original] == [fixed]


def test_five_samples_none_of_which_is_the_original() -> None:
    variants = sampling(WATER)
    assert [variant.kind for variant in variants] == [f"sample_{number}" for number in (1, 2, 3, 4, 5)]
    assert not any(variant.original for variant in variants)


def test_questions_without_options() -> None:
    for variants in (prompts(HALF, NAMES, fixed=NAMES[3]), sampling(HALF)):
        for variant in variants:
            assert (variant.choices, variant.printed, variant.answer, variant.ask) == ((), (), 0, "boxed")
    assert len(prompts(HALF, NAMES, fixed=NAMES[3])) == 10


def test_no_original_unless_one_is_named() -> None:
    assert [variant.original for variant in unaltered(WATER, ["a", "b"])] == [False, False]
    assert [variant.original for variant in unaltered(WATER, ["a", "b"], original="b")] == [False, True]
