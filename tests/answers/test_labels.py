"""Labels other than A, B, C become letters where they stand like a label or are announced as one."""

import pytest

from lm_eval_cora import score
from lm_eval_cora.answers.labels import put_into_letters
from lm_eval_cora.answers.plain import Edited
from lm_eval_cora.answers.records import read_answer
from lm_eval_cora.errors import UserError
from tests.support.responses import pairs

OPTIONS = ["Steam", "Ice", "Fog", "Rain", "Dew"]
DIGITS, SMALL, ROMAN, KANA, HANGUL = "12345", "abcd", ("I", "II", "III", "IV"), "アイウエ", "가나다라"
THIRD = {
    DIGITS: (
        "3",
        "(3) Fog",
        "3번 - 안개",
        "최종 정답: 3번",
        "정답은 3번입니다.",
        "정답은 ③",
        "答え：3番",
        "正确答案是第3项。",
        "La opción 3 porque hace frío",
        "№ 3",
        "Ответ: № 3",
        "The answer is 3 because it is wet",
        "**Answer:** ３",
        "Die Antwort ist 3.",
    ),
    SMALL: ("c)", "The answer is c) Fog", "Answer: c", "C"),
    ROMAN: ("III", "The answer is III.", "I think it is III."),
    KANA: ("ウ", "正解：ウ", "答えはウです。"),
    HANGUL: ("다", "정답: 다", "정답은 다입니다."),
}


@pytest.mark.parametrize(("said", "labels"), pairs(THIRD))
@pytest.mark.parametrize("before", ["", "1.5 + 1 = 2.5\n\n"])
def test_a_label_is_read_and_its_place_is_that_of_the_whole_label(labels, said, before):
    answer = read_answer(before + said, OPTIONS[: len(labels)], labels=tuple(labels))
    assert answer.position == 2
    assert answer.span is not None
    assert (before + said)[slice(*answer.span)].startswith((labels[2], "③", "❸", "３", "C"))
    assert answer.span[1] <= len(before + said)


@pytest.mark.parametrize(
    "said", ["I saw 3 apples.", "It has 3.5 g", "3%", "It is 13.", "The answer is 3.5", "about 3 of 4 people", "1,3"]
)
def test_a_number_is_no_label(said):
    assert read_answer(said, OPTIONS, labels=tuple(DIGITS)).position is None


def test_a_number_that_begins_the_text_of_an_option_is_no_label():
    apples = ["2 apples", "3 apples", "4 apples"]
    for labels in ((), ("1", "2", "3")):
        assert read_answer("The answer is 3 apples", apples, labels=labels).position == 1


READ = {
    # Options that are numbers, or begin with one.
    ("2", "1", "4", "3"): {2: ("Answer: 3) 4",)},
    ("3", "1", "4", "2"): {1: ("The answer is option 2, which is 1.", "2: 1")},
    ("-2", "2", "3", "-3"): {0: ("-2",)},
    ("$1", "$2", "$20", "$30"): {1: ("$2",)},
    ("Steam", "Ice", "Fog", "Rain"): {None: ("1 and 3", "답은 2가지가 있습니다.")},
}


@pytest.mark.parametrize(
    ("options", "said", "position"), [(options, *case) for options, groups in READ.items() for case in pairs(groups)]
)
def test_options_that_are_numbers_or_begin_with_one(options, said, position):
    assert read_answer(said, options, labels=("1", "2", "3", "4")).position == position


def test_a_word_is_no_label():
    assert read_answer("Ответ в том, что вода мокрая", OPTIONS[:4], labels=("а", "б", "в", "г")).position is None
    assert read_answer("이 보기는 나 자신", OPTIONS[:4], labels=tuple(HANGUL)).position is None


def test_letters_that_do_not_begin_with_a_are_labels():
    rows = [{"question": "q", "kind": "original", "options": OPTIONS[:3], "labels": ["B", "C", "D"]}]
    scores = score([{**rows[0], "answer": "C", "response": "The answer is C."}])
    assert scores["acc"].value == 1


def test_the_text_can_be_traced_back():
    text = Edited("第3项, IV")
    put_into_letters(text, ("3", "IV"))
    assert text.text == "第A项, B"
    assert [text.span(1, 2), text.span(5, 6)] == [(1, 2), (5, 7)]


def test_both_readers_read_labels():
    strict = read_answer("(3) because", OPTIONS, labels=tuple(DIGITS), reader="strict")
    assert (strict.position, strict.span) == (2, (0, 11))


@pytest.mark.parametrize("labels", ["12345", ["1", "2"], ["1", "1", "2", "3", "4"], [*"12345", "5"], [1, 2], [""] * 5])
def test_each_option_needs_a_label_of_its_own(labels):
    with pytest.raises(UserError, match="read_answer: labels: expected a different label for each option, got"):
        read_answer("1", OPTIONS, labels=labels)
