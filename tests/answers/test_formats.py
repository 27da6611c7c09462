from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from lm_eval_cora.answers import Answer, Reader, Reason
from lm_eval_cora.answers.formats import FORMATS, LETTER, SELECT_ALL, YES_NO, format_of
from lm_eval_cora.answers.records import Record
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.divergent import divergent
from lm_eval_cora.variants.plus import plus
from lm_eval_cora.variants.revas import revas
from lm_eval_cora.variants.template import Template, own_templates
from lm_eval_cora.variants.variant import Variant

KEPT = Path(__file__).parents[1] / "prompts"
QUESTION = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
SOURCE = {"question_id": "q1", "kind": "x", "ordinal": 0, "variants": 1, "category": "", "original": False}
PROBES = {"plus": plus(QUESTION), "revas": revas(QUESTION)}
OF_FIVE = Question("water-1", "What is the name for frozen water?", ("Steam", "Ice", "Fog", "Dew", "Rain"), 1)
FIRST_OF_KIND = {variant.kind: variant for variant in reversed(divergent(OF_FIVE))}


def kept(name: str) -> str:
    return (KEPT / f"{name}.txt").read_text(encoding="utf-8")


def prompt_of(variant: Variant) -> str:
    return format_of(vars(variant)).prompt(vars(variant))


def doc_of(text: str, choices: list[str]) -> dict[str, object]:
    return {"question": text, "choices": choices}


def first_of(probe: str, kind: str) -> Variant:
    return next(variant for variant in PROBES[probe] if variant.kind == kind)


@pytest.mark.parametrize("kind", FIRST_OF_KIND)
def test_prompt_of_each_kind_of_the_divergent_probe(kind: str) -> None:
    # A changed prompt changes scores: if you change it on purpose, raise the version in the task files.
    assert prompt_of(FIRST_OF_KIND[kind]) == kept(f"divergent_{kind}")


@pytest.mark.parametrize(
    ("probe", "kind"),
    [
        ("plus", "shuffled"),
        ("plus", "options_2"),
        ("plus", "options_6"),
        ("plus", "nota_answer"),
        ("revas", "options_10_shuffled"),
        ("revas", "nota_answer"),
        ("revas", "nota_answer_shuffled"),
        ("revas", "replaced"),
    ],
)
def test_prompts_that_ask_for_one_letter(probe: str, kind: str) -> None:
    # A changed prompt changes scores: if you change it on purpose, raise the version in the task files.
    assert prompt_of(first_of(probe, kind)) == kept(f"{probe}_{kind}")


@pytest.mark.parametrize("kind", ["true_or_false_right", "true_or_false_wrong"])
def test_prompts_that_ask_whether_an_option_is_right(kind: str) -> None:
    assert prompt_of(first_of("revas", kind)) == kept(f"revas_{kind}")


def test_prompt_that_asks_for_all_right_letters() -> None:
    assert prompt_of(first_of("revas", "select_all")) == kept("revas_select_all")


def test_text_before_scored_answers() -> None:
    assert YES_NO.context(vars(first_of("revas", "true_or_false_right"))) == kept("scored_true_or_false")
    assert LETTER.context(vars(first_of("plus", "options_6"))) == kept("scored_options_6")


@pytest.mark.parametrize("template", own_templates().all, ids=str)
def test_our_own_ten_templates(template: Template) -> None:
    # The templates of SCORE are not kept here, because they are read from the installed harness.
    assert template.render(QUESTION.stem, QUESTION.choices) == kept(f"prompts_{template.name}")


def test_the_instruction_names_the_printed_letters() -> None:
    assert "(A, B or C)" in LETTER.prompt(doc_of("Which?", ["1", "2", "3"]))
    assert "Y or Z)" in LETTER.prompt(doc_of("Which?", list(map(str, range(26)))))
    assert "(one or more of A and B)" in SELECT_ALL.prompt(doc_of("Which?", ["1", "2"]))
    assert "(one or more of A, B and C)" in SELECT_ALL.prompt(doc_of("Which?", ["1", "2", "3"]))
    assert "Y and Z)" in SELECT_ALL.prompt(doc_of("Which?", list(map(str, range(26)))))


@pytest.mark.parametrize("text", ["{{ 7 * 7 }}", "Which?"])
def test_an_instruction_does_not_depend_on_the_question(text: str) -> None:
    def instruction(prompt: str) -> str:
        return prompt.partition("\n\n")[0]

    assert instruction(YES_NO.prompt(doc_of(text, [text]))) == instruction(kept("revas_true_or_false_wrong"))
    assert instruction(SELECT_ALL.prompt(doc_of(text, ["", text, "", ""]))) == instruction(kept("revas_select_all"))


@pytest.mark.parametrize("render", [LETTER.prompt, LETTER.context, SELECT_ALL.prompt])
def test_more_options_than_letters_are_an_error(render: Callable[[dict[str, object]], str]) -> None:
    with pytest.raises(ValueError, match="longer"):
        render(doc_of("Which?", list(map(str, range(27)))))


@pytest.mark.parametrize(
    "text",
    [
        "$\\frac{1}{2}$ {{ 7 * 7 }}",
        "{% raw %}",
        "{# gone? #}",
        "<b>&amp;</b>",
        "\"quoted\" 'text'",
        "two\nlines ",
        " \t indented",
        "שלום",
        "",
        "x" * 30_000,
    ],
)
def test_question_and_options_reach_the_model_unchanged(text: str) -> None:
    claim = f"Question: {text}\nProposed answer: {text}\nIs this the right answer to the question, yes or no?\nAnswer:"
    assert YES_NO.context(doc_of(text, [text])) == claim
    assert YES_NO.prompt(doc_of(text, [text])).endswith(f"\n\n{claim}")
    block = f"Question: {text}\nChoices:\nA. {text}\nB. other\nAnswer:"
    assert LETTER.context(doc_of(text, [text, "other"])) == block
    assert LETTER.prompt(doc_of(text, [text, "other"])).endswith(f"\n\n{block}")
    assert SELECT_ALL.prompt(doc_of(text, [text, "other"])).endswith(f"\n\n{block}")


def test_each_format_has_its_own_description_and_an_instruction() -> None:
    assert len({answer_format.description for answer_format in FORMATS.values()}) == len(FORMATS)
    assert all(answer_format.instruction for answer_format in FORMATS.values())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("reader", get_args(Reader))
def test_each_reader_reads_the_target_of_an_exemplar(name: str, reader: Reader) -> None:
    answer_format = FORMATS[name]
    question = OpenQuestion("q1", "One half?", "0.5") if answer_format.is_open else QUESTION
    like = {"template": Template("brief", "{question}")} if answer_format.uses_templates else {}
    doc = answer_format.exemplar(question, like, claimed=1)
    answer = answer_format.read(answer_format.target(doc), doc, reader)
    record = Record.of({**SOURCE, **doc, "ask": name}, answer, matches=answer.written == "0.5")
    assert record.correct
    assert doc["text"] == answer_format.context(doc)


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
