from __future__ import annotations

from dataclasses import replace

import pytest
from lm_eval.models.api_models import JsonChatStr

from lm_eval_cora.answers import Reader, Reason
from lm_eval_cora.answers.records import Record
from lm_eval_cora.harness.notices import (
    Conditions,
    advise_on_invalid,
    describe_bias,
    describe_cost,
    describe_incomplete,
    describe_whole,
    duration,
)
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import Moments, Phases


def test_cost_on_one_of_several_ranks() -> None:
    asked = [({"question_id": f"q{n // 2}"}, "x" * 4000, 1) for n in range(3)]
    assert describe_cost(asked) == "2 questions, 3 requests, about 3,000 prompt tokens"
    assert describe_cost(asked, ranks=8).endswith("about 3,000 prompt tokens on this rank, one of 8")
    assert describe_cost(asked, repeats=5).endswith("3 variants, 15 requests, about 15,000 prompt tokens")
    shared = [({**doc, "cluster": "p"}, *more) for doc, *more in asked]
    assert describe_cost(shared).startswith("2 questions in 1 passage, 3 requests")


def test_cost_of_messages_that_a_server_formats() -> None:
    # The harness' type for them has an `encode` of its own, which takes no second argument.
    assert describe_cost([({"question_id": "q"}, JsonChatStr("x" * 4000), 1)]).startswith(
        "1 question, 1 request, about"
    )


def test_cost_where_letters_are_scored() -> None:
    # The letters of a variant share one context: it is counted once.
    asked = [({"question_id": "q"}, "x" * 4000, 2)]
    assert describe_cost(asked) == "1 question, 1 variants, 2 requests, one per letter, about 1,000 prompt tokens"


def test_what_was_left_out() -> None:
    whole, cut = (
        Record("q1", 1, 0, "original", (0, 1), 0, picked=0),
        Record("q2", 2, 0, "original", (0, 1), 0, picked=0),
    )
    assert describe_incomplete(ResponseTable.from_records([whole])) == ""
    line = describe_incomplete(ResponseTable.from_records([whole, cut, whole]))
    assert line.startswith("1 of 2 questions are incomplete and left out")
    assert line.endswith("; 1 repeated answers to the same variant are left out")
    assert ", so no metric is defined" in describe_incomplete(ResponseTable.from_records([cut]))


def test_times_are_short() -> None:
    assert [duration(seconds) for seconds in (7, 59.4, 60, 200, 16_533)] == [
        "7 s",
        "59 s",
        "1 min",
        "3 min",
        "4 h 36 min",
    ]


def test_the_bias_of_a_budget_is_told_if_it_paid_for_few_questions() -> None:
    few, enough = Moments(15, 130, 11, 126, 3, 78), Moments(300, 2600, 220, 2520, 60, 1560)
    assert "only 15 questions" in describe_bias(few, 1273)
    assert "mcqa by about 0.017, bmca@1.0 by 0.029" in describe_bias(few, 1273)
    assert describe_bias(few, 15) == describe_bias(enough, 1273) == ""  # all questions, or enough of them


def test_a_sample_in_two_phases() -> None:
    text = describe_whole(Phases(questions=1273, asked=1273, right=940, followed=650, always=150))
    assert text.startswith("asked 1,273 of 1,273 originals and followed 650 of the 940 right ones, drawn by the seed.")
    assert text.endswith("all 1,273 questions of this run; cora is 0.3094 to 0.3291 (± 0.0098)")


# ---- advice on invalid answers


def records(valid: int, *reasons: Reason) -> list[Record]:
    answered = [Record("q", 1, 0, "original", (0, 1), 0, picked=0) for _ in range(valid)]
    return answered + [Record("q", 1, 0, "original", (0, 1), 0, picked=None, reason=reason) for reason in reasons]


def test_a_tenth_of_invalid_answers_causes_no_line() -> None:
    assert advise_on_invalid(records(9, Reason.EMPTY), Conditions(True)) == []
    assert advise_on_invalid(records(8, Reason.EMPTY), Conditions(True)) != []  # 1 of 9
    assert advise_on_invalid([], Conditions(True)) == []


def test_the_most_frequent_reason_is_named() -> None:
    (line,) = advise_on_invalid(records(1, Reason.EMPTY, Reason.REFUSED, Reason.REFUSED), Conditions(True))
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
        (Reason.OUT_OF_RANGE, True, "name a letter that no option has"),
        (Reason.REFUSED, True, "--system_instruction"),
        (Reason.SEVERAL, True, "These responses do not choose one option"),
    ],
)
def test_the_line_names_the_option_that_helps(reason: Reason, chat: bool, switch: str) -> None:
    (line,) = advise_on_invalid(records(0, reason), Conditions(chat))
    assert switch in line


def test_a_response_is_shown_and_its_control_characters_are_escaped() -> None:
    (line,) = advise_on_invalid(
        [replace(*records(0, Reason.NO_LETTER), excerpt="So\n\x1b[31m \ud83d")], Conditions(True)
    )
    assert r"for example 'So\n\x1b[31m \ud83d')" in line


def test_the_advice_depends_on_the_answer_format_and_the_reader() -> None:
    def advice(ask: str, reason: Reason, reader: Reader = "flexible") -> str:
        (line,) = advise_on_invalid([replace(*records(0, reason), ask=ask)], Conditions(True, reader))
        return line

    assert "--reader flexible" in advice("letter", Reason.NO_LETTER, "strict")
    assert "--reader flexible" not in advice("letter", Reason.OUT_OF_RANGE, "strict")
    assert "Reply with the letters first" in advice("select_all", Reason.UNCLEAR)
    assert "first." not in advice("boxed", Reason.EMPTY_BOX)
    assert "first." not in advice("best_answer", Reason.SEVERAL)


def test_each_answer_format_is_judged_separately() -> None:
    # One invalid answer of 31 is below the threshold, one of two is above it.
    yes_no = [
        Record("q", 1, 30, "true_or_false_right", (0,), 0, picked=None, ask="yes_no", selected=(0,)),
        Record("q", 1, 31, "true_or_false_right", (0,), 0, picked=None, reason=Reason.NO_YES_OR_NO, ask="yes_no"),
    ]
    (line,) = advise_on_invalid(records(29) + yes_no, Conditions(True))
    assert line.startswith("50% of the answers to prompts that ask for yes or no are invalid")
    assert "neither yes nor no (1 of 2)" in line
    assert "--system_instruction 'Reply with yes or no first.'" in line


def ended(reason: Reason, *, cut_off: bool | None = None, ask: str = "letter") -> Record:
    return replace(*records(0, reason), ask=ask, cut_off=cut_off)


def advice(record: Record, limit: int) -> str:
    (line,) = advise_on_invalid([record], Conditions(True, limit=limit))
    return line


def test_a_higher_limit_is_not_advised_if_the_limit_is_high() -> None:
    assert "max_gen_toks=4096" in advice(ended(Reason.CUT_OFF), 1024)
    assert "max_gen_toks=" not in advice(ended(Reason.CUT_OFF), 4096)
    assert "the limit is already 4,096 tokens" in advice(ended(Reason.CUT_OFF), 4096)
    assert "max_gen_toks" not in advice(ended(Reason.OUT_OF_RANGE), 32)


def test_a_response_that_ended_without_a_best_answer_needs_an_instruction_not_a_higher_limit() -> None:
    complete, unknown = (
        advice(ended(Reason.NO_BEST_ANSWER, cut_off=cut_off, ask="best_answer"), 1024) for cut_off in (False, None)
    )
    assert "--system_instruction 'End with: The best answer is <letter>.'" in complete
    assert "max_gen_toks" not in complete
    assert "max_gen_toks=4096" in unknown


def cut_off(count: int, *, invalid: bool) -> list[Record]:
    every = records(0, *[Reason.CUT_OFF] * count) if invalid else records(count)
    return [replace(record, cut_off=True) for record in every]


def test_a_run_that_the_limit_cut_off_says_so_first() -> None:
    first, *_ = advise_on_invalid([*cut_off(3, invalid=True), *records(2)], Conditions(True, limit=32))
    assert first.startswith("3 of 5 responses were cut off by the limit of 32 tokens, and 3 of these have no answer")
    assert "--gen_kwargs max_gen_toks=4096" in first
    (first,) = advise_on_invalid([*cut_off(3, invalid=False), *records(2)], Conditions(True, limit=32))
    assert "more tokens would change little" in first
    assert advise_on_invalid([*cut_off(2, invalid=False), *records(2)], Conditions(True)) == []


@pytest.mark.parametrize(
    ("came", "help_"),
    [("a refusal", "more tokens do not help"), ("a tool call", "Switch tool calls off"), ("no text", "server's log")],
)
def test_what_came_instead_of_text_is_named(came: str, help_: str) -> None:
    (line,) = advise_on_invalid([replace(one, came=came) for one in records(0, Reason.EMPTY)], Conditions(True))
    assert f"instead of text came {came}" in line
    assert help_ in line
