"""Early stopping compared with the full run."""

from functools import cache

import pytest

from lm_eval_cora.harness.asking import stop_early
from tests.support.messages import user_error
from tests.support.simulated import run, scored, signature_of
from tests.support.stopping import Moody, known

STOPPABLE = (
    *("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_plus_mc"),
    *("cora_demo_order", "cora_demo_order_mc", "cora_demo_prompts"),
)
QUESTIONS = {"questions": 6}
SEED = 3
"""That of a model that knows some of these questions in all variants, some in the original, and some not."""


@cache
def full(task):
    return scored(Moody(SEED), task, options=QUESTIONS)


def test_another_rule_is_refused_and_the_one_that_there_is_named():
    for text in ("", "EXACT", "bmca@1.0"):
        with user_error(f"--stop '{text}': expected 'exact'"):
            stop_early(Moody(1), text)


@pytest.mark.parametrize("task", STOPPABLE)
def test_what_is_printed_is_the_full_run(task):
    everything = full(task)
    found = scored(stop_early(Moody(SEED)), task, options=QUESTIONS)
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


def test_the_signature_says_the_rule_and_the_share_that_was_asked():
    model = Moody(1)
    results = run(stop_early(model), options=QUESTIONS)
    parts = signature_of(results).split("|")
    assert "stop:exact" in parts
    assert f"asked:{100 * len(model.asked) / (6 * 26):.1f}%" in parts
    assert not [part for part in parts if part.startswith("invalid")]  # the share in a selected sample is misleading
    whole = signature_of(run(Moody(1), options=QUESTIONS))
    assert ("stop:" in whole, "asked:" in whole) == (False, False)
