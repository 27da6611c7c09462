from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.compat import slim
from lm_eval_cora.harness.docs import chosen_docs
from tests.support.simulated import Simulated, knows, run, scores


def test_equal_settings_become_one_object_and_prompts_go_if_nobody_reads_them() -> None:
    instances = [SimpleNamespace(arguments=(f"prompt {n}", {"until": [], "limit": n // 2})) for n in range(4)]
    slim(instances, False)
    assert [instance.arguments[0] for instance in instances] == ["prompt 0", "prompt 1", "prompt 2", "prompt 3"]
    assert instances[0].arguments[1] is instances[1].arguments[1] is not instances[2].arguments[1]
    slim(instances, True)
    assert [instance.arguments for instance in instances] == [("", {"until": [], "limit": n // 2}) for n in range(4)]


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc", "cora_demo_revas"])
def test_prompts_are_kept_for_samples_and_scores_do_not_depend_on_them(task: str) -> None:
    logged = run(knows, task, {"questions": 2}, log_samples=True)
    for sample in logged["samples"][task]:
        assert "Question: " in sample["arguments"][0][0]
    assert scores(run(knows, task, {"questions": 2}, log_samples=False), task) == scores(logged, task)


class Keeping(Simulated):
    """Stores the request objects."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.requests = requests
        return super().generate_until(requests, disable_tqdm)


@pytest.mark.parametrize("logged", [True, False])
def test_prompts_are_freed_after_the_inference(logged: bool) -> None:
    model = Keeping(knows)
    run(model, "cora_demo", {"questions": 1}, log_samples=logged)
    assert [request.args[0] for request in model.requests] == (model.prompts if logged else [""] * 26)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"limit": 0}, "mine: --limit 0: expected a number of questions from 1"),
        ({"limit": "2"}, "mine: --limit '2': expected a number of questions"),
        ({"limit": float("nan")}, "mine: --limit nan: expected"),
        ({"limit": float("inf")}, "mine: --limit inf: expected"),
        ({"samples": [1, 3]}, "mine: --samples 3: expected the number of a question, from 0 to 2"),
        ({"samples": [True]}, "mine: --samples True: expected"),
        ({"world_size": 4}, "mine: expected at least one variant per process, got 3 variants for 4 processes"),
    ],
)
def test_docs_that_cannot_be_chosen(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        chosen_docs("mine", [{"question_id": name} for name in "abc"], **asked)


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"limit": 1}, [0, 1]),
        ({"limit": 2.0, "rank": 0}, [0, 1, 2]),
        ({"limit": 99}, [0, 1, 2, 3, 4, 5]),
        ({"limit": 1 / 3}, [0, 1]),
        ({"limit": 0.34}, [0, 1, 2]),  # 1.02 questions, rounded up as in the harness
        ({"samples": [2, 0, 2]}, [0, 1, 3, 4, 5]),
    ],
    ids=str,
)
def test_whole_questions_are_chosen(asked: dict[str, Any], chosen: list[int]) -> None:
    docs = [{"question_id": question} for question in "aabccc"]
    assert chosen_docs("mine", docs, **asked) == chosen


def test_a_sample_of_variants_has_whole_questions() -> None:
    found = scores(run(knows, "cora_demo_plus", {"variants": 1}, limit=3), "cora_demo_plus")
    assert float(found["acc"]) == 1
