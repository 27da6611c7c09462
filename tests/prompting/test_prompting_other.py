from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.probes.plus import plus
from lm_eval_cora.probes.revas import revas
from lm_eval_cora.prompting import claim_block, letter_prompt, question_block, select_all_prompt, yes_no_prompt
from lm_eval_cora.prompting.template import Template, own_templates
from lm_eval_cora.question import Question, Variant

KEPT = Path(__file__).parents[1] / "prompts"
QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
PROBES = {"plus": plus(QUESTION), "revas": revas(QUESTION)}


def kept(name: str) -> str:
    return (KEPT / f"{name}.txt").read_text(encoding="utf-8")


def first_of(probe: str, kind: str) -> Variant:
    return next(variant for variant in PROBES[probe] if variant.kind == kind)


@pytest.mark.parametrize(
    ("probe", "kind"),
    [
        ("plus", "shuffled"),
        ("plus", "options_2"),
        ("plus", "options_6"),
        ("plus", "nota_answer"),
        ("revas", "options_10_shuffled"),
        ("revas", "nota_answer"),
        ("revas", "nota_answer_shuffled"),
        ("revas", "replaced"),
    ],
)
def test_prompts_that_ask_for_one_letter(probe: str, kind: str) -> None:
    # A prompt that changes changes scores: if this fails on purpose, raise the version in the task files.
    assert letter_prompt(QUESTION.stem, first_of(probe, kind).choices) == kept(f"{probe}_{kind}")


@pytest.mark.parametrize("kind", ["true_or_false_right", "true_or_false_wrong"])
def test_prompts_that_ask_whether_an_option_is_right(kind: str) -> None:
    (choice,) = first_of("revas", kind).choices
    assert yes_no_prompt(QUESTION.stem, choice) == kept(f"revas_{kind}")


def test_prompt_that_asks_for_all_right_letters() -> None:
    assert select_all_prompt(QUESTION.stem, first_of("revas", "select_all").choices) == kept("revas_select_all")


def test_text_before_scored_answers() -> None:
    (choice,) = first_of("revas", "true_or_false_right").choices
    assert claim_block(QUESTION.stem, choice) == kept("scored_true_or_false")
    assert question_block(QUESTION.stem, first_of("plus", "options_6").choices) == kept("scored_options_6")


@pytest.mark.parametrize("template", own_templates().all, ids=str)
def test_the_ten_templates_of_ours(template: Template) -> None:
    # SCORE's own are read from the installed harness, and so not kept here.
    assert template.render(QUESTION.stem, QUESTION.choices) == kept(f"prompts_{template.name}")


def test_the_letters_named_are_those_printed() -> None:
    assert "(out of A and B)" in select_all_prompt("Which?", ["1", "2"])
    assert "(out of A, B and C)" in select_all_prompt("Which?", ["1", "2", "3"])
    assert "Y and Z)" in select_all_prompt("Which?", list(map(str, range(26))))


@pytest.mark.parametrize("text", ["{{ 7 * 7 }}", "Which?"])
def test_an_instruction_does_not_depend_on_the_question(text: str) -> None:
    def instruction(prompt: str) -> str:
        return prompt.partition("\n\n")[0]

    assert instruction(yes_no_prompt(text, text)) == instruction(kept("revas_true_or_false_wrong"))
    assert instruction(select_all_prompt(text, ["", text, "", ""])) == instruction(kept("revas_select_all"))
