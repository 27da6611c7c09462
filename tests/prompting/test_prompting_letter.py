from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lm_eval_cora.probes.divergent import divergent
from lm_eval_cora.prompting import letter_prompt, question_block, select_all_prompt
from lm_eval_cora.question import Question

KEPT = Path(__file__).parents[1] / "prompts"
QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew", "Rain"), 1)
FIRST_OF_KIND = {variant.kind: variant for variant in reversed(divergent(QUESTION))}


@pytest.mark.parametrize("kind", FIRST_OF_KIND)
def test_prompt_of_each_kind(kind: str) -> None:
    # A prompt that changes changes scores: if this fails on purpose, raise the version in the task files.
    prompt = letter_prompt(QUESTION.stem, FIRST_OF_KIND[kind].choices)
    assert prompt == (KEPT / f"divergent_{kind}.txt").read_text(encoding="utf-8")


def test_the_letters_named_are_those_printed() -> None:
    assert "(A, B or C)" in letter_prompt("Which?", ["1", "2", "3"])
    assert "Y or Z)" in letter_prompt("Which?", list(map(str, range(26))))


@pytest.mark.parametrize("prompt", [letter_prompt, question_block, select_all_prompt])
def test_an_option_without_a_letter_is_not_dropped(prompt: Callable[[str, list[str]], str]) -> None:
    with pytest.raises(ValueError, match="longer"):
        prompt("Which?", list(map(str, range(27))))
