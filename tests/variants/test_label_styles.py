import re

import pytest
from hypothesis import given

import lm_eval_cora as cora
from lm_eval_cora.answers.formats import LETTER
from lm_eval_cora.answers.records import read_answer
from lm_eval_cora.questions.question import LETTERS, Question
from lm_eval_cora.variants.label_styles import STYLES, labels
from tests.support.questions import WATER, questions

ROMAN = {"i": 1, "v": 5, "x": 10}


def value_of(numeral):
    """A Roman numeral: a smaller sign before a larger one is subtracted."""
    signs = [ROMAN[sign] for sign in numeral]
    return sum(-one if one < after else one for one, after in zip(signs, [*signs[1:], 0], strict=True))


def test_the_labels():
    assert list(STYLES) == ["lower_case", "numbers", "roman", "symbols"]
    assert all(len(set(style)) == 26 for style in STYLES.values())
    assert "".join(STYLES["lower_case"]) == LETTERS.lower()
    assert list(map(int, STYLES["numbers"])) == list(map(value_of, STYLES["roman"])) == list(range(1, 27))
    assert not re.search(r"[\w\s!-~]", "".join(STYLES["symbols"]))


@given(questions)
def test_only_the_labels_change(question):
    variants = labels(question)
    assert [variant.kind for variant in variants if variant.original] == ["original"]
    for variant in variants:
        assert (variant.printed, variant.choices) == (question.identities, question.choices)
        own = STYLES.get(variant.kind, LETTERS)[: len(question.choices)]
        lines = [f"{label}. {text}" for label, text in zip(own, question.choices, strict=True)]
        assert "\n".join(lines) in variant.prompt
        assert f"({', '.join(own[:-1])} or {own[-1]})" in variant.prompt
        assert LETTER.scored(vars(variant)) == list(own)
        assert LETTER.target(vars(variant)) == own[question.answer]


def test_exemplars_have_the_labels_of_the_variant_also_with_more_options():
    for variant in labels(Question("q", "Wet?", ("Sand", "Sea"), 1)):
        style = STYLES.get(variant.kind, LETTERS)
        doc = LETTER.exemplar(WATER, vars(variant))
        assert f"\n{style[3]}. {WATER.choices[3]}\n" in doc["text"]
        assert LETTER.target(doc) == style[WATER.answer]


def test_a_question_whose_options_name_letters_is_left_out():
    both = {"question": "What is cold?", "choices": ["Ice", "Snow", "Fire", "Both A and B"], "answer": "D"}
    rows = [both, {"question": "What is wet?", "choices": ["Sand", "Sea"], "answer": "B"}]
    assert len(cora.expand(rows, probe="labels")) == 5
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
            assert read_answer(text, OPTIONS, labels=style[:5], reader="strict").position in (place, None)


NOT_READ = {
    "lower_case": ("a solid form of water", "e.g. water", "Vitamin C is good.", "plan b.", "Water (a liquid) boils."),
    "numbers": ("The pH is 3.", "Type 2 diabetes", "There are 4 options.", "from 1 to 5", "There are 3, all cold."),
    "roman": ("I think it is cold.", "i.e. water", "World War II.", "stage iv cancer", "IV fluids are given."),
    "symbols": ("see § 5", "a ◊ b", "Vitamin C"),
}


@pytest.mark.parametrize(("style", "said"), [(style, said) for style, each in NOT_READ.items() for said in each])
def test_a_number_word_or_sign_in_a_sentence_is_no_answer(style, said):
    assert read_answer(said, OPTIONS, labels=STYLES[style][:5]).position is None
