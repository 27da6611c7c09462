"""Repairs of published texts, and similar texts that must stay unchanged. All examples come from real rows."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.questions.adapters import agieval_question, math_question
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.questions.repairs import (
    REPAIRS,
    repaired,
    repaired_options,
    repaired_stem,
    without_own_letters,
)
from tests.support.rows import question_of

QUOTING = [REPAIRS[name] for name in ("csv_quoting", "encoding", "ligatures")]


@pytest.mark.parametrize(
    ("published", "repaired_text"),
    [
        ('"""Vicarious liability"" is meant."', '"Vicarious liability" is meant.'),
        (
            '"the judgment of a ""reasonable woman"" is offensive. "',
            'the judgment of a "reasonable woman" is offensive. ',
        ),
        ('"want."', '"want."'),
        ('"a" + "ab"', '"a" + "ab"'),
        ('She said ""no"" to it', 'She said ""no"" to it'),
        ('""', '""'),
        ("grantor \x80\x94grantee", "grantor \u2014grantee"),
        ("an \x80\x98A' credit", "an \u2018A' credit"),
        ('certificate."\x9d Which', 'certificate." Which'),
        ("\ufeffHis r\u00c3\u00a9sum\u00c3\u00a9", "His r\u00e9sum\u00e9"),
        ("9\u00c2\u00bd percent, \u00a7 2, \u00c3 la carte", "9\u00bd percent, \u00a7 2, \u00c3 la carte"),
        ("coe\ufb03cient of x\u00b2", "coefficient of x\u00b2"),
    ],
)
def test_quoting_and_encoding(published: str, repaired_text: str) -> None:
    assert repaired_stem(published, QUOTING) == repaired_text


def test_a_cell_that_is_no_text_stays_for_the_error_message() -> None:
    assert repaired(None, REPAIRS["encoding"].stem) is None
    assert without_own_letters(["a) Ice", None]) == ("a) Ice", None)


def test_text_of_any_size_is_read_in_time_proportional_to_it() -> None:
    # An algorithm with quadratic time would take hours here.
    hostile = '"' + '""a' * 300_000
    assert len(repaired_stem(hostile, QUOTING)) == len(hostile)
    every = list(REPAIRS.values())
    for blank in (" " * 100_000, "\n" * 100_000, "\t " * 50_000):
        for text in (f"a{blank}b", f'a{blank}"', f"{blank}a"):
            assert repaired_stem(text, every).strip()
            assert len(repaired_options([text, text], every)) == 2


@pytest.mark.parametrize(
    ("published", "printed"),
    [
        (["A. Dermatitis", "B. Pemphigus"], ("Dermatitis", "Pemphigus")),
        (["(A) Increased", "(B) Fell"], ("Increased", "Fell")),
        (["A)59", "B)49"], ("59", "49")),
        (["Ice", "b)\tTo act"], ("Ice", "To act")),
        # Unchanged: names, references to statements, and parts of words.
        (["A. Smith", "Jones"], ("A. Smith", "Jones")),
        (["(A) and (C)", "(A) and (B)"], ("(A) and (C)", "(A) and (B)")),
        (["a) quatic", "b) real"], ("a) quatic", "b) real")),
        (["C. difficile", "B. fragilis"], ("C. difficile", "B. fragilis")),
        (["A.", "B."], ("A.", "B.")),
    ],
)
def test_letters_of_their_own(published: list[str], printed: tuple[str, ...]) -> None:
    assert without_own_letters(published) == printed


def medqa_question(stem: str, *options: str) -> Question:
    pairs = [{"key": letter, "value": option} for letter, option in zip("ABCDE", options, strict=False)]
    return question_of("medqa", {"question": stem, "options": pairs, "answer_idx": "A", "answer": options[0]}, "test-0")


def test_medqa() -> None:
    question = medqa_question('Which?"', 'Propranolol\n"', 'He says, ""no""', "\u043a agonist")
    assert (question.stem, question.choices) == ("Which?", ("Propranolol", 'He says, "no"', "\u03ba agonist"))
    assert medqa_question('"Why?" she asks. "No"', "pattern", "Ice").stem == '"Why?" she asks. "No"'
    assert medqa_question("Which?", "pattern", "northern", "Ice").choices == ("pattern", "northern", "Ice")
    assert (
        medqa_question("Which?", "Bleomycinrn", "Arn", "Brn", "Doxorubicinrn", "Vincristinern").choices[0]
        == "Bleomycin"
    )


def test_mmlu() -> None:
    row = {
        "question": "Which?\r\n",
        "subject": "law",
        "choices": ["a\n b", '"a ""c"""', "d \x80\x93 e", "ﬁsh"],
        "answer": 0,
    }
    question = question_of("mmlu", row, "test-0")
    assert (question.stem, question.choices) == ("Which?", ("a b", 'a "c"', "d \u2013 e", "fish"))


@pytest.mark.parametrize(
    ("published", "printed"),
    [
        ("(\nho - x) \x08eta \tau \x0bert \x07ngle", r"(\rho - x) \beta \tau \vert \angle"),
        ("Z\nceil and 9\night\\}", r"Z\rceil and 9\right\}"),
        ("x :=\t1;\n how", "x := 1; how"),
        ("first\nhour, then\nhome", "first hour, then home"),
        ("1 \t/ 2", "1 / 2"),
    ],
)
def test_mmlu_pro_and_escapes_that_were_eaten(published: str, printed: str) -> None:
    row = {"question_id": 7, "question": "Which?", "options": [published, "other"], "answer": "A", "answer_index": 0}
    assert question_of("mmlu_pro", {**row, "category": "physics"}).choices[0] == printed


def medmcqa_question(stem: str, *options: str) -> Question:
    columns = dict(zip(("opa", "opb", "opc", "opd"), options, strict=True))
    return question_of("medmcqa", {"id": "q", "question": stem, **columns, "cop": 0}, "")


def test_medmcqa() -> None:
    question = medmcqa_question(
        "27.\tThe manage!ment of\ncow\\'s milk: 3.5 kg!", "3-Jan", "d) Not mine", "16-Apr", "d. IVC"
    )
    assert question.stem == "The management of cow's milk: 3.5 kg!"
    assert question.choices == ("1-3", "d) Not mine", "4-16", "IVC")
    assert medmcqa_question("1,1,1 glucose!6", "3-5", "Jan-3", "a", "b").stem == "1,1,1 glucose!6"


def of_agieval(query: str, *options: str, subset: str = "sat-en") -> Question:
    row: dict[str, Any] = {"query": f"{query} Answer Choices: {' '.join(options)}", "choices": list(options)}
    return agieval_question({**row, "gold": [0], "subset": subset}, "q")


def test_agieval() -> None:
    line = "larger than the.brains of others, and.so on "
    damaged = of_agieval(line * 10 + "in 0.7 U.S. foil-.covered back..“Indeed”", "(A)one", "(B)two").stem
    assert damaged == "larger than the brains of others, and so on " * 10 + "in 0.7 U.S. foil-covered back.\n“Indeed”"
    # A single match may be a typing error or a web address.
    assert of_agieval(line, "(A)one", "(B)two").stem == line.strip()
    options = of_agieval("Which?", "(A)(A)$\\quad 5$", "(B)(B)a DIRECTIONS", subset="sat-math").choices
    assert options == ("$\\quad 5$", "a")


def test_arc() -> None:
    choices = {"text": ["Ice", "Fog"], "label": ["A", "B"]}
    row = {"id": "q", "question": 'plant ""Quickgrow""', "choices": choices, "answerKey": "A"}
    assert question_of("arc_challenge", row, "").stem == 'plant "Quickgrow"'


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"so $\boxed{\frac{3}{2}}$, or $\boxed{\frac32}$", r"\frac{3}{2}"),
        (r"$\boxed{10\sqrt{2}}$ and $\boxed{10\sqrt 2}$", r"10\sqrt{2}"),
        (r"$x$ is $\boxed{0}$ or $\boxed{1}$", "0, 1"),
        (r"$\boxed{\frac12}$ or $\boxed{1}$, the first is $\boxed{\frac{1}{2}}$", r"\frac12, 1"),
    ],
)
def test_an_answer_to_math_that_is_boxed_twice(solution: str, answer: str) -> None:
    question = math_question({"problem": "Solve.", "level": "Level 1", "type": "Algebra", "solution": solution}, "q")
    assert isinstance(question, OpenQuestion)
    assert question.answer == answer
