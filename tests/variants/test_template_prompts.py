"""The prompts of the answer formats. They change scores: if you change one on purpose, raise the version."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.divergent import divergent
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from lm_eval_cora.variants.template import LETTER, SELECT_ALL, YES_NO, Template, own_templates, prompt_of

KEPT = Path(__file__).parents[1] / "prompts"
QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
OF_FIVE = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew", "Rain"), 1)
FIRST_OF_KIND = {
    (probe, variant.kind): variant
    for probe, variants in (("divergent", divergent(OF_FIVE)), ("plus", plus(QUESTION)), ("revas", revas(QUESTION)))
    for variant in reversed(variants)
}


def kept(name: str) -> str:
    return (KEPT / f"{name}.txt").read_text(encoding="utf-8")


def prompt(ask: str, choices: list[str], text: str = "Which?", *, instruct: bool = True) -> str:
    return prompt_of({"ask": ask, "question": text, "choices": choices}, instruct=instruct)


@pytest.mark.parametrize(
    ("probe", "kind"),
    [
        *(key for key in FIRST_OF_KIND if key[0] == "divergent"),
        *(("plus", kind) for kind in ("shuffled", "options_2", "options_6", "nota_answer")),
        *(("revas", kind) for kind in ("options_10_shuffled", "nota_answer", "nota_answer_shuffled", "replaced")),
        *(("revas", kind) for kind in ("true_or_false_right", "true_or_false_wrong", "select_all")),
    ],
)
def test_prompt_of_each_kind(probe: str, kind: str) -> None:
    assert FIRST_OF_KIND[probe, kind].prompt == kept(f"{probe}_{kind}")


def test_text_before_scored_answers() -> None:
    for probe, kind, name in (("revas", "true_or_false_right", "true_or_false"), ("plus", "options_6", "options_6")):
        assert prompt_of(vars(FIRST_OF_KIND[probe, kind]), instruct=False) == kept(f"scored_{name}")


@pytest.mark.parametrize("template", own_templates().all, ids=str)
def test_our_own_ten_templates(template: Template) -> None:
    # The templates of SCORE are not kept here, because they are read from the installed harness.
    assert template.render(QUESTION.stem, QUESTION.choices) == kept(f"prompts_{template.name}")


def test_the_instruction_names_the_printed_letters() -> None:
    every = list(map(str, range(26)))
    assert "(A, B or C)" in prompt(LETTER, ["1", "2", "3"])
    assert "Y or Z)" in prompt(LETTER, every)
    assert "(one or more of A and B)" in prompt(SELECT_ALL, ["1", "2"])
    assert "(one or more of A, B and C)" in prompt(SELECT_ALL, ["1", "2", "3"])
    assert "Y and Z)" in prompt(SELECT_ALL, every)


@pytest.mark.parametrize("ask", [LETTER, SELECT_ALL])
@pytest.mark.parametrize("instruct", [True, False])
def test_more_options_than_letters_are_an_error(ask: str, instruct: bool) -> None:
    with pytest.raises(ValueError, match="longer"):
        prompt(ask, list(map(str, range(27))), instruct=instruct)


@pytest.mark.parametrize(
    "text",
    [
        *("$\\frac{1}{2}$ {{ 7 * 7 }}", "{% raw %}", "{# gone? #}", "<b>&amp;</b>", "\"quoted\" 'text'", "two\nlines "),
        *(" \t indented", "שלום", "", "x" * 30_000),
    ],
)
def test_question_and_options_reach_the_model_unchanged(text: str) -> None:
    claim = f"Question: {text}\nProposed answer: {text}\nIs this the right answer to the question, yes or no?\nAnswer:"
    block = f"Question: {text}\nChoices:\nA. {text}\nB. other\nAnswer:"
    for ask, choices, expected in (
        (YES_NO, [text], claim),
        (LETTER, [text, "other"], block),
        (SELECT_ALL, [text, "other"], block),
    ):
        assert prompt(ask, choices, text, instruct=False) == expected
        instruction, _, rest = prompt(ask, choices, text).partition("\n\n")
        assert rest == expected
        assert ask != YES_NO or instruction == kept("revas_true_or_false_wrong").partition("\n\n")[0]
