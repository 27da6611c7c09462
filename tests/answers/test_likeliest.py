"""Scores of letters from the likeliest next tokens."""

import json
import random
from math import exp, inf, isnan, log, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers import Reason
from lm_eval_cora.answers.likeliest import as_text, scores_of, spellings, tokens_in
from lm_eval_cora.answers.records import BLOCKED, Response, read_likelihoods

DOC = {
    "question_id": "q",
    "variants": 1,
    "ordinal": 0,
    "kind": "original",
    "original": True,
    "category": "",
    "ask": "letter",
    "printed": [4, 0, 7],
    "answer": 0,
    "choices": ["x", "y", "z"],
}


def read(chances, **doc):
    return read_likelihoods({**DOC, **doc}, [as_text((token, log(chance)) for token, chance in chances.items())])


def test_the_spellings_of_a_letter_are_added_and_the_others_are_bounded():
    """B has 0.3 + 0.2 + 0.01; 0.05 is left of 1, which is less than twelve times the last token's 0.04."""
    tokens = {"ĠB": 0.3, "B": 0.2, "(B": 0.01, " A": 0.3, "b": 0.1, "The": 0.04}
    unseen, a, b, c = scores_of([(token, log(chance)) for token, chance in tokens.items()], "ABC", top=6)
    assert (exp(unseen), exp(a), exp(b)) == pytest.approx((0.05, 0.3, 0.51))
    assert isnan(c)
    # With a last token of 0.001, the twelve spellings have at most 0.012.
    unseen, *_ = scores_of([(" A", log(0.5)), ("x", log(0.001))], "ABC", top=2)
    assert exp(unseen) == pytest.approx(0.012)
    # If one of the two is missing, perhaps because another had the same name, it may have had any probability.
    unseen, *_ = scores_of([(" A", log(0.5))], "ABC", top=2)
    assert exp(unseen) == pytest.approx(0.5)


def test_a_pick_is_valid_if_no_other_letter_can_be_more_likely():
    likely = {" B": 0.5, " A": 0.3, "The": 0.1}  # 0.1 is left, so A has at most 0.4
    record = read(likely)
    assert (record.picked, record.reason, len(record.likelihoods)) == (0, None, 12)
    assert read({**likely, " A": 0.2}).reason is None
    for doubtful in ({" B": 0.49, " A": 0.42}, {" B": 0.3}, {"The": 0.9}, {" B": 0.45}):
        assert read(doubtful).reason is Reason.UNLIKELY
    assert str(Reason.UNLIKELY) == "letters not among the 20 likeliest tokens"
    assert read({" B": 0.4, " A": 0.4, " C": 0.1999}).tied
    assert read({" B": 0.6}, printed=[4, 4, 7]).reason is None


def test_a_number_that_is_too_large_is_no_token():
    assert tokens_in(f'[["A", -1{"0" * 400}]]') == []


def test_yes_and_no_count_in_any_case_and_letters_only_as_printed():
    record = read({"Yes": 0.4, " YES": 0.1, "No": 0.3, "nope": 0.19}, ask="yes_no", printed=[4], choices=["x"])
    assert (record.selected, exp(record.likelihood_yes)) == ((4,), pytest.approx(0.5))
    record = read({"Yes": 0.9}, ask="yes_no", printed=[4], choices=["x"])
    assert (record.selected, isnan(record.likelihood_no)) == ((4,), True)
    assert read({"a": 0.9, " A": 0.05}, labels=("a", "b", "c")).picked == 4
    assert read({"b": 0.9, " A": 0.05}).reason is Reason.UNLIKELY


def test_what_is_no_answer():
    for nothing in ("", "[]", "{}", "[1]", '[["A"]]', '[["A", "x"]]', "[" * 100_000, "A"):
        assert read_likelihoods(DOC, [nothing]).invalid
    assert read_likelihoods(DOC, [Response("", came=BLOCKED)]).reason is Reason.BLOCKED


@given(st.integers(0, 10_000))
def test_a_valid_pick_is_the_most_likely_letter_of_the_whole_distribution(seed):
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(draw.choice((3, 40)))]
    tokens = [form for label in "ABC" for form in spellings(label) if draw.random() < 0.3] + words
    weights = [draw.random() ** draw.choice((1, 9)) for _ in tokens]
    chances = {token: weight / sum(weights) for token, weight in zip(tokens, weights, strict=True)}
    ranked = sorted(chances, key=lambda token: -chances[token])
    record = read({token: chances[token] for token in ranked[:20] if chances[token] > 1e-12})
    whole = [sum(chance for token, chance in chances.items() if token.strip(" ([\"')") == label) for label in "ABC"]
    if record.reason is None and not record.tied:
        assert whole[record.position] == max(whole)
    elif len(tokens) <= 20 and record.reason:  # everything is known
        assert sorted(whole)[-1] - sorted(whole)[-2] < 1e-6


@given(st.lists(st.tuples(st.text(max_size=5), st.floats(-50, -5)), min_size=1, max_size=20))
def test_any_tokens_can_be_written_and_read(tokens):
    text = as_text(tokens)
    assert "<" not in text
    assert tokens_in(text) == [(token, pytest.approx(score, abs=1e-7)) for token, score in tokens]
    assert json.loads(text.encode("utf-8"))


@pytest.mark.parametrize(
    ("tokens", "what"),
    [
        ([], "no log-probabilities"),
        ([("A", None), ("B", -9999.0), ("C", nan)], "no log-probabilities"),
        ([("A", 0.7), ("B", 0.2)], "numbers that are no log-prob"),
        ([("A", -0.1), ("B", -0.1)], "numbers that are no log-prob"),
        ([("A", inf)], "numbers that are no log-prob"),
        ([("token_id:65", -1.0), ("token_id:66", -2.0)], "the ids of"),
    ],
)
def test_numbers_that_are_no_log_probabilities(tokens, what):
    with pytest.raises(ValueError, match=what):
        as_text(tokens)
