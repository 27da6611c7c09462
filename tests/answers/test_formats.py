from __future__ import annotations

from typing import get_args

import pytest

from lm_eval_cora.answers import Answer, Reader, Reason
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import Record
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.template import READ_AFTER, Template, prompt_of

QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
SOURCE = {"question_id": "q1", "kind": "x", "ordinal": 0, "variants": 1, "category": "", "original": False}


def test_each_format_has_its_own_description_and_an_instruction() -> None:
    assert len({answer_format.description for answer_format in FORMATS.values()}) == len(FORMATS)
    assert all(answer_format.instruction for answer_format in FORMATS.values())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("reader", get_args(Reader))
def test_each_reader_reads_the_target_of_an_exemplar(name: str, reader: Reader) -> None:
    answer_format = FORMATS[name]
    question = OpenQuestion("q1", "One half?", "0.5") if answer_format.is_open else QUESTION
    like = {"template": Template("brief", "{question}")} if name in READ_AFTER else {}
    doc = answer_format.exemplar(question, like, claimed=1)
    answer = answer_format.read(answer_format.target(doc), doc, reader)
    record = Record.of({**SOURCE, **doc, "ask": name}, answer, matches=answer.written == "0.5")
    assert record.correct
    assert doc["text"] == prompt_of(doc, instruct=False)


@pytest.mark.parametrize("name", FORMATS)
def test_wrong_and_invalid_answers_and_how_they_are_shown(name: str) -> None:
    answer_format = FORMATS[name]
    doc = {**SOURCE, "ask": name, "printed": (0, 1), "choices": ("Ice", "Fog"), "answer": "1" if name == "boxed" else 0}
    invalid = Record.of(doc, Answer(reason=Reason.EMPTY))
    assert not invalid.correct
    assert answer_format.said(invalid, letters=True) is answer_format.said(invalid, letters=False) is None
    wrong = {
        "letter": Answer(picked=1, position=1),
        "best_answer": Answer(picked=1, position=1),
        "yes_no": Answer(selected=()),
        "select_all": Answer(selected=(0, 1)),
        "boxed": Answer(written="2"),
    }[name]
    record = Record.of(doc, wrong, matches=False)
    said = {"letter": "B", "best_answer": "B", "yes_no": "no", "select_all": "A, B", "boxed": "2"}[name]
    by_identity = {"letter": "1", "best_answer": "1", "select_all": "0 1"}.get(name, said)
    assert not record.correct
    assert answer_format.said(record, letters=True) == said
    assert answer_format.said(record, letters=False) == by_identity


@pytest.mark.parametrize(
    ("ask", "response", "complete"),
    [
        *(
            ("letter", said, True)
            for said in ("B", "B. Fo", "The answer is B. It", "Sure! The answer is:\n\nB. Fog\n\nIt")
        ),
        *(
            ("letter", said, False)
            for said in ("Okay, so A. Ice is", "Option B is Fog, which", "I think. So the answer is B. Or")
        ),
        ("letter", "The answer is B", False),
        ("best_answer", "It is wet. The best answer is B. ", True),
        ("best_answer", "It is wet, so the answer is B. But", False),
        *(("yes_no", said, complete) for said, complete in (("Yes, be", True), ("Ice is", False))),
        *(("select_all", said, complete) for said, complete in (("A, B\n\nIt", True), ("A, B", False))),
        *(("boxed", said, complete) for said, complete in (("\\boxed{2} is", True), ("The answer is 2", False))),
    ],
)
@pytest.mark.parametrize("opened", [False, True])
def test_a_response_that_was_cut_off_counts_only_with_a_complete_answer(
    ask: str, response: str, complete: bool, opened: bool
) -> None:
    doc = {"ask": ask, "printed": [0, 1], "choices": ["Ice", "Fog"], "answer": 1}
    text = f"<think>{response}" if opened else response
    answer = FORMATS[ask].read(text, doc, "flexible", cut_off=True)
    assert (answer.reason is None) is (complete and not opened)
    assert answer.reason in (None, Reason.CUT_OFF)
