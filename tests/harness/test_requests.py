from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lm_eval_cora.harness.compat import slim
from lm_eval_cora.harness.requests import chosen_docs
from lm_eval_cora.options import OptionError
from tests.support.simulated import Simulated, knows, run, scores


def test_equal_settings_become_one_object_and_prompts_go_if_nobody_reads_them() -> None:
    instances = [SimpleNamespace(arguments=(f"prompt {n}", {"until": [], "limit": n // 2})) for n in range(4)]
    slim(instances, prompts=False)
    assert [instance.arguments[0] for instance in instances] == ["prompt 0", "prompt 1", "prompt 2", "prompt 3"]
    assert instances[0].arguments[1] is instances[1].arguments[1] is not instances[2].arguments[1]
    slim(instances, prompts=True)
    assert [instance.arguments for instance in instances] == [("", {"until": [], "limit": n // 2}) for n in range(4)]


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc", "cora_demo_revas"])
def test_prompts_are_kept_for_samples_and_scores_do_not_depend_on_them(task: str) -> None:
    logged = run(knows, task, {"questions": 2}, log_samples=True)
    for sample in logged["samples"][task]:
        assert "Question: " in sample["arguments"][0][0]
    assert scores(run(knows, task, {"questions": 2}, log_samples=False), task) == scores(logged, task)


class Keeping(Simulated):
    """Remembers the requests themselves."""

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
        ({"limit": 0}, "mine: --limit comes to 0 variants: expected more than 0"),
        ({"samples": [1, 3]}, "mine: --samples 3: expected 0 to 2"),
        ({"samples": [True]}, "mine: --samples True: expected 0 to 2"),
        ({"world_size": 4}, "mine: 3 variants cannot be shared out among 4 processes"),
    ],
)
def test_docs_that_cannot_be_chosen(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        chosen_docs("mine", [{}, {}, {}], **asked)


def test_chosen_docs() -> None:
    docs = [{"n": n} for n in range(3)]
    assert chosen_docs("mine", docs) == docs
    assert chosen_docs("mine", docs, limit=2, rank=0) == docs[:2]
    assert chosen_docs("mine", docs, samples=[2, 0, 2]) == [docs[0], docs[2]]
