import pytest

from lm_eval_cora.questions.languages import language_of, language_of_template, name_of_language

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
        (["mmlu"], "2 + 2 = ?", ""),
        (["default", "kmmlu_korean"], "Which of the following?", "ko"),  # the first name that says it
        # Many words, or another script, contradict a name; a few do not.
        (["wetter_de"], "What is frozen water? How many legs does an insect have? Ice Six", "en"),
        (["wetter_de", None], "Wie heißt gefrorenes Wasser? Wie viele Beine hat ein Insekt? Eis Sechs", "de"),
        *((["weather_en"], text, "de") for text in ("Welche Stadt liegt an der Elbe und ist die Hauptstadt?",)),
        *((["swahili"], text, "sw") for text in ("The question, in Swahili: Ni ipi kati ya kauli zifuatazo?", "x = 2")),
        (["arc_de"], "다음 중 옳은 것은?", "ko"),
        (["arc_ar"], "В каком городе находится музей и что в нём на первом этаже?", "ru"),
        *((["arc_sv"], text, "sv") for text in ("Vad är Frankrikes huvudstad? Hur många ben har en insekt?",)),
    ],
)
def test_languages(names, text, language):
    assert language_of(names, [text]) == language


def test_names_of_languages():
    assert [name_of_language(code) for code in ("de", "zh", "fil", "ig")] == ["German", "Chinese", "Filipino", "Igbo"]


@pytest.mark.parametrize(
    ("prompt", "text", "language"),
    [
        ("Question: {}\nAnswer:", "$\\frac{3}{4} x^2 = 3$ 1 2 3", "en"),
        ("Question: {}\nAnswer:", "a train runs 5 km / hr . what is the length ? 12 m 15 m 18 m", "en"),
        ("Question: {}\nAnswer:", "Koks yra didžiausias miestas? Vilnius Kaunas", ""),
        ("Question: {}\nAnswer:", "Ibu kota negara ini terletak di pulau mana? Jawa Bali", ""),
        ("Question : {}\n", "2 + 2 1 2 3", ""),  # English or French
        ("Frage: {}\nAntwort (A, B oder C):", "2 + 2 1 2 3", "de"),
        ("Pergunta: {}\nAnswer:", "Que cidade fica no norte? Porto Faro", "pt"),
        ("Питання: {}\nВідповідь:", "2 + 2 1 2 3", "uk"),
        ("Pregunta: {}\nResposta:", "2 + 2 1 2 3", ""),  # Galician, or Catalan
    ],
)
def test_the_template_tells_the_language(prompt, text, language):
    prompts = [prompt.format(text), prompt.format(f"Vraag: {text}")]
    assert language_of_template(prompts, [text, text]) == language
