import pytest
from hypothesis import given

from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.prompts import prompts, sampling
from lm_eval_cora.variants.template import Templates, own_templates
from tests.support.questions import questions

WATER = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Steam "), 1)
HALF = OpenQuestion("q2", "What is half of a half?", r"\frac14", "Level 1")
TEN = own_templates()


@given(questions)
def test_question_and_options_are_unchanged(question):
    for variants in (prompts(question, TEN), sampling(question, TEN.fixed)):
        assert [variant.ordinal for variant in variants] == list(range(len(variants)))
        for variant in variants:
            assert (variant.choices, variant.printed) == (question.choices, question.identities)
            assert (variant.answer, variant.ask) == (question.answer, "best_answer")


@pytest.mark.parametrize("fixed", TEN.all, ids=str)
def test_a_variant_for_each_template_and_the_fixed_one_is_the_original(fixed):
    variants = prompts(WATER, Templates(TEN.all, fixed))
    assert [variant.kind for variant in variants] == [template.name for template in TEN.all]
    assert [variant.template for variant in variants] == list(TEN.all)
    assert [variant.kind for variant in variants if variant.original] == [fixed.name]
    assert {variant.printed for variant in variants} == {(0, 1, 2, 0)}


def test_questions_without_options():
    for variants in (prompts(HALF, TEN), sampling(HALF, TEN.fixed)):
        for variant in variants:
            assert (variant.choices, variant.printed, variant.answer, variant.ask) == ((), (), HALF.answer, "boxed")
    assert len(prompts(HALF, TEN)) == 10
