from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lm_eval_cora.harness.compat import slim
from lm_eval_cora.harness.requests import chosen_docs
from lm_eval_cora.options import OptionError
from tests.support.messages import tells
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
        ({"limit": 0}, "mine: --limit: expected at least 1 variant, got 0"),
        ({"samples": [1, 3]}, "mine: --samples 3: expected 0 to 2"),
        ({"samples": [True]}, "mine: --samples True: expected 0 to 2"),
        ({"world_size": 4}, "mine: expected at least one variant per process, got 3 variants for 4 processes"),
    ],
)
def test_docs_that_cannot_be_chosen(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        chosen_docs("mine", [{}, {}, {}], **asked)


def docs_of(*sizes: int) -> list[dict[str, Any]]:
    """The docs of questions with these numbers of variants."""
    return [
        {"question_id": f"q{number}", "variants": size, "ordinal": ordinal}
        for number, size in enumerate(sizes)
        for ordinal in range(size)
    ]


def test_chosen_docs() -> None:
    docs = docs_of(2, 1)
    assert chosen_docs("mine", docs) == docs
    assert chosen_docs("mine", docs, limit=2, rank=0) == docs[:2]
    assert chosen_docs("mine", docs, samples=[2, 0, 2]) == [docs[0], docs[2]]


CUT: list[tuple[dict[str, Any], list[str]]] = [
    ({"limit": 3}, ["--limit", "3 variants", "all of its 4 variants", "1 whole question,", '{"questions": 1}']),
    ({"samples": [0, 1, 5, 9]}, ["--samples", "all of its 4 to 6 variants", '{"questions": 2}']),
    ({"samples": [0, 0, 0, 0]}, ["--samples", "all of its 4 variants"]),
]


@pytest.mark.parametrize(("asked", "told"), CUT)
def test_a_cut_through_every_question_is_refused(asked: dict[str, Any], told: list[str]) -> None:
    docs = docs_of(4, 6)
    with pytest.raises(OptionError) as caught:
        chosen_docs("mine", docs, **asked)
    assert tells(str(caught.value), "mine: ", *told)
    assert chosen_docs("mine", docs, **asked, scored=False)


@pytest.mark.parametrize("asked", [{"limit": 4}, {"limit": 5}, {"samples": [9, 3, 2, 1, 0]}, {"limit": 99}])
def test_one_whole_question_is_enough(asked: dict[str, Any]) -> None:
    assert len(chosen_docs("mine", docs_of(4, 6), **asked)) == min(asked.get("limit", 5), 10)


def test_all_docs_are_never_refused() -> None:
    part = docs_of(4)[:2]  # as if the others were on another rank
    assert chosen_docs("mine", part, limit=2) == part


@pytest.mark.parametrize("asked", [{"limit": 5}, {"limit": 0.001}, {"samples": {"cora_demo": [0, 30, 31]}}], ids=str)
def test_a_run_that_would_score_nothing_ends_before_the_first_request(asked: dict[str, Any]) -> None:
    model = Simulated(knows)
    with pytest.raises(OptionError, match=r"cora_demo: .* all of its 26 variants"):
        run(model, "cora_demo", **asked)
    assert model.prompts == []
    count = len(run(model, "cora_demo", **asked, predict_only=True)["samples"]["cora_demo"])
    assert count == len(model.prompts) == asked.get("limit", 3) or asked == {"limit": 0.001}


def test_a_sample_of_variants_has_whole_questions() -> None:
    found = scores(run(knows, "cora_demo_plus", {"variants": 1}, limit=3), "cora_demo_plus")
    assert float(found["acc"]) == 1
