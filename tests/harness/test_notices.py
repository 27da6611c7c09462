from __future__ import annotations

from dataclasses import replace

import pytest
from lm_eval.models.api_models import JsonChatStr

from lm_eval_cora.answers import Reader, Reason
from lm_eval_cora.harness.notices import advise_on_invalid, describe_cost, describe_cut, describe_incomplete
from lm_eval_cora.question import Ask
from lm_eval_cora.responses import Record, ResponseTable


def records(valid: int, *reasons: Reason) -> list[Record]:
    answered = [Record("q", "original", 0, 1, (0, 1), 0, 0) for _ in range(valid)]
    return answered + [Record("q", "original", 0, 1, (0, 1), 0, None, reason) for reason in reasons]


def test_a_tenth_of_invalid_answers_is_not_worth_a_line() -> None:
    assert advise_on_invalid(records(9, Reason.EMPTY), chat=True) == []
    assert advise_on_invalid(records(8, Reason.EMPTY), chat=True) != []  # 1 of 9
    assert advise_on_invalid([], chat=True) == []


def test_the_commonest_reason_is_named() -> None:
    (line,) = advise_on_invalid(records(1, Reason.EMPTY, Reason.REFUSED, Reason.REFUSED), chat=True)
    assert line.startswith("75% of the answers are invalid, so the scores say little about what the model knows. ")
    assert "The most frequent reason: refused (2 of 4). " in line


@pytest.mark.parametrize(
    ("reason", "chat", "switch"),
    [
        (Reason.CUT_OFF, False, "--gen_kwargs max_gen_toks=4096"),
        (Reason.CUT_OFF, True, "--gen_kwargs max_gen_toks=4096"),
        (Reason.EMPTY, False, "--apply_chat_template"),
        (Reason.EMPTY, True, "--gen_kwargs max_gen_toks=4096"),
        (Reason.NO_LETTER, False, "--apply_chat_template"),
        (Reason.NO_LETTER, True, "--system_instruction"),
        (Reason.NO_LETTER, True, "--gen_kwargs max_gen_toks=4096"),  # a template may open <think> in the prompt
        (Reason.OUT_OF_RANGE, True, "--system_instruction"),
        (Reason.REFUSED, True, "--system_instruction"),
        (Reason.SEVERAL, True, "These responses do not choose one option"),
    ],
)
def test_the_switch_that_mends_it(reason: Reason, chat: bool, switch: str) -> None:
    (line,) = advise_on_invalid(records(0, reason), chat=chat)
    assert switch in line


def test_a_response_is_shown_and_its_control_characters_are_escaped() -> None:
    (line,) = advise_on_invalid([replace(*records(0, Reason.NO_LETTER), excerpt="So\n\x1b[31m \ud83d")], chat=True)
    assert r"for example 'So\n\x1b[31m \ud83d')" in line


def test_the_advice_is_for_what_was_asked_for_and_how_it_was_read() -> None:
    def advice(ask: Ask, reason: Reason, reader: Reader = "flexible") -> str:
        (line,) = advise_on_invalid([replace(*records(0, reason), ask=ask)], chat=True, reader=reader)
        return line

    assert "--reader flexible" in advice("letter", Reason.NO_LETTER, "strict")
    assert "--reader flexible" not in advice("letter", Reason.OUT_OF_RANGE, "strict")
    assert "Reply with the letters first" in advice("select_all", Reason.UNCLEAR)
    assert "first." not in advice("boxed", Reason.EMPTY_BOX)
    assert "first." not in advice("best_answer", Reason.SEVERAL)


def test_each_thing_that_is_asked_for_is_judged_alone() -> None:
    # One of 31 answers would not be worth a line; one of two is.
    yes_no = [
        Record("q", "true_or_false_right", 30, 1, (0,), 0, None, ask="yes_no", selected=(0,)),
        Record("q", "true_or_false_right", 31, 1, (0,), 0, None, Reason.NO_YES_OR_NO, ask="yes_no"),
    ]
    (line,) = advise_on_invalid(records(29) + yes_no, chat=True)
    assert line.startswith("50% of the answers where yes or no was asked for are invalid, so the scores say little ")
    assert "neither yes nor no (1 of 2)" in line
    assert "--system_instruction 'Reply with yes or no first.'" in line


def test_cost_on_one_of_several_ranks() -> None:
    asked = [({"question_id": f"q{n // 2}"}, "x" * 4000, 1) for n in range(3)]
    assert describe_cost(asked) == "2 questions, 3 variants, 3 requests, about 3,000 prompt tokens"
    assert describe_cost(asked, ranks=8).endswith("about 3,000 prompt tokens on this rank, one of 8")
    assert describe_cost(asked, repeats=5).endswith("3 variants, 15 requests, about 15,000 prompt tokens")


def test_cost_of_messages_that_a_server_formats() -> None:
    # The harness' type for them has an `encode` of its own, which takes no second argument.
    assert describe_cost([({"question_id": "q"}, JsonChatStr("x" * 4000), 1)]).startswith("1 question, 1 variants")


def test_cost_where_letters_are_scored() -> None:
    # The letters of a variant share one context: it is counted once.
    asked = [({"question_id": "q"}, "x" * 4000, 2)]
    assert describe_cost(asked) == "1 question, 1 variants, 2 requests, one per letter, about 1,000 prompt tokens"


def test_a_limit_that_cuts_questions_in_two_is_noticed_before_the_run() -> None:
    docs = [{"question_id": question, "variants": 2} for question in "aabb"]
    assert describe_cut(docs) == ""
    line = describe_cut(docs[:3])
    assert line.startswith("1 of 2 questions are cut in two and will be left out. --limit and --samples count variants")
    assert "1 of 1 questions are cut in two and will be left out, so no score will come out" in describe_cut(docs[:1])


def test_what_was_left_out() -> None:
    whole, cut = Record("q1", "original", 0, 1, (0, 1), 0, 0), Record("q2", "original", 0, 2, (0, 1), 0, 0)
    assert describe_incomplete(ResponseTable.from_records([whole])) == ""
    line = describe_incomplete(ResponseTable.from_records([whole, cut, whole]))
    assert line.startswith("1 of 2 questions are incomplete and left out. --limit and --samples count variants")
    assert line.endswith("; 1 answers to variants that were answered before are left out")
    assert ", so no metric is defined" in describe_incomplete(ResponseTable.from_records([cut]))
