from fractions import Fraction

import pytest
from hypothesis import given

from lm_eval_cora.answers.formats import LETTER
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.choices_only import choices_only
from tests.support.questions import WATER, questions


@given(questions)
def test_only_the_question_is_hidden(question):
    original, hidden = choices_only(question)
    assert (original.kind, original.original, original.question) == ("original", True, question.stem)
    assert (hidden.kind, hidden.original, hidden.question) == ("choices_only", False, "")
    before, options, _ = original.prompt.partition("\nChoices:\n")
    assert before.endswith(f"\n\nQuestion: {question.stem}")
    assert hidden.prompt.startswith(before.removesuffix(f"Question: {question.stem}"))
    assert hidden.prompt.partition("\nChoices:\n")[2] == original.prompt.partition("\nChoices:\n")[2]
    assert "Question:" not in hidden.prompt.partition("\nChoices:\n")[0]
    assert options


@given(questions)
def test_accuracy_of_the_longest_option(question):
    # Pick each of the longest options in turn, without a second copy of an option.
    picks = [option for option in set(question.choices) if all(len(option) >= len(other) for other in question.choices)]
    expected = Fraction(sum(option == question.choices[question.answer] for option in picks), len(picks))
    assert {variant.longest for variant in choices_only(question)} == {float(expected)}


@pytest.mark.parametrize(
    ("choices", "answer", "longest"),
    [
        (("ice", "steam", "fog"), 1, 1.0),
        (("ice", "steam", "fog"), 0, 0.0),
        (("ice", "dew", "fog"), 2, 1 / 3),
        (("ice", "fog", "fog"), 0, 0.5),  # equal options are one
    ],
)
def test_ties_and_equal_options(choices, answer, longest):
    assert choices_only(Question("q", "What?", choices, answer))[0].longest == longest


def test_exemplars_hide_their_question_too():
    original, hidden = map(vars, choices_only(Question("q", "Wet?", ("Sand", "Sea"), 1)))
    assert WATER.stem in LETTER.exemplar(WATER, original)["text"]
    text = LETTER.exemplar(WATER, hidden)["text"]
    assert WATER.stem not in text
    assert text.startswith("The question is hidden. Choose the option")
