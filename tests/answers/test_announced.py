from pathlib import Path

import pytest
import yaml
from lm_eval.tasks.mmlu_prox.lang_libs import LANG_LIBS

from lm_eval_cora.answers.announced import languages
from lm_eval_cora.answers.records import answer_in, read_answer
from tests.support.responses import pairs

RESPONSES = yaml.safe_load(Path(__file__).with_name("announcements.yaml").read_text(encoding="utf-8"))
OPTIONS = ["Steam", "Ice", "Fog", "Dew", "Hail"]


@pytest.mark.parametrize("code", RESPONSES)
@pytest.mark.parametrize("letter", "AE")  # words of some languages
def test_responses_in_the_style_of_native_speakers(code, letter):
    for response in RESPONSES[code]["said"]:
        for said in (response, f"1 + 1 = 2.\n\n{response}"):
            answer = read_answer(said.format(letter), OPTIONS)
            assert answer.position == "ABCDE".index(letter), said
            assert answer.span is not None
            assert letter in said.format(letter)[slice(*answer.span)]
    for response in RESPONSES[code]["not_said"]:
        assert read_answer(response.format(letter), OPTIONS).position is None, response


def test_every_language_has_responses():
    assert RESPONSES.keys() == languages().keys()


def test_the_sentence_that_a_task_of_the_harness_asks_for():
    asked = {code: words[5] for code, words in LANG_LIBS.items() if code in languages()}
    assert len(asked) == 21
    assert {read_answer(text.format("C"), OPTIONS).position for text in asked.values()} == {2}


def test_labels_of_the_task_and_an_option_that_says_no():
    doc = {"ask": "letter", "printed": [0, 1, 2], "choices": OPTIONS[:3], "labels": ("أ", "ب", "ج")}
    assert answer_in(doc, "الإجابة الصحيحة هي ب.", "flexible").picked == 1
    options = ["Vapor", "Hielo", "Ninguna de las anteriores"]
    assert read_answer("La respuesta es: Ninguna de las anteriores", options).position == 2
    assert read_answer("La respuesta correcta es hielo.", options).position == 1


def test_an_ending_belongs_to_the_option_if_an_option_has_it():
    assert read_answer("Doğru cevap: Ankara'da", ["Ankara", "Ankara'da", "İzmir"]).position == 1
    assert read_answer("Doğru cevap Ankara'dır.", ["Ankara", "İstanbul'da"]).position == 0


def test_second_thoughts_in_other_languages():
    said = "Zuerst gesagt. Die Antwort ist B. Aber vielleicht ist es doch"
    assert read_answer(f"{said} anders, denn das Wasser gefriert erst bei null Grad und", OPTIONS).position is None
    assert read_answer(said, OPTIONS).position == 1
    lawful = ["Sí, porque hay ley", "No, porque no hay ley"]
    assert read_answer("La respuesta correcta es B. No, porque no hay ley", lawful).position == 1
    assert read_answer("La risposta corretta è: ma non troppo", ["ma non troppo", "allegro"]).position == 0


SAID = {
    # The sentence goes on, or an answer is taken back.
    1: (
        "正确答案是B，但是C也对",
        "正确答案是B，这是A国的首都",
        "Richtig wäre Antwort B, falsch ist C.",
        "选B，不选C",
        "La respuesta correcta es B, el símbolo del carbono es C",
        "La bonne réponse est B, le symbole est C.",
        "水很冷。所以，正确答案是B，但是要注意温度",
        "よく考える。正解はB。水は子供でも知っている",
        "これはIceです。よって、残るのはBです。",
        "Antwort: A. Moment, das war falsch. Richtig ist also B.",
        "La afirmación falsa es la número B.",
        "Варианты A, C и D отпадают, поэтому выбираем B.",
        "答えはCです。すみません、訂正します。正しくはBです。",
        "答案是A。不对，应该是B。",
    ),
    # A word, a negation, or a correction without a choice.
    None: (
        "La respuesta es A menudo falsa.",
        "A resposta correta é água.",
        "È a volte la B?",
        "A doğru deyil.",
        "A to'g'ri emas",
        "La respuesta no es la B.",
    ),
}


@pytest.mark.parametrize(("said", "position"), pairs(SAID))
def test_a_letter_in_a_sentence(said, position):
    assert read_answer(said, OPTIONS).position == position


def test_texts_in_scripts_without_spaces():
    rulers, processes = ["세종대왕", "이순신", "장영실"], ["光合作用", "呼吸作用", "蒸腾作用"]
    assert read_answer("훈민정음을 창제한 인물은 세종대왕입니다.", rulers).position == 0
    assert read_answer("主要过程是**蒸腾作用**。光合作用制造有机物，呼吸作用分解有机物。", processes).position == 2
    assert read_answer("उत्तर: कला", ["कल", "आज"]).position is None
