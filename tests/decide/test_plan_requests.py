"""The requests of a plan, compared with what reaches a model, and the number of questions of the benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_cora.decide.plan import Goal, Plan, make_plans
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.runs.grouping import read_runs
from tests.support.messages import tells
from tests.support.stopping import Moody
from tests.support.written import write

QUESTIONS = 6


def planned(folder: Path, metric: str = "cora") -> Plan:
    (plan,), _ = make_plans(read_runs([folder]), Goal(0.05, metric=metric))
    return plan


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc", "cora_demo_order"])
def test_the_requests_are_those_that_reach_the_model(task: str, tmp_path: Path) -> None:
    full, stopped = Moody(3), Moody(3)
    options = {"questions": QUESTIONS}
    write(tmp_path / "full", full, task, options)
    write(tmp_path / "stopped", stop_early(stopped, "exact"), task, options)
    plan = planned(tmp_path / "full")
    assert plan.requests_per_question == len(full.prompts) / QUESTIONS
    assert plan.requests_per_question_exact == len(stopped.prompts) / QUESTIONS < plan.requests_per_question
    again = planned(tmp_path / "stopped")
    assert (again.questions, again.requests, again.requests_exact) == (
        plan.questions,
        plan.requests,
        plan.requests_exact,
    )


def test_a_task_whose_questions_do_not_stop_early(tmp_path: Path) -> None:
    write(tmp_path, Moody(3), "cora_demo_sampling", {"questions": QUESTIONS})
    plan = planned(tmp_path, "")
    assert plan.metric == "acc_mean"
    assert plan.requests_exact is None


def test_too_few_questions_in_the_benchmark(tmp_path: Path) -> None:
    write(tmp_path, Moody(3), "cora_demo", {"questions": QUESTIONS})
    plans, notes = make_plans(read_runs([tmp_path]), Goal(0.01))
    assert plans[0].benchmark_questions == 120
    assert plans[0].enough is False
    told = ("6 questions in the run", "cora_demo: the benchmark has 120 questions, too few", "find")
    assert tells(" ".join(notes), *told)


def test_a_two_phase_run(tmp_path: Path) -> None:
    write(tmp_path, stop_early(Moody(3), target="whole:0.3"), "cora_demo", {})
    with pytest.raises(UserError, match="run with --target does not show"):
        planned(tmp_path)
