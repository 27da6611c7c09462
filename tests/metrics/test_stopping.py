"""Early stopping compared with the full run, and the bias of a budget."""

from functools import cache
from statistics import covariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.docs import process_docs
from lm_eval_cora.metrics.entries import saves_requests
from lm_eval_cora.metrics.stopping import Bias, Moments, bias_of_budget, place_of
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.probes import PROBES
from tests.support.messages import user_error
from tests.support.simulated import Simulated, knows, run, scores
from tests.support.stopping import Moody, known

STOPPABLE = (
    *("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_plus_mc"),
    *("cora_demo_order", "cora_demo_order_mc", "cora_demo_prompts"),
)

QUESTION = Question("q", "Q?", ("a", "b", "c", "d", "e"), 2)
QUESTIONS = {"questions": 6}
SEED = 3
"""That of a model that knows some of these questions in all variants, some in the original, and some not."""


@cache
def full(task):
    return scores(run(Moody(SEED), task, options=QUESTIONS), task)


# ---- the rule
@pytest.mark.parametrize("text", ["", "EXACT", "exactly", "bmca@1.0"])
def test_another_rule_is_refused_and_the_one_that_there_is_named(text):
    with user_error(f"--stop '{text}': expected 'exact'"):
        stop_early(Moody(1), text)


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_the_original_is_asked_first_then_the_hardest_kinds_then_the_rest(probe):
    docs = process_docs([QUESTION], probe)
    places = [place_of(doc, probe.hardest_first) for doc in docs]
    assert len(set(places)) == len(docs)  # otherwise the order would depend on that of the docs
    order = sorted(docs, key=lambda doc: place_of(doc, probe.hardest_first))
    kinds = list(dict.fromkeys(doc["kind"] for doc in order))
    first = [doc["kind"] for doc in docs if doc["original"]]
    assert len(first) <= 1
    assert kinds[: len(first) + len(probe.hardest_first)] == [*first, *probe.hardest_first]
    assert set(kinds) == {doc["kind"] for doc in docs}
    if probe is PROBES["divergent"]:
        assert {"original", *probe.hardest_first} == probe.kinds.keys()


def test_only_cora_and_what_it_is_made_of_are_worth_stopping_for():
    def entries(names):
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
@pytest.mark.parametrize("task", STOPPABLE)
def test_what_is_printed_is_the_full_run(task):
    everything = full(task)
    found = scores(run(stop_early(Moody(SEED)), task, options=QUESTIONS), task)
    assert {name for name in found if "_stderr" not in name} == known(task)
    for name in (f"{name}{end}" for name in known(task) for end in ("", "_stderr")):
        assert found[name] == everything[name], name
    assert set(found) == {f"{name}{end}" for name in known(task) for end in ("", "_stderr", "_stderr_stderr")}


def test_the_model_of_these_tests_leaves_something_to_be_found():
    for task in ("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_order", "cora_demo_prompts"):
        table = full(task)
        assert 0 < table["mcqa"] < 1
        # Some are right in all variants.
        assert 0 < table["mcqa"] * (1 - table["mcqa"]) < table["cora"] < table["mcqa"]
        assert table["cora_stderr"] > 0
    assert full("cora_demo")["bmca@0.5"] > full("cora_demo")["bmca@1.0"]
    assert full("cora_demo")["invalid"] > 0


def test_where_all_is_right_everything_is_asked():
    model, plain = Simulated(knows), Simulated(knows)
    run(plain, options={"questions": 2})
    found = scores(run(stop_early(model), options={"questions": 2}))
    assert {value for name, value in found.items() if "_stderr" not in name} == {1.0}
    assert sorted(model.prompts) == sorted(plain.prompts)


def test_the_signature_says_the_rule_and_the_share_that_was_asked():
    model = Moody(1)
    results = run(stop_early(model), options=QUESTIONS)
    parts = results["configs"]["cora_demo"]["metadata"]["signature"].split("|")
    assert "stop:exact" in parts
    assert f"asked:{100 * len(model.asked) / (6 * 26):.1f}%" in parts
    assert not [part for part in parts if part.startswith("invalid")]  # the share in a selected sample is misleading
    whole = run(Moody(1), options=QUESTIONS)["configs"]["cora_demo"]["metadata"]["signature"]
    assert ("stop:" in whole, "asked:" in whole) == (False, False)


ANSWERS = st.lists(st.sampled_from([(0, 0), (1, 0), (1, 1)]), min_size=2, max_size=60)


@given(ANSWERS, st.integers(0, 1_000))
def test_the_bias_is_the_covariance_with_the_costs_per_request(answers, seed):
    costs = np.random.default_rng(seed).integers(1, 27, len(answers))
    right, always = np.array(answers, dtype=int).T
    found = bias_of_budget(Moments(len(costs), costs.sum(), right.sum(), costs @ right, always.sum(), costs @ always))
    expected = [covariance(costs.tolist(), which.tolist()) / costs.sum() for which in (right, always)]
    assert found == pytest.approx(Bias(*expected))


def test_without_two_questions_the_bias_is_unknown():
    assert bias_of_budget(Moments()) == bias_of_budget(Moments(1, 26, 1, 26, 1, 26)) == Bias()
