"""Early stopping: its order of variants, and its scores compared with the full run."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from lm_eval_cora import metrics
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.docs import process_docs
from lm_eval_cora.metrics.entries import saves_requests
from lm_eval_cora.metrics.stopping import place_of
from lm_eval_cora.variants.probes import PROBES, Probe
from tests.support.simulated import Simulated, knows, run, scores
from tests.support.stopping import Moody, known

STOPPABLE = (
    *("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_plus_mc"),
    *("cora_demo_order", "cora_demo_order_mc", "cora_demo_prompts"),
)

ROW = {"id": "q", "question": "Q?", "choices": ["a", "b", "c", "d", "e"], "answer": 2, "category": ""}


QUESTIONS = {"questions": 6}

SEEDS = (3, 8)
"""Seeds of models that know some of these questions in all variants, some in the original, and some not."""


@cache
def full(task: str, seed: int) -> dict[str, Any]:
    return scores(run(Moody(seed), task, options=QUESTIONS), task)


# ---- the rule


@pytest.mark.parametrize("text", ["", "EXACT", "exactly", "cora", "mv", "bmca@0.8", "bmca@1.0"])
def test_another_rule_is_refused_and_the_one_that_there_is_named(text: str) -> None:
    with pytest.raises(UserError, match=rf"--stop '{text}': expected 'exact'"):
        stop_early(Moody(1), text)


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_the_original_is_asked_first_then_the_hardest_kinds_then_the_rest(probe: Probe) -> None:
    docs = process_docs([ROW], probe)
    places = [place_of(doc, probe.hardest_first) for doc in docs]
    assert len(set(places)) == len(docs)  # otherwise the order would depend on that of the docs
    order = sorted(docs, key=lambda doc: place_of(doc, probe.hardest_first))
    kinds = list(dict.fromkeys(doc["kind"] for doc in order))
    first = [doc["kind"] for doc in docs if doc["original"]]
    assert len(first) <= 1
    assert kinds[: len(first) + len(probe.hardest_first)] == [*first, *probe.hardest_first]
    assert set(kinds) == {doc["kind"] for doc in docs}


def test_the_divergent_probe_has_a_place_for_each_kind() -> None:
    assert {"original", *PROBES["divergent"].hardest_first} == PROBES["divergent"].kinds.keys()


def test_only_cora_and_what_it_is_made_of_are_worth_stopping_for() -> None:
    def entries(names: str) -> list[dict[str, Any]]:
        return [
            {"aggregation": getattr(metrics, name)} | ({"level": float(level)} if level else {})
            for name, _, level in (text.partition("@") for text in names.split())
        ]

    for names in ("acc bmca@1.0 mv", "acc_h mcqa ci", "cora"):
        assert saves_requests(entries(names))
    for names in ("acc consistency_rate invalid", "mcqa mv bmca@0.9 mcqa_plus", "mcqa acc_h"):
        assert not saves_requests(entries(names))
    assert not saves_requests([{"aggregation": metrics.cora, "without": "original"}])


# ---- through the harness


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", STOPPABLE)
def test_what_is_printed_is_the_full_run(task: str, seed: int) -> None:
    everything = full(task, seed)
    found = scores(run(stop_early(Moody(seed)), task, options=QUESTIONS), task)
    assert {name for name in found if "_stderr" not in name} == known(task)
    for name in known(task):
        assert found[name] == everything[name]
        assert found[f"{name}_stderr"] == everything[f"{name}_stderr"]
    assert set(found) == {f"{name}{end}" for name in known(task) for end in ("", "_stderr", "_stderr_stderr")}


def test_the_models_of_these_tests_leave_something_to_be_found() -> None:
    for task in ("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_order", "cora_demo_prompts"):
        for seed in SEEDS:
            table = full(task, seed)
            assert 0 < table["mcqa"] < 1
            assert (
                0 < table["mcqa"] * (1 - table["mcqa"]) < table["cora"] < table["mcqa"]
            )  # some are right in all variants
            assert table["cora_stderr"] > 0
    assert all(full("cora_demo", seed)["bmca@0.5"] > full("cora_demo", seed)["bmca@1.0"] for seed in SEEDS)
    assert all(full("cora_demo", seed)["invalid"] > 0 for seed in SEEDS)


def test_where_nothing_is_right_only_the_original_is_known() -> None:
    found = scores(run(stop_early(Simulated(lambda doc: "?")), options={"questions": 3}))
    assert (found["mcqa"], found["ci"], found["cora"], found["bmca@1.0"]) == (0.0, 1.0, 0.0, 0.0)


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_plus_mc", "cora_demo_order", "cora_demo_prompts"])
def test_where_all_is_right_everything_is_asked(task: str) -> None:
    model, plain = Simulated(knows), Simulated(knows)
    run(plain, task, options={"questions": 2})
    found = scores(run(stop_early(model), task, options={"questions": 2}), task)
    assert {value for name, value in found.items() if "_stderr" not in name} == {1.0}
    assert sorted(model.prompts) == sorted(plain.prompts)


def test_the_signature_says_the_rule_and_the_share_that_was_asked() -> None:
    model = Moody(1)
    results = run(stop_early(model), options=QUESTIONS)
    parts = results["configs"]["cora_demo"]["metadata"]["signature"].split("|")
    assert "stop:exact" in parts
    assert f"asked:{100 * len(model.asked) / (6 * 26):.1f}%" in parts
    assert not [part for part in parts if part.startswith("invalid")]  # the share in a selected sample is misleading
    whole = run(Moody(1), options=QUESTIONS)["configs"]["cora_demo"]["metadata"]["signature"]
    assert "stop:" not in whole
    assert "asked:" not in whole
