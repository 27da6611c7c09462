"""One response, read and explained: in Python, on the command line and on the page."""

from __future__ import annotations

import io
from typing import Any

import pytest

import lm_eval_cora as cora
from lm_eval_cora.answers.records import around
from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError

OPTIONS = ["Steam", "Ice", "Fog"]


def test_an_answer_has_a_rule_and_characters() -> None:
    response = "So **B** is tempting, but the answer is (C). Fog."
    answer = cora.read_answer(response, OPTIONS)
    assert (answer.position, answer.reason, answer.rule) == (2, None, "stated as the answer")
    assert answer.span is not None
    assert response[slice(*answer.span)] == "C"


def test_other_formats() -> None:
    assert cora.read_answer("Yes.", ["Ice"], format="yes_no").selected == (0,)
    assert cora.read_answer("A, C", OPTIONS, format="select_all").selected == (0, 2)
    assert cora.read_answer(r"\boxed{2}", [], format="boxed").written == "2"
    assert cora.read_answer("The best answer is B.", OPTIONS, format="best_answer", reader="strict").position == 1
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
def test_invalid_arguments(arguments: tuple[Any, Any], named: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        cora.read_answer(*arguments, **named)


def test_long_responses_are_cut_around_the_deciding_characters() -> None:
    assert around("x" * 9 + "B" + "y" * 9, (9, 10), 3) == ("…xxx", "B", "yyy…")
    assert around("B", None) == ("", "", "B")


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["read", "--options", *OPTIONS, "--response", "The answer is B."]) == 0
    assert capsys.readouterr().out == "answer: B. Ice\nrule: a label\n\nThe answer is >>>B<<<.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("Option A or option B."))
    assert main(["read", "--options", *OPTIONS]) == 0
    out = capsys.readouterr().out
    assert out.startswith("no answer: several options\n")
    assert 'found A, "A" (a letter): several options' in out
    assert main(["read", "--options", "Ice", "--response", "B"]) == 1
    assert "expected 2 to 26" in capsys.readouterr().err
