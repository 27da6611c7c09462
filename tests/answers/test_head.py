"""The end of reasoning in the notation of each family of models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lm_eval_cora.answers.head import after_reasoning

ENDS = [
    "</think>",
    "</thinking>",
    "</thought>",
    "</thoughts>",
    "</reason>",
    "</reasoning>",
    "</scratchpad>",
    "</seed:think>",
    "[/THINK]",
    "<|end_of_thought|>",
    "◁/think▷",
    "<|channel|>final<|message|>",
    "<|channel|>final <|constrain|>json<|message|>",
    "assistantfinal",
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("written", [str.lower, str.upper, str.title])
def test_the_answer_follows_the_last_end_marker_in_upper_or_lower_case(end: str, written: Callable[[str], str]) -> None:
    end = written(end)
    assert after_reasoning(f"A{end} B < C{end}\n D") == "D"


@pytest.mark.parametrize("end", ENDS)
def test_an_incomplete_end_marker_does_not_end_the_reasoning(end: str) -> None:
    for part in (end[:-1], end[1:]):
        assert after_reasoning(f"1 {part} D") == f"1 {part} D"
