"""What several probes do with the options of a question in the same way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.alterations import fillers
from lm_eval_cora.variants.divergent import divergent
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from lm_eval_cora.variants.variant import Variant
from tests.support.questions import COUNTS, WATER, kinds_of, printed_by_kind, question_with

Make = Callable[..., list[Variant]]
WITH_FILLERS = pytest.mark.parametrize("make", [plus, revas])


@WITH_FILLERS
def test_a_filler_in_the_text_of_the_question_is_not_printed(make: Make) -> None:
    first, second, third = fillers(3, [], 0, "q")
    question = Question("q", f"What is a {first.lower()}?", ("Ice", second.upper(), "Fog"), 0)
    texts = [text for variant in make(question) for text in variant.choices]
    assert first not in texts
    assert second not in texts
    assert third in texts
    assert third not in [text for variant in make(question, nota_text=f"no {third}") for text in variant.choices]


@WITH_FILLERS
@pytest.mark.parametrize("options", COUNTS)
def test_the_question_s_own_number_of_options_is_left_out(make: Make, options: int) -> None:
    kinds = set(kinds_of(make(question_with(options))))
    assert f"options_{options}" not in kinds
    assert {f"options_{count}" for count in COUNTS if count != options} < kinds


@WITH_FILLERS
def test_distractors_that_differ_in_white_space_only_are_equal(make: Make) -> None:
    printed = printed_by_kind(make(Question("q", "Which?", ("Fog", "Ice", "Fog "), 1)))
    orders = [*printed["original"], *printed["shuffled"]]
    assert len(set(orders)) == len(orders)


@pytest.mark.parametrize("make", [divergent, plus, revas])
def test_the_text_of_nota_and_the_seed(make: Make) -> None:
    texts = {text for variant in make(WATER, nota_text="None of these") for text in variant.choices}
    assert {*WATER.choices, "None of these"} <= texts
    assert "None of the above" not in texts
    alone = make(WATER, seed=3)
    make(question_with(7, id="other"), seed=4)
    assert make(WATER, seed=3) == alone
    for other in (make(WATER, seed=4), make(Question("q2", WATER.stem, WATER.choices, 1), seed=3)):
        assert printed_by_kind(other) != printed_by_kind(alone)
