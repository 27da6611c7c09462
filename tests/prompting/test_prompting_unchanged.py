from __future__ import annotations

import pytest

from lm_eval_cora.prompting import claim_block, letter_prompt, question_block, select_all_prompt, yes_no_prompt


@pytest.mark.parametrize(
    "text",
    [
        "$\\frac{1}{2}$ {{ 7 * 7 }}",
        "{% raw %}",
        "{# gone? #}",
        "<b>&amp;</b>",
        "\"quoted\" 'text'",
        "two\nlines ",
        " \t indented",
        "שלום",
        "",
        "x" * 30_000,
    ],
)
def test_question_and_options_reach_the_model_unchanged(text: str) -> None:
    claim = f"Question: {text}\nProposed answer: {text}\nIs this the right answer to the question, yes or no?\nAnswer:"
    assert claim_block(text, text) == claim
    assert yes_no_prompt(text, text).endswith(f"\n\n{claim}")
    block = f"Question: {text}\nChoices:\nA. {text}\nB. other\nAnswer:"
    assert question_block(text, [text, "other"]) == block
    assert letter_prompt(text, [text, "other"]).endswith(f"\n\n{block}")
    assert select_all_prompt(text, [text, "other"]).endswith(f"\n\n{block}")
