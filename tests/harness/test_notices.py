from dataclasses import replace
from statistics import covariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.models.api_models import JsonChatStr

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.records import Record
from lm_eval_cora.harness.notices import (
    Conditions,
    advise_on_invalid,
    bias_of_budget,
    describe_bias,
    describe_cost,
    describe_incomplete,
    duration,
)
from lm_eval_cora.harness.rounds import QuestionOutcome
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.messages import tells


def test_cost():
    asked = [({"question_id": f"q{n // 2}"}, "x" * 4000, 1) for n in range(3)]
    assert describe_cost(asked) == "2 questions, 3 requests, about 3,000 prompt tokens"
    assert describe_cost(asked, ranks=8).endswith("about 3,000 prompt tokens on this rank, one of 8")
    assert describe_cost(asked, repeats=5).endswith("3 variants, 15 requests, about 15,000 prompt tokens")
    shared = [({**doc, "cluster": "p"}, *more) for doc, *more in asked]
    assert describe_cost(shared).startswith("2 questions in 1 passage, 3 requests")
    # The harness' type for the messages that a server formats has an `encode` of its own without a second argument.
    messages = [({"question_id": "q"}, JsonChatStr("x" * 4000), 1)]
    assert describe_cost(messages).startswith("1 question, 1 request, about 1,0")
    # The letters of a variant share one context: it is counted once.
    letters = [({"question_id": "q"}, "x" * 4000, 2)]
    assert describe_cost(letters) == "1 question, 1 variants, 2 requests, one per letter, about 1,000 prompt tokens"


def test_what_was_left_out():
    whole, cut = (Record(f"q{m}", m, 0, "original", (0, 1), 0, picked=0) for m in (1, 2))
    assert describe_incomplete(ResponseTable.from_records([whole])) == ""
    line = describe_incomplete(ResponseTable.from_records([whole, cut, whole]))
    assert line.startswith("1 of 2 questions are incomplete and left out")
    assert line.endswith("; 1 repeated answers to the same variant are left out")
    assert ", so no metric is defined" in describe_incomplete(ResponseTable.from_records([cut]))


def test_times_are_short():
    told = [duration(seconds) for seconds in (7, 59.4, 60, 200, 16_533)]
    assert told == ["7 s", "59 s", "1 min", "3 min", "4 h 36 min"]


@given(st.lists(st.tuples(st.integers(1, 26), st.booleans()), min_size=2, max_size=60))
def test_the_bias_is_the_covariance_with_the_costs_per_request(asked):
    costs, hits = (np.array(column) for column in zip(*asked, strict=True))
    assert bias_of_budget(costs, hits) == pytest.approx(covariance(costs.tolist(), hits.tolist()) / costs.sum())
    assert bias_of_budget(costs[:1], hits[:1]) == bias_of_budget(costs[:0], hits[:0]) == 0


def test_the_bias_of_a_budget_is_told_if_it_paid_for_few_questions():
    # Three questions are right in all 26 variants, eight in six or seven, and four are wrong.
    asked = [(26, True, 0)] * 3 + [(6, True, 1)] * 8 + [(1, False, 1)] * 4
    few = [QuestionOutcome(cost, True, right, cost, others, 0) for cost, right, others in asked]
    left = [QuestionOutcome(0, False, False, 0, 26, 0)] * 300
    told = describe_bias(few + left)
    assert tells(told, "only 15 questions", "mcqa by about 0.017, bmca@1.0 by 0.029")
    assert describe_bias(few) == describe_bias(few * 20 + left) == ""  # all questions, or enough of them


# ---- advice on invalid answers
def records(valid, *reasons, **about):
    answered = [Record("q", 1, 0, "original", (0, 1), 0, picked=0, **about) for _ in range(valid)]
    return answered + [replace(*records(1, **about), picked=None, reason=reason) for reason in reasons]


def advice(reason, chat=True, reader="flexible", limit=None, **a):
    """The advice on a run of one invalid answer."""
    (line,) = advise_on_invalid(records(0, reason, **a), Conditions(chat, reader, limit))
    return line


def test_a_tenth_of_invalid_answers_causes_no_line():
    assert advise_on_invalid(records(9, Reason.EMPTY), Conditions(True)) == []
    assert advise_on_invalid(records(8, Reason.EMPTY), Conditions(True)) != []  # 1 of 9
    assert advise_on_invalid([], Conditions(True)) == []


def test_the_most_frequent_reason_is_named():
    (line,) = advise_on_invalid(records(1, Reason.EMPTY, Reason.REFUSED, Reason.REFUSED), Conditions(True))
    assert line.startswith("75% of the answers are invalid, so the scores say little about what the model knows. ")
    assert "The most frequent reason: refused (2 of 4). " in line


@pytest.mark.parametrize(
    ("reason", "chat", "switch"),
    [
        (Reason.CUT_OFF, False, "--gen_kwargs max_gen_toks=4096"),
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
def test_the_line_names_the_option_that_helps(reason, chat, switch):
    assert switch in advice(reason, chat)


def test_a_response_is_shown_and_its_control_characters_are_escaped():
    assert r"for example 'So\n\x1b[31m \ud83d')" in advice(Reason.NO_LETTER, excerpt="So\n\x1b[31m \ud83d")


def test_the_advice_depends_on_the_answer_format_and_the_reader():
    assert "--reader flexible" in advice(Reason.NO_LETTER, reader="strict")
    assert "--reader flexible" not in advice(Reason.OUT_OF_RANGE, reader="strict")
    assert "Reply with the letters first" in advice(Reason.UNCLEAR, ask="select_all")
    assert "first." not in advice(Reason.EMPTY_BOX, ask="boxed")
    assert "first." not in advice(Reason.SEVERAL, ask="best_answer")


def test_each_answer_format_is_judged_separately():
    # One invalid answer of 31 is below the threshold, one of two is above it.
    yes_no = [*records(1, ask="yes_no"), *records(0, Reason.NO_YES_OR_NO, ask="yes_no")]
    (line,) = advise_on_invalid(records(29) + yes_no, Conditions(True))
    assert line.startswith("50% of the answers to prompts that ask for yes or no are invalid")
    assert tells(line, "neither yes nor no (1 of 2)", "--system_instruction 'Reply with yes or no first.'")


def test_a_higher_limit_is_not_advised_if_the_limit_is_high():
    assert "max_gen_toks=4096" in advice(Reason.CUT_OFF, limit=1024)
    assert "max_gen_toks=" not in advice(Reason.CUT_OFF, limit=4096)
    assert "the limit is already 4,096 tokens" in advice(Reason.CUT_OFF, limit=4096)
    assert "max_gen_toks" not in advice(Reason.OUT_OF_RANGE, limit=32)


def test_a_response_that_ended_without_a_best_answer_needs_an_instruction_not_a_higher_limit():
    how = {"limit": 1024, "ask": "best_answer"}
    complete, unknown = (advice(Reason.NO_BEST_ANSWER, cut_off=cut_off, **how) for cut_off in (False, None))
    assert "--system_instruction 'End with: The best answer is <letter>.'" in complete
    assert "max_gen_toks" not in complete
    assert "max_gen_toks=4096" in unknown


def test_a_run_that_the_limit_cut_off_says_so_first():
    lost = records(0, *[Reason.CUT_OFF] * 3, cut_off=True)
    first, *_ = advise_on_invalid([*lost, *records(2)], Conditions(True, limit=32))
    assert first.startswith("3 of 5 responses were cut off by the limit of 32 tokens, and 3 of these have no answer")
    assert "--gen_kwargs max_gen_toks=4096" in first
    (first,) = advise_on_invalid([*records(3, cut_off=True), *records(2)], Conditions(True, limit=32))
    assert "more tokens would change little" in first
    assert advise_on_invalid([*records(2, cut_off=True), *records(2)], Conditions(True)) == []


@pytest.mark.parametrize(
    ("came", "help_"),
    [("a refusal", "more tokens do not help"), ("a tool call", "Switch tool calls off"), ("no text", "server's log")],
)
def test_what_came_instead_of_text_is_named(came, help_):
    assert tells(advice(Reason.EMPTY, came=came), f"instead of text came {came}", help_)
