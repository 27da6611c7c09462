import pytest

from lm_eval_cora.questions.languages import language_of

NAMED = {"belebele_fra_Latn": "fr", "global_mmlu_full_de_anatomy": "", "arc_de": "de", "turkishmmlu_biology": "tr"}
NAMED |= {"include_base_44_persian_history": "fa", "mmlu_prox_lite_sw_law": "", "arabicmmlu_law": "ar"}


@pytest.mark.parametrize(
    ("names", "text", "language"),
    [
        *(([name], "", language) for name, language in NAMED.items()),
        (["mmlu"], "Which of the following is the capital of France?", "en"),
        *((["mmlu"], "다음 중 옳은 것은?", "ko"), (["mmlu"], "下列哪一項是正確的？", "zh")),
        *((["mmlu"], "次のうち正しいものはどれか。", "ja"), (["mmlu"], "Ποιο είναι σωστό;", "el")),
        (["mmlu"], "Que es lo correcto?", ""),  # Latin letters
        (["mmlu"], "Что верно?", ""),  # several languages
        *((["mmlu"], text, "") for text in ("", "2 + 2 = ?")),
        (["default", "kmmlu_korean"], "Which of the following?", "ko"),  # the first name that says it
    ],
)
def test_languages(names: list[str], text: str, language: str) -> None:
    assert language_of(names, [text]) == language
