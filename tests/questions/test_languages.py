from __future__ import annotations

import pytest

from lm_eval_cora.questions.languages import language_of

NAMED = {
    "belebele_fra_Latn": "fr",
    "global_mmlu_full_de_anatomy": "",
    "arc_de": "de",
    "turkishmmlu_biology": "tr",
    "include_base_44_persian_history": "fa",
    "mmlu_prox_lite_sw_law": "",
    "xcopa_it": "it",
    "arabicmmlu_law": "ar",
}


@pytest.mark.parametrize("name", NAMED)
def test_names(name: str) -> None:
    assert language_of([name], []) == NAMED[name]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which of the following is the capital of France?", "en"),
        ("다음 중 옳은 것은?", "ko"),
        ("下列哪一項是正確的？", "zh"),
        ("次のうち正しいものはどれか。", "ja"),
        ("Ποιο είναι σωστό;", "el"),
        ("Que es lo correcto?", ""),  # Latin letters
        ("Что верно?", ""),  # several languages
        ("", ""),
        ("2 + 2 = ?", ""),
    ],
)
def test_scripts(text: str, language: str) -> None:
    assert language_of(["mmlu"], [text]) == language


def test_the_first_name_that_says_it() -> None:
    assert language_of(["default", "kmmlu_korean"], ["Which of the following?"]) == "ko"
