"""The end of reasoning in the notation of each family of models."""

import pytest

from lm_eval_cora.answers.letter import LETTER
from lm_eval_cora.answers.plain import after_reasoning, is_reasoning

ENDS = (
    *("</think>", "</thinking>", "</thought>", "</thoughts>", "</reason>", "</reasoning>", "</scratchpad>"),
    *("</seed:think>", "[/THINK]", "<|end_of_thought|>", "◁/think▷", "<|channel|>final<|message|>"),
    *("<|channel|>final <|constrain|>json<|message|>", "assistantfinal"),
)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("written", [str.lower, str.upper, str.title])
def test_the_answer_follows_the_last_end_marker_in_upper_or_lower_case(end, written):
    end = written(end)
    assert after_reasoning(f"A{end} B < C{end}\n D") == "D"


@pytest.mark.parametrize("end", ENDS)
def test_an_incomplete_end_marker_does_not_end_the_reasoning(end):
    for part in (end[:-1], end[1:]):
        assert after_reasoning(f"1 {part} D") == f"1 {part} D"


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        *((f"<{name}>", f"</{name}>") for name in ("think", "mm:think", "analysis", "reflection", "some_reasoning")),
        ("[THINK]", "[/THINK]"),
        *(("<unused94>thought\n", "<unused95>"), ("<|channel>thought\n", "<channel|>"), ("◁think▷", "◁/think▷")),
        *(("<|START_THINKING|>", "<|END_THINKING|>"), ("<|begin_of_thought|>", "<|end_of_thought|>")),
        *(("<|inner_prefix|>", "<|inner_suffix|>"), ("Thinking...\n", "\n...done thinking.\n")),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_marks_of_reasoning(opens, closes):
    reasoning = f"{opens}The answer is A."
    assert after_reasoning(f"{reasoning}{closes}B") == "B"
    assert is_reasoning(reasoning)
    assert not is_reasoning("The answer is A.")
    if not opens.startswith("Thinking"):  # words, so only at the beginning
        assert LETTER.read(f"B. {reasoning}", {"printed": [0, 1], "choices": ["Ice", "Fog"]}, "flexible").position == 1


@pytest.mark.parametrize("response", ["assistant\n\nB", "<|im_start|>assistant\nB", "<|assistant|>B", "B</think>"])
def test_marks_of_a_turn_are_not_text(response):
    assert after_reasoning(response).removesuffix("</think>") == "B"
