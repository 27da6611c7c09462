"""Repairs of published texts, and similar texts that must stay unchanged. All examples come from real rows."""

from dataclasses import replace

import pytest

from lm_eval_cora.questions.repairs import REPAIRS, repaired, repaired_options, repaired_stem, without_own_letters
from lm_eval_cora.runs.task_files import benchmark
from tests.support.rows import LOCAL, question_of

QUOTING = [REPAIRS[name] for name in ("csv_quoting", "encoding", "ligatures")]


@pytest.mark.parametrize(
    ("published", "repaired_text"),
    [
        ('"""Vicarious liability"" is meant."', '"Vicarious liability" is meant.'),
        ('"judgment of a ""reasonable woman"" is. "', 'judgment of a "reasonable woman" is. '),
        *((text, text) for text in ('"want."', '"a" + "ab"', 'She said ""no"" to it', '""')),
        ("grantor \x80\x94grantee", "grantor \u2014grantee"),
        ("an \x80\x98A' credit", "an \u2018A' credit"),
        ('certificate."\x9d Which', 'certificate." Which'),
        ("\ufeffHis r\u00c3\u00a9sum\u00c3\u00a9", "His r\u00e9sum\u00e9"),
        ("9\u00c2\u00bd percent, \u00a7 2, \u00c3 la carte", "9\u00bd percent, \u00a7 2, \u00c3 la carte"),
        ("coe\ufb03cient of x\u00b2", "coefficient of x\u00b2"),
    ],
)
def test_quoting_and_encoding(published, repaired_text):
    assert repaired_stem(published, QUOTING) == repaired_text


def test_a_cell_that_is_no_text_stays_for_the_error_message():
    assert repaired(None, REPAIRS["encoding"].stem) is None
    assert without_own_letters(["a) Ice", None]) == ("a) Ice", None)


def test_text_of_any_size_is_read_in_time_proportional_to_it():
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
        *((["A. Dermatitis", "B. Pemphigus"], ("Dermatitis", "Pemphigus")), (["A)59", "B)49"], ("59", "49"))),
        *((["(A) Increased", "(B) Fell"], ("Increased", "Fell")), (["Ice", "b)\tTo act"], ("Ice", "To act"))),
        # Unchanged: names, references to statements, and parts of words.
        *((["A. Smith", "Jones"], ("A. Smith", "Jones")), (["A.", "B."], ("A.", "B."))),
        (["(A) and (C)", "(A) and (B)"], ("(A) and (C)", "(A) and (B)")),
        (["a) quatic", "b) real"], ("a) quatic", "b) real")),
        (["C. difficile", "B. fragilis"], ("C. difficile", "B. fragilis")),
    ],
)
def test_letters_of_their_own(published, printed):
    assert without_own_letters(published) == printed


@pytest.mark.parametrize(
    ("name", "stem", "options", "plain_stem", "plain_options"),
    [
        (
            "medqa", 'Which?"', ('Propranolol\n"', 'He says, ""no""', "\u043a agonist"),
            "Which?", ("Propranolol", 'He says, "no"', "\u03ba agonist"),
        ),
        (
            "medqa", '"Why?" she asks. "No"', ("pattern", "northern", "Ice"),
            '"Why?" she asks. "No"', ("pattern", "northern", "Ice"),
        ),
        (
            "medqa", "Which $$$ is %%% it?", ("Bleomycinrn", "Arn", "Brn", "Doxorubicinrn", "Vincristinern"),
            "Whichis | it?", ("Bleomycin", "Arn", "Brn", "Doxorubicin", "Vincristine"),
        ),
        ("mmlu", "?", ("a\n b", '"a ""c"""', "d \x80\x93 e", "ﬁsh"), "?", ("a b", 'a "c"', "d \u2013 e", "fish")),
        (
            "mmlu_pro", "Which?",
            ("(\nho - x) \x08eta \tau \x0bert \x07ngle", "Z\nceil and 9\night\\}", "x :=\t1;\n how",
             "first\nhour, then\nhome", "1 \t/ 2"),
            "Which?",
            (r"(\rho - x) \beta \tau \vert \angle", r"Z\rceil and 9\right\}", "x := 1; how",
             "first hour, then home", "1 / 2"),
        ),
        (
            "medmcqa", "27.\tThe manage!ment of\ncow\\'s milk: 3.5 kg!", ("3-Jan", "d) Not mine", "16-Apr", "d. IVC"),
            "The management of cow's milk: 3.5 kg!", ("1-3", "d) Not mine", "4-16", "IVC"),
        ),
        ("medmcqa", "1,1,1 glucose!6", ("3-5", "Jan-3", "a", "b"), "1,1,1 glucose!6", ("3-5", "Jan-3", "a", "b")),
        ("arc_challenge", 'plant ""Quickgrow""', ("Ice", "Fog"), 'plant "Quickgrow"', ("Ice", "Fog")),
    ],
)  # fmt: skip
def test_the_repairs_of_a_benchmark(name, stem, options, plain_stem, plain_options):
    reader = replace(LOCAL.reader, repairs=benchmark(name).reader.repairs, published=True)
    source = replace(LOCAL, reader=reader)
    question = question_of(source, {"question": stem, "choices": options, "answer": options[0]})
    assert (question.stem, question.choices) == (plain_stem, plain_options)
