import pytest
from hypothesis import given

from lm_eval_cora.answers.records import answer_in
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import ABSTAIN, Question
from lm_eval_cora.runs.task_files import benchmark, declaration
from lm_eval_cora.variants.abstain import abstain
from lm_eval_cora.variants.probes import PROBES, variants_of_all
from tests.support.questions import WATER, kinds_of, question_with, questions

ALL = "All of the above"


@given(questions)
def test_the_option_is_added_last_and_nothing_else_changes(question):
    original, *others = abstain(question)
    assert original.original
    assert (original.choices, original.question, original.answer) == (question.choices, question.stem, question.answer)
    assert len(others) == (0 if len(question.choices) == 26 else 2)
    for variant in others:
        assert variant.choices == (*question.choices, "I don't know")
        assert variant.printed == (*question.identities, ABSTAIN)
        assert variant.answer == question.answer != ABSTAIN
        assert variant.question.startswith(question.stem)
    assert [variant.question == question.stem for variant in others] in ([True, False], [])


def test_all_of_the_above_keeps_its_place_and_its_question_is_asked():
    question = Question("q", "Which?", ("Ice", "Fog", ALL), 2)
    assert not PROBES["abstain"].leaves_out(question, Options())
    assert {variant.choices[2] for variant in abstain(question)} == {ALL}


def test_a_question_that_has_the_option_is_asked_as_it_is():
    assert kinds_of(abstain(Question("q", "Who?", ("She", "I don't know"), 0))) == ["original"]


def added(options, **more):
    return variants_of_all([WATER], PROBES["abstain"], options, **more)[1].choices[-1]


def test_the_option_is_in_the_language_of_the_benchmark_unless_the_user_sets_it():
    german = benchmark("global_mmlu", {"config": ("de",)})
    assert added(Options()) == added(Options(), benchmark=benchmark("medqa")) == "I don't know"
    assert added(Options(), benchmark=german) == "Ich weiß es nicht"
    assert added(Options(abstain_text="Keine Ahnung"), benchmark=german) == "Keine Ahnung"
    with pytest.raises(UserError, match="'abstain_text': the probe 'order' ignores it"):
        variants_of_all([WATER], PROBES["order"], Options(abstain_text="?"))


TEXTS = declaration("global_mmlu")["abstain_text"]
UNREAD = [TEXTS["si"], TEXTS["te"]]  # the reader finds no text alone that ends in a vowel sign, of any option


def test_each_language_has_a_text():
    assert TEXTS.keys() == declaration("global_mmlu")["nota_text"].keys() == {*declaration("global_mmlu")["configs"]}


@pytest.mark.parametrize("options", [2, 8, 9, 14])  # the ninth letter is I, which is a word
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_an_abstention_is_read_by_letter_and_by_text(text, options):
    doc = vars(abstain(question_with(options), text=text)[1])
    letter = "ABCDEFGHIJKLMNO"[options]
    alone = [] if text in UNREAD else [text, f"{text}."]
    for said in (letter, f"({letter})", f"{letter}. {text}", f"The answer is {letter}.", *alone):
        answer = answer_in(doc, said, "flexible")
        assert (answer.picked, answer.reason) == (ABSTAIN, None), said
    assert answer_in(doc, letter, "strict").picked == ABSTAIN


@pytest.mark.parametrize("said", ["I don't know, but I think it is B.", "B\n\nI don't know why.", "B"])
def test_an_answer_after_a_doubt_is_no_abstention(said):
    assert answer_in(vars(abstain(WATER)[1]), said, "flexible").picked == 1
