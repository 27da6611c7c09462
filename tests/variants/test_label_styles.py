import re

import pytest
from hypothesis import given

import lm_eval_cora as cora
from lm_eval_cora.answers.formats import LETTER
from lm_eval_cora.answers.records import read_answer
from lm_eval_cora.questions.question import LETTERS, Question
from lm_eval_cora.variants.label_styles import STYLES, labels
from tests.support.questions import WATER, questions
from tests.support.responses import pairs


def test_the_labels():
    roman = STYLES["roman"]
    assert " ".join(roman[:10]) == "i ii iii iv v vi vii viii ix x"
    assert list(roman[10:]) == [f"x{ten_less}" for ten_less in roman[:16]]
    assert all(len(set(style)) == 26 for style in STYLES.values())
    assert "".join(STYLES["lower_case"]) == LETTERS.lower()
    assert not re.search(r"[\w\s!-~]", "".join(STYLES["symbols"]))


@given(questions)
def test_only_the_labels_change(question):
    original, *others, listed = map(vars, labels(question))
    assert original["original"]
    assert listed == original | {"ordinal": 5, "kind": "none", "original": False, "ask": "option_text"}
    assert [*map(vars, labels(question, written=False))] == [one | {"variants": 5} for one in (original, *others)]
    for ordinal, (doc, (kind, style)) in enumerate(zip(others, STYLES.items(), strict=True), 1):
        assert doc == original | {"ordinal": ordinal, "kind": kind, "original": False, "labels": style}
        assert LETTER.scored(doc) == list(style[: len(question.choices)])
        assert LETTER.target(doc) == style[question.answer]


def test_exemplars_have_the_labels_of_the_variant_also_with_more_options():
    for doc in map(vars, labels(Question("q", "Wet?", ("Sand", "Sea"), 1), written=False)):
        exemplar = LETTER.exemplar(WATER, doc)
        assert f"\n{doc.get('labels', LETTERS)[3]}. Dew\n" in exemplar["text"]
        assert LETTER.target(exemplar) == doc.get("labels", LETTERS)[1]


def test_a_question_whose_options_name_letters_is_left_out():
    both = {"question": "What is cold?", "choices": ["Ice", "Snow", "Fire", "Both A and B"], "answer": "D"}
    rows = [both, {"question": "What is wet?", "choices": ["Sand", "Sea"], "answer": "B"}]
    assert len(cora.expand(rows, probe="labels")) == 6
    assert len(cora.expand(rows, probe="choices_only")) == 4


SAID = (
    *("{}", "{}.", "({})", "**{}**", "{}. Fog", "{} Fog", "{} because it is wet", "{}\n\nIt is wet.", "`{}`"),
    *("The answer is {}.", "Answer: {}", "The correct option is ({}): Fog", "I would choose {}.", "\\boxed{{{}}}"),
    *("Option {} is correct.", "My answer is {} because it is wet.", "{} is the correct answer.", "It is wet.\n\n{}"),
)
OPTIONS = ["Steam", "Ice", "Fog", "Rain", "Dew"]


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_label_is_read_in_every_style(style, said):
    for place, label in enumerate(style[:5]):
        for written in (label, label.upper()):
            text = said.format(written).replace("Fog", OPTIONS[place])
            assert read_answer(text, OPTIONS, labels=style[:5]).position == place


NOT_READ = {
    "lower_case": ("a solid form of water", "e.g. water", "Vitamin C is good.", "plan b.", "Water (a liquid) boils."),
    "numbers": ("The pH is 3.", "Type 2 diabetes", "There are 4 options.", "from 1 to 5", "There are 3, all cold."),
    "roman": ("I think it is cold.", "i.e. water", "World War II.", "stage iv cancer", "IV fluids are given."),
    "symbols": ("see § 5", "a ◊ b", "Vitamin C"),
}


@pytest.mark.parametrize(("said", "style"), pairs(NOT_READ))
def test_a_number_word_or_sign_in_a_sentence_is_no_answer(said, style):
    assert read_answer(said, OPTIONS, labels=STYLES[style][:5]).position is None
