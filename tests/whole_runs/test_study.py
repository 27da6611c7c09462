"""MCQA+ and the REVAS study in simple_evaluate, with models whose scores can be computed by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.support.names import CONFIDENCE, SELECTIONS, printed
from tests.support.simulated import knows, run, scores
from tests.support.study import believes_two, four_options, study_of

FILLER = 27


def values_of(study: dict[str, Any]) -> dict[str, Any]:
    return {name: entry["value"] for name, entry in study.items() if "value" in entry}


# ---- a model that always says A


def always_a(doc: dict[str, Any]) -> str:
    return "no" if doc["ask"] == "yes_no" else "A"


def test_always_a(tmp_path: Path) -> None:
    options = four_options(tmp_path, [0, 1, 2, 3])
    task = "cora_local_revas"
    results = run(always_a, task, options)
    values, study = scores(results, task), values_of(study_of(results, task))
    docs = [sample["doc"] for sample in results["samples"][task]]
    assert len(docs) == 4 * 45
    # Source order: A is right in one question of four, whatever options are added after it.
    assert values["mcqa"] == study["acc@6"] == study["acc@8"] == study["acc@10"] == 0.25
    # Orders have different options at A, and the picks are these options.
    for options_printed, kinds in {
        "original": ("original", "shuffled"),
        2: ("options_2", "options_2_shuffled"),
        10: ("options_10", "options_10_shuffled"),
    }.items():
        shares = []
        for question in "0123":
            first = [doc["printed"][0] for doc in docs if doc["question_id"] == question and doc["kind"] in kinds]
            assert len(first) == (4 if options_printed == "original" else options_printed)
            shares.append(max(Counter(first).values()) / len(first))
        assert study[f"sc@{options_printed}"] == pytest.approx(sum(shares) / 4)
    # Both orders of two options: A is right in one of them, so never in both.
    assert study["acc_h@2"] == 0.0
    assert study["sc@2"] == 0.5
    # NOTA is the last option in the first order.
    assert values["nota_acc"] == 0.0
    assert values["nota_acc_diff"] == -0.25
    # Wrong in three of four: the misleading option is the one at A, in the original order and so in select-all.
    assert study_of(results, task)["questions"] == {
        "all": 4,
        "always_right": int(values["acc_h@original"] * 4),
        "wrong": 3,
        "misled": 3,
        "no_misleading_option": 0,
    }
    assert values["multi_share"] == 0.0
    assert values["recall_misleading"] == 1.0
    assert values["recall_right"] == 0.0
    # This model never selects several options, and these recalls count only such answers.
    assert values["recall_right_multi"] == values["recall_misleading_multi"] == "nan"
    # The misleading option is replaced at its position, A, and A is still wrong.
    assert values["replaced_acc"] == 0.0


# ---- a model that believes two options right and prefers one


def test_a_model_that_believes_two_options_and_prefers_one(tmp_path: Path) -> None:
    options = four_options(tmp_path, [number % 4 for number in range(8)])
    task = "cora_local_revas"
    results = run(believes_two, task, options)
    values, study = scores(results, task), study_of(results, task)
    by_name = values_of(study)
    # Right in every order of half of the questions, wrong in every order of the other half, always the same pick.
    assert values["mcqa"] == values["acc_h@original"] == by_name["acc@10"] == by_name["acc_h@10"] == 0.5
    assert values["sc@original"] == by_name["sc@6"] == by_name["sc@8"] == by_name["sc@10"] == 1.0
    assert study["sc_buckets"]["4/4"] == {
        # sqrt(8 * 0.25 / 7 / 8): half of eight questions.
        "share": {"value": 1.0, "stderr": ANY, "low": ANY, "high": 1.0},
        "accuracy": {"value": 0.5, "stderr": pytest.approx((0.25 / 7) ** 0.5), "low": ANY, "high": ANY},
    }
    assert study["sc_buckets"]["3/4"] == {
        "share": {"value": 0.0, "stderr": ANY, "low": 0.0, "high": ANY},
        "accuracy": dict.fromkeys(("value", "stderr", "low", "high")),
    }
    # With the right option gone it takes the other one: never NOTA.
    assert values["nota_acc"] == values["nota_acc_h"] == values["nota_acc_always_right"] == 0.0
    assert values["nota_acc_diff"] == by_name["nota_acc_h_diff"] == -0.5
    assert by_name["nota_acc_diff_always_right"] == by_name["nota_acc_h_diff_always_right"] == -1.0
    assert study["questions"] == {
        "all": 8,
        "always_right": 4,
        "wrong": 4,
        "misled": 4,
        "no_misleading_option": 0,
    }
    # Always right: yes to the right option, no to two of the three wrong ones.
    assert values["tf_right"] == 1.0
    assert values["tf_wrong"] == pytest.approx(2 / 3)
    # Misled: both are selected, and without the misleading one the right one is left.
    assert {values[name] for name in SELECTIONS} == {1.0}
    assert values["replaced_acc"] == 1.0
    assert values["invalid"] == 0.0


def test_its_confidences(tmp_path: Path) -> None:
    options = four_options(tmp_path, [number % 4 for number in range(8)])
    task = "cora_local_revas_mc"
    results = run(believes_two, task, options)
    values = scores(results, task)
    # The simulated model gives 1/2 to what it says and 1/8 to the rest. Always right: the right option and the most
    # believed of the wrong ones both have P(yes) = 1/2, and P(yes) / (P(yes) + P(no)) = 1/2 / (5/8) = 0.8.
    assert values["confidence_right"] == values["confidence_wrong"] == pytest.approx(0.5)
    assert values["confidence_right_norm"] == values["confidence_wrong_norm"] == pytest.approx(0.8)
    assert values["confidence_ratio"] == values["confidence_ratio_norm"] == pytest.approx(1.0)
    assert not set(SELECTIONS) & set(values)
    # What both forms ask has the same answers.
    written = scores(run(believes_two, "cora_local_revas", options), "cora_local_revas")
    both = set(printed(task)) & set(printed("cora_local_revas")) - {"acc", "invalid"}
    assert {name: values[name] for name in both} == {name: written[name] for name in both}


def test_confidences_of_a_model_that_is_sure() -> None:
    task = "cora_demo_revas_mc"
    values = scores(run(knows, task, {"questions": 6}), task)
    # P(yes) of a wrong option is 1/8 where "no" has 1/2: 1/8 / (5/8) = 0.2.
    assert [values[name] for name in CONFIDENCE] == pytest.approx([0.5, 0.125, 0.25, 0.8, 0.2, 0.25])
    assert values["tf_right"] == values["tf_wrong"] == 1.0
    assert values["yes_no_mass"] == pytest.approx(1 / 2 + 1 / 8)


# ---- a model that never chooses NOTA


# ---- a model that is consistent but wrong


def test_who_names_no_option_has_no_misleading_one(tmp_path: Path) -> None:
    options = four_options(tmp_path, [0, 0, 0, 0])

    def rule(doc: dict[str, Any]) -> str:
        if doc["kind"] == "original":
            return {"0": "A", "1": "B", "2": "Based on", "3": "E"}[doc["question_id"]]
        if doc["kind"] == "replaced":
            return "A" if 1 not in doc["printed"] else "C"
        return "B, A" if doc["ask"] == "select_all" else "B"

    results = run(rule, "cora_local_revas", options)
    values, study = scores(results, "cora_local_revas"), study_of(results, "cora_local_revas")
    assert study["questions"] == {
        "all": 4,
        "always_right": 0,
        "wrong": 3,
        "misled": 1,
        "no_misleading_option": 2,
    }
    # One question is left, and one question has no error.
    for name in ("multi_share", "recall_right", "recall_misleading", "replaced_acc"):
        assert (values[name], values[f"{name}_stderr"]) == (1.0, "N/A")
