from __future__ import annotations

from lm_eval.models.api_models import JsonChatStr

from lm_eval_cora.answers.records import Record
from lm_eval_cora.harness.notices import describe_bias, describe_cost, describe_incomplete, describe_whole, duration
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import Moments, Phases


def test_cost_on_one_of_several_ranks() -> None:
    asked = [({"question_id": f"q{n // 2}"}, "x" * 4000, 1) for n in range(3)]
    assert describe_cost(asked) == "2 questions, 3 requests, about 3,000 prompt tokens"
    assert describe_cost(asked, ranks=8).endswith("about 3,000 prompt tokens on this rank, one of 8")
    assert describe_cost(asked, repeats=5).endswith("3 variants, 15 requests, about 15,000 prompt tokens")


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
