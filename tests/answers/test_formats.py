"""What all answer formats share."""

from time import process_time
from typing import get_args

import pytest

from lm_eval_cora.answers import Answer, Reader, Reason
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import Record
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.template import READ_AFTER, Template, prompt_of
from tests.support.responses import pairs

QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
SOURCE = {"question_id": "q1", "kind": "x", "ordinal": 0, "variants": 1, "category": "", "original": False}
BOTH = [(name, reader) for name in FORMATS for reader in get_args(Reader)]


def doc_of(name):
    question = OpenQuestion("q1", "One half?", "0.5") if FORMATS[name].is_open else QUESTION
    like = {"template": Template("brief", "{question}")} if name in READ_AFTER else {}
    return FORMATS[name].exemplar(question, like, claimed=1)


def test_each_format_has_its_own_description_and_an_instruction():
    assert len({answer_format.description for answer_format in FORMATS.values()}) == len(FORMATS)
    assert all(answer_format.instruction for answer_format in FORMATS.values())


@pytest.mark.parametrize(("name", "reader"), BOTH)
@pytest.mark.parametrize(
    "around",
    [
        *("{}", " \n{}" + "\n" + " x" * 500_000, " " * 1_000_000 + "{}"),
        *("<think>yes? A, B! \\boxed{{1}}</think>\n\n{}", "no, A</think>{}", "<thinking>A</thinking> {}"),
        "[THINK]No. A?[/THINK]{}",
        "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>{}",
    ],
)
def test_each_reader_reads_the_target_of_an_exemplar(name, reader, around):
    answer_format, doc = FORMATS[name], doc_of(name)
    answer = answer_format.read(around.format(answer_format.target(doc)), doc, reader)
    record = Record.of({**SOURCE, **doc, "ask": name}, answer, matches=answer.written == "0.5")
    assert record.correct
    assert doc["text"] == prompt_of(doc, instruct=False)


NOTHING = {
    Reason.EMPTY: ("", " \n\t ", "\u3000", "<think>{}</think>\n"),
    Reason.REFUSED: ("I'm sorry, but", "I’m sorry", "I cannot answer", "As an AI language model"),
    Reason.CUT_OFF: ("<think>Okay, {}", "<|channel|>analysis<|message|>{}", "[THINK]{}"),
}


@pytest.mark.parametrize(("name", "reader"), BOTH)
@pytest.mark.parametrize(("around", "reason"), pairs(NOTHING))
def test_reasons_that_all_formats_share(name, reader, around, reason):
    doc = doc_of(name)
    target = "A" * 30 if reason is Reason.EMPTY else FORMATS[name].target(doc)  # a short answer may end the reasoning
    assert FORMATS[name].read(around.format(target), doc, reader).reason is reason


UNITS = (
    *("*", "_", "(", "-", "- ", ",", ", ", "{", "\\", "\n", "\n*", "1. ", "A, ", "A", "A\n", "A ", "(A", "A. x, "),
    *("A,*", "A and ", "- A\n", "*A\n\n", "B. x\n", "the ", "all ", "and ", "yes", "answer", "answer:"),
    *("best", "best answer "),
    *("best" + " " * 1_000, "best answer is", "best answer is [", r"best answer is \boxed{", "best answer is <", " "),
    *(r"\boxed{", r"\boxed", r"\boxed ", r"\boxed{\boxed{1}", r"\fbox{1}", "</think>", "<think>", "answer is "),
)
PROSE = ("A ", "the answer is ", "A. Ice\n", "answer: ", "is ", "\\boxed{", "A, ", "not A ", " \n", "(", "n't ")


@pytest.mark.parametrize(("name", "reader"), BOTH)
def test_megabytes_are_read_in_linear_time(name, reader):
    doc = doc_of(name)
    for unit in PROSE if reader == "flexible" else UNITS:
        start = process_time()
        FORMATS[name].read(unit * (100_000 // len(unit)), doc, reader)
        # It takes some hundredths of a second. With a rule that takes quadratic time this would not end.
        assert process_time() - start < 5, unit


@pytest.mark.parametrize("name", FORMATS)
def test_wrong_and_invalid_answers_and_how_they_are_shown(name):
    answer_format = FORMATS[name]
    doc = {**SOURCE, "ask": name, "printed": (0, 1), "choices": ("Ice", "Fog"), "answer": "1" if name == "boxed" else 0}
    invalid = Record.of(doc, Answer(reason=Reason.EMPTY))
    assert not invalid.correct
    assert all(answer_format.said(invalid, (0, 1), letters=letters) is None for letters in (True, False))
    wrong, by_identity = {
        "yes_no": (Answer(selected=()), "no"),
        "select_all": (Answer(selected=(0, 1)), "0 1"),
        "boxed": (Answer(written="2"), "2"),
    }.get(name, (Answer(picked=1, position=1), "1"))
    record = Record.of(doc, wrong, matches=False)
    assert not record.correct
    assert answer_format.said(record, (0, 1), letters=False) == by_identity


WORD_I = {
    "letter": ("{}", "I think", "I don't know"),
    "best_answer": ("The best answer is {}", "The best answer is I don't know", "The best answer is I can't tell"),
    "select_all": ("{}", "I think", "B, I think"),
}


@pytest.mark.parametrize(("name", "reader"), [(name, reader) for name in WORD_I for reader in get_args(Reader)])
def test_a_bare_i_is_a_letter_unless_a_lower_case_word_follows(name, reader):
    doc = {"printed": range(9), "choices": [f"weather {number}" for number in range(9)]}
    written, *others = WORD_I[name]
    for letter in ("I", "I.", "(I)"):
        assert FORMATS[name].read(written.format(letter), doc, reader).value in (8, (8,))
    for other in others:
        assert FORMATS[name].read(other, doc, reader).value is None


COMPLETE = {
    "letter": ("B", "B. Fo", "The answer is B. It", "Sure! The answer is:\n\nB. Fog\n\nIt"),
    "best_answer": ("It is wet. The best answer is B. ",),
    "yes_no": ("Yes, be",),
    "select_all": ("A, B\n\nIt",),
    "boxed": ("\\boxed{2} is",),
}
INCOMPLETE = {
    "letter": (
        *("Okay, so A. Ice is", "Option B is Fog, which", "I think. So the answer is B. Or", "The answer is B"),
    ),
    "best_answer": ("It is wet, so the answer is B. But",),
    "yes_no": ("Ice is",),
    "select_all": ("A, B", "A, B\n"),
    "boxed": ("The answer is 2",),
}


@pytest.mark.parametrize(
    ("response", "ask", "complete"),
    [(*pair, complete) for complete, groups in ((True, COMPLETE), (False, INCOMPLETE)) for pair in pairs(groups)],
)
@pytest.mark.parametrize("opened", [False, True])
def test_a_response_that_was_cut_off_counts_only_with_a_complete_answer(ask, response, complete, opened):
    doc = {"ask": ask, "printed": [0, 1], "choices": ["Ice", "Fog"], "answer": 1}
    text = f"<think>{response}" if opened else response
    answer = FORMATS[ask].read(text, doc, "flexible", cut_off=True)
    assert (answer.reason is None) is (complete and not opened)
    assert answer.reason in (None, Reason.CUT_OFF)
