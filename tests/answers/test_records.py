"""Responses that are read: random ones by every reader, and one that is explained."""

import io
import os
import random
from dataclasses import replace
from functools import partial
from itertools import islice, permutations, product
from typing import get_args

import pytest

import lm_eval_cora as cora
from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import BLOCKED, Response, answer_and_format, around, read_response
from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import Reader
from tests.support.responses import made_up

RESPONSES = int(os.environ.get("CORA_FUZZ", "15000"))
CHOICES = (
    ["Ice", "Fog", "Dew", "Steam"],
    ["1", "2", "12", "-2", "1,000"],
    ["True, False", "False, True", "True, True", "None of the above"],
    ["a cat", "A cat and a dog", "A", "I", "yes", "no", "not a cat", "all of the above", "B", "(?P<a>"],
)


def doc_of(ask, choices):
    chosen = {"boxed": [], "yes_no": choices[:1]}.get(ask, choices)
    source = {"question_id": "q", "kind": "x", "ordinal": 0, "original": False, "variants": 1, "category": ""}
    return {**source, "ask": ask, "printed": list(range(len(chosen))), "choices": chosen, "answer": 0}


@pytest.mark.parametrize("ask", FORMATS)
def test_every_response_has_an_answer_or_a_reason(ask):
    for seed, choices in enumerate(CHOICES):
        doc = doc_of(ask, choices)
        responses = made_up(random.Random(f"{ask} {seed}"), choices)
        # A fifth of them are duplicates. `dict.fromkeys` removes them and keeps the same order in every run.
        for response in dict.fromkeys(islice(responses, RESPONSES // len(CHOICES) // len(FORMATS))):
            record = read_response(doc, [response])
            assert record.invalid is (record.reason is not None), response
            assert record.picked is None or record.picked in doc["printed"], response
            selected = record.selected or ()
            assert selected == tuple(one for one in doc["printed"] if one in selected), response
            assert not record.invalid or response.startswith(record.excerpt), response
            strict = read_response(doc, [response], reader="strict")
            assert record.followed is strict.followed is not strict.invalid, response
            assert all(one.invalid or one.rule for one in (record, strict)), response


def test_a_response_outside_the_format_is_read_by_the_flexible_reader_only():
    doc = doc_of("letter", CHOICES[0])
    flexible, strict = (read_response(doc, ["So the answer is B."], reader=reader) for reader in get_args(Reader))
    assert (flexible.picked, flexible.followed, flexible.excerpt) == (1, False, "")
    assert (strict.picked, strict.followed, strict.excerpt) == (None, False, "So the answer is B.")
    assert read_response(doc, ["So the answer is B."]) == flexible


def test_a_response_that_a_filter_ended_is_invalid_whatever_it_says():
    record = read_response(doc_of("letter", CHOICES[0]), [Response("B. Fog", came=BLOCKED)])
    assert (record.picked, record.reason) == (None, Reason.BLOCKED)


# ---- one response, read and explained: in Python, on the command line and on the page
OPTIONS = ["Steam", "Ice", "Fog"]


@pytest.mark.parametrize("thought", ["", "<think>B yes A, B \\boxed{2}</think>\n"])
@pytest.mark.parametrize(
    ("format", "reader", "response", "decided"),
    [
        ("letter", "strict", "**Answer:** B\nC", "**Answer:** B"),
        ("letter", "flexible", "So **B** is tempting, but the answer is (C). Fog.", "C"),
        ("letter", "flexible", "Okay. I would choose **B. Ice**, of course.", "B. Ice"),
        ("letter", "flexible", '{"why": "no ice", "answer": "B"}', "B"),
        ("letter", "flexible", "𝐁. Ice", "𝐁. Ice"),
        ("letter", "flexible", "x. " * 9000 + "The answer is B.", "B"),
        ("best_answer", "strict", "The best answer is: **(B)**", "B"),
        ("best_answer", "flexible", "So, B.", "B"),
        ("yes_no", "strict", "Answer: **yes**", "yes"),
        ("yes_no", "flexible", "No, never", "No"),
        ("yes_no", "flexible", "I say: Steam is wrong.", "Steam is wrong"),
        ("select_all", "strict", "<b>A</b> and C", "A</b> and C"),
        ("select_all", "flexible", "It is so: the answers are A, C.", "A, C"),
        ("select_all", "flexible", "Ice", "Ice"),
        ("boxed", "strict", r"So \boxed{ 5 } is it", "5"),
        ("boxed", "flexible", "5. The answer is $5$.", "5"),
    ],
)
def test_each_format_says_which_characters_decided(thought, format, reader, response, decided):
    options = {"yes_no": OPTIONS[:1], "boxed": []}.get(format, OPTIONS)
    answer = cora.read_answer(thought + response, options, format=format, reader=reader)
    assert answer.reason is None
    assert answer.rule
    assert answer.span is not None
    start, end = answer.span
    assert start >= len(thought)
    assert (thought + response)[start:end] == decided


@pytest.mark.parametrize(
    ("format", "reader", "response", "void"),
    [
        ("letter", "strict", "F because", {"F because": Reason.OUT_OF_RANGE}),
        (
            "letter",
            "flexible",
            "Option A or B. It cannot be **C. Fog**.",
            {"A": Reason.SEVERAL, "C. Fog": Reason.REJECTED},
        ),
        ("best_answer", "strict", "The best answer is F", {"F": Reason.OUT_OF_RANGE}),
        ("yes_no", "flexible", "I doubt that the answer is yes.", {"the answer is yes": Reason.REJECTED}),
        ("yes_no", "flexible", "Yes, so it is. But it is not. So, no.", {"Yes": None, "So, no": None}),
        ("select_all", "strict", "A, C - B is wrong", {"A, C": Reason.UNCLEAR}),
        ("select_all", "flexible", "Options to exclude: B", {"Options to exclude:": Reason.REJECTED}),
        ("boxed", "strict", r"\boxed{answer}", {"answer": Reason.PLACEHOLDER}),
        ("boxed", "flexible", "If the answer is 5, go on.", {"answer is ": Reason.REJECTED}),
    ],
)
def test_each_format_says_what_was_found_and_why_it_does_not_count(format, reader, response, void):
    options = {"yes_no": OPTIONS[:1], "boxed": []}.get(format, OPTIONS)
    answer = cora.read_answer(response, options, format=format, reader=reader)
    assert answer.value is None
    assert {response[slice(*place.span)]: place.void for place in answer.found} == void


def test_the_answer_is_also_a_text():
    for format, response, said in (
        *(("letter", "So B.", "B"), ("best_answer", "So B.", "B"), ("select_all", "A and C", "A, C")),
        *(("yes_no", "Yes.", "yes"), ("boxed", r"\boxed{5}", "5")),
    ):
        options = {"yes_no": OPTIONS[:1], "boxed": []}.get(format, OPTIONS)
        assert cora.read_answer(response, options, format=format).written == said
    assert cora.read_answer("Perhaps.", ["Ice"], format="yes_no").written is None


BREAKS = ("\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029", r"\n", r"\r\n", "<br>", "<BR />")


@pytest.mark.parametrize("reader", get_args(Reader))
@pytest.mark.parametrize("ask", FORMATS)
def test_all_line_breaks_are_equal_and_places_are_those_of_the_response(ask, reader):
    read = partial(cora.read_answer, options=doc_of(ask, CHOICES[0])["choices"], format=ask, reader=reader)
    random_ones = islice(made_up(random.Random(ask), CHOICES[0]), 30)
    for before in ("B", "Yes", "The best answer is B", "5", r"\boxed{5}", *random_ones):
        for after, mark in product(["Because", "B", "Answer: C"], BREAKS):
            response = f"{before}\n{after}\nSo".replace("\\\n", "\n")  # a backslash before r"\n" is a line of LaTeX
            marked = response.replace("\n", mark)
            expected, answer = read(response), read(marked)
            assert replace(answer, span=None, found=()) == replace(expected, span=None, found=()), marked
            decided = response[slice(*expected.span or (0, 0))].replace("\n", mark)
            assert marked[slice(*answer.span or (0, 0))] == decided, marked


def test_commands_of_latex_are_no_line_breaks():
    for written in (r"\nu", r"\neq 5", r"1 \\n", "1\frac{1}{2}", "2\vec{x}"):
        assert cora.read_answer(rf"\boxed{{{written}}}", [], format="boxed").written == written


def test_an_answer_that_the_token_limit_cut_off_is_invalid():
    assert cora.read_answer("So the answer may be B, as", OPTIONS, cut_off=True).position is None


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        (("B", OPTIONS), {"format": "lettr"}, "Did you mean 'letter'"),
        (("B", OPTIONS), {"reader": "loose"}, "expected 'flexible' or 'strict'"),
        *(((None, OPTIONS), {}, "expected text, got NoneType"), (("B", "Steam"), {}, "expected a list of texts")),
        (("B", ["Steam"]), {}, "expected 2 to 26 for letter, got 1"),
    ],
)
def test_invalid_arguments(arguments, named, said):
    with pytest.raises(UserError, match=said):
        cora.read_answer(*arguments, **named)


@pytest.mark.parametrize(
    ("text", "choices", "known", "reader", "labels", "position"),
    [
        ("Fog", ["Ice", "Fog"], {}, "flexible", [], 1),
        ("Fog", ["Fog", "Ice"], {}, "flexible", [], 0),
        ("Fog", ["Ice", "Fog"], {}, "strict", [], None),
        ("2", ["Ice", "Fog"], {}, "flexible", ["1", "2"], 1),
        ("2", ["Ice", "Fog"], {}, "flexible", ["2", "1"], 0),
        ("B", ["Ice", "Fog"], {}, "flexible", [], 1),
        ("B", ["Ice", "Fog"], {"opened": True}, "flexible", [], None),
        ("It rains. Fog.", ["Ice", "Fog"], {}, "flexible", [], 1),
        ("It rains. Fog.", ["Ice", "Fog"], {"cut_off": True}, "flexible", [], None),
    ],
)
def test_a_response_that_was_read_before_is_read_with_its_own_options_and_settings(
    text, choices, known, reader, labels, position
):
    doc = {"ask": "letter", "printed": [0, 1], "choices": choices, "labels": labels}
    for length in (0, 1_000):  # the reading of a long response is not remembered
        answer, _ = answer_and_format(doc, Response(" " * length + text, **known), reader)
        assert answer.position == position


def test_long_responses_are_cut_around_the_deciding_characters():
    assert around("x" * 9 + "B" + "y" * 9, (9, 10), 3) == ("…xxx", "B", "yyy…")
    assert around("B", None) == ("", "", "B")


def test_the_command(capsys, monkeypatch):
    assert main(["read", "--options", *OPTIONS, "--response", "The answer is B."]) == 0
    assert capsys.readouterr().out == "answer: B. Ice\nrule: a label\n\nThe answer is >>>B<<<.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("Option A or option B."))
    assert main(["read", "--options", *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert out.startswith("no answer: several options\n")
    assert 'found A, "A" (a letter): several options' in out
    assert main(["read", "--options", *OPTIONS, "--labels", "1", "2", "3", "--response", "정답: 3번"]) == 0
    assert capsys.readouterr().out == "answer: 3. Fog\nrule: a label\n\n정답: >>>3<<<번\n"
    assert main(["read", "--options", "Ice", "--response", "B"]) == 1
    assert "expected 2 to 26" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["lol", "The answer is", "Sorry, I cannot.", "none", "(e)", "the fog", "42"])
def test_a_response_is_read_alike_whatever_order_came_before(text):
    """What names no option is read once for all orders."""
    for choices in permutations(CHOICES[0]):
        found, _ = answer_and_format(doc_of("letter", list(choices)), text, "flexible")
        own = cora.read_answer(text, choices)
        assert (found.position, found.reason, found.found) == (own.position, own.reason, own.found)
