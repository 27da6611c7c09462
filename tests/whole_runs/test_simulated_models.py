"""Models with known answers in the harness' simple_evaluate: all scores can be computed by hand."""

from collections import Counter

import pytest

from lm_eval_cora.answers.records import Record
from tests.support import oracles_score
from tests.support.messages import tells
from tests.support.names import METRICS
from tests.support.simulated import run, scored, scores


def records_of(results):
    """The Records of a run, made from its samples by comparing letters only."""
    questions = {}
    for sample in results["samples"]["cora_demo"]:
        doc, response = sample["doc"], sample["filtered_resps"][0]
        position = "ABCDE".find(response) if response else -1
        picked = doc["printed"][position] if 0 <= position < len(doc["printed"]) else None
        about = doc["ordinal"], doc["kind"], tuple(doc["printed"]), doc["answer"]
        record = Record(doc["question_id"], 26, *about, picked=picked, original=doc["original"])
        questions.setdefault(record.question_id, []).append(record)
    return [sorted(records, key=lambda record: record.ordinal) for records in questions.values()]


def test_a_model_that_always_says_a():
    results = run(lambda _: "A")
    values = scores(results)
    # The right answers of the demo are spread evenly: 24 of 120 originals have it at A.
    assert values["mcqa"] == pytest.approx(24 / 120)
    # Always A cannot be right in all variants: not in a decoupled pair and in its swap.
    assert values["bmca@1.0"] == 0.0
    assert values["ci"] == pytest.approx(0.8)
    assert values["cora"] == pytest.approx(0.2 * 0.8)
    # A pair and its swap have the answer at A once each: half of both kinds together.
    right = Counter((record.kind, record.correct) for records in records_of(results) for record in records)
    pairs = right["decoupled", True] + right["decoupled_shuffled", True]
    assert pairs == right["decoupled", False] + right["decoupled_shuffled", False] == 120 * 4
    expected = oracles_score.expected("divergent", records_of(results))
    known = [name for name in METRICS if name in expected]  # others have their oracle in a test of their own
    assert {name: values[name] for name in known} == pytest.approx({name: expected[name] for name in known})


def test_a_model_that_says_nothing_usable(caplog):
    values = scored(lambda _: "Based on the history", options={"questions": 2})
    assert values["invalid"] == 1.0
    assert values["cora"] == values["acc"] == values["consistency_rate"] == 0.0
    parts = ("cora_demo: 100% ", "no letter (52 of 52", "'Based on the history'", "--apply_chat_template")
    assert tells(caplog.text, *parts)
