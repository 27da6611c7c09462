"""Models with known answers in the harness' simple_evaluate: all scores can be computed by hand."""

import random
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from lm_eval_cora.answers.records import Record
from tests.support import oracles
from tests.support.messages import tells
from tests.support.names import METRICS
from tests.support.simulated import knows, prefers, run, scores

M = 26


def records_of(results: dict[str, Any]) -> list[list[Record]]:
    """The Records of a run, made from its samples by comparing letters only."""
    questions: dict[str, list[Record]] = {}
    for sample in results["samples"]["cora_demo"]:
        doc, response = sample["doc"], sample["filtered_resps"][0]
        position = "ABCDE".find(response) if response else -1
        picked = doc["printed"][position] if 0 <= position < len(doc["printed"]) else None
        questions.setdefault(doc["question_id"], []).append(
            Record(
                doc["question_id"], M, doc["ordinal"], doc["kind"], tuple(doc["printed"]), doc["answer"], picked=picked
            )
        )
    return [sorted(records, key=lambda record: record.ordinal) for records in questions.values()]


def test_a_model_that_knows_the_answers() -> None:
    values = scores(run(knows))
    ones = {name: value for name, value in values.items() if name in METRICS and name not in ("invalid", "core")}
    assert set(ones.values()) == {1.0}
    assert values["core"] == pytest.approx(1.0)
    assert values["invalid"] == 0.0
    # No question differs, but others might. For one metric half of Wilson's interval is 1.96 / (2 (N + 1.96^2)).
    assert all(0 < values[f"{name}_stderr"] < 0.5 for name in METRICS)


def test_a_model_that_always_says_a() -> None:
    results = run(lambda _: "A")
    values = scores(results)
    # The right answers of the demo are spread evenly: 24 of 120 originals have it at A.
    assert values["mcqa"] == pytest.approx(24 / 120)
    # Always A cannot be right in all variants: not in a decoupled pair and in its swap.
    assert values["bmca@1.0"] == 0.0
    assert values["ci"] == pytest.approx(0.8)
    assert values["cora"] == pytest.approx(0.2 * 0.8)
    # A pair and its swap have the answer at A once each: half of both kinds together.
    right = Counter(
        (record.kind, record.correct)
        for records in records_of(results)
        for record in records
        if "decoupled" in record.kind
    )
    pairs = right["decoupled", True] + right["decoupled_shuffled", True]
    assert pairs == right["decoupled", False] + right["decoupled_shuffled", False] == 120 * 4
    expected = oracles.all_metrics(records_of(results))
    assert {name: values[name] for name in METRICS} == pytest.approx({name: expected[name] for name in METRICS})


def test_a_model_with_a_fixed_order_among_the_contents_a_wrong_one_first() -> None:
    values = scores(run(prefers))
    # If both picks are printed in both variants, they are the same, because the order is fixed.
    assert values["consistency_rate"] == 1.0
    assert values["mcqa"] == values["cora"] == 0.0
    assert values["ci"] == 1.0  # no original is right, so none is lost


def test_a_model_that_says_nothing_usable(caplog: pytest.LogCaptureFixture) -> None:
    values = scores(run(lambda _: "Based on the history"))
    assert values["invalid"] == 1.0
    assert values["cora"] == values["acc"] == values["consistency_rate"] == 0.0
    parts = ("cora_demo: 100% ", "no letter (3,120 of 3,120", "'Based on the history'", "--apply_chat_template")
    assert tells(caplog.text, *parts)


def test_a_model_that_picks_at_random() -> None:
    rng = random.Random(0)
    values = scores(run(lambda doc: "ABCDE"[rng.randrange(len(doc["printed"]))]))
    # The original has five options. Of the 26 variants 10 print five options, 8 print two and 8 print three.
    assert values["mcqa"] == pytest.approx(1 / 5, abs=4 * values["mcqa_stderr"])
    assert values["acc"] == pytest.approx((10 / 5 + 8 / 2 + 8 / 3) / 26, abs=4 * values["acc_stderr"])
    # Two variants that print s and t options, k of them in common, are comparable with probability k/s * k/t and agree
    # with k/st. Over the 325 pairs of 26 variants: sum k/st / sum k^2/st = 0.460, the chance level of the README.
    everything = {0, 1, 2, 3, 4}
    sets = [everything] * 2
    for distractor in (1, 2, 3, 4):
        sets += [everything - {distractor} | {26}] * 2 + [{0, distractor}] * 2 + [{0, distractor, 26}] * 2
    pairs = [(len(s), len(t), len(s & t)) for s, t in combinations(sets, 2)]
    chance = sum(k / s / t for s, t, k in pairs) / sum(k * k / s / t for s, t, k in pairs)
    assert chance == pytest.approx(0.460, abs=0.0005)
    assert values["consistency_rate"] == pytest.approx(chance, abs=4 * values["consistency_rate_stderr"])


def test_a_model_that_is_right_on_the_original_only() -> None:
    values = scores(run(lambda doc: knows(doc) if doc["kind"] == "original" else "?"))
    assert values["mcqa"] == values["acc_max"] == 1.0
    assert [values["acc"], values["mcqa_plus"]] == pytest.approx([1 / M, 1 / M])
    assert values["ci"] == values["cora"] == values["mv"] == values["acc_min"] == 0.0
