"""Export tasks as the `eval.yaml` that makes a dataset on the Hub a benchmark with leaderboards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.eval_results import as_yaml, check_dataset_id, metric_of, on_one_line
from lm_eval_cora.export.provenance import dataset_of, evaluation_name
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.runs.model_run import Run

FRAMEWORK = "lm-evaluation-harness"
"""The harness as the evaluation framework of the tasks."""

FRAMEWORKS = "https://github.com/huggingface/huggingface.js/blob/main/packages/tasks/src/eval.ts"
"""The Hub's list of evaluation frameworks."""

TO_REGISTER = (
    f"The Hub accepts evaluation frameworks of its list only. If {FRAMEWORK} is not in it, add it with a pull request: "
    f"{FRAMEWORKS}"
)
"""A step that the user must take before the Hub accepts the file."""


def eval_yaml(runs: Sequence[Run], dataset: str, metric: str = "") -> str:
    """Make the `eval.yaml` of a dataset that lists the tasks of some runs, each with its own leaderboard.

    The id of a task on the Hub is its name, with the name of the data if the task is asked with different data.
    """
    check_dataset_id(dataset)
    tasks = {evaluation_name(run): run for run in reversed(runs)}
    ordered = dict(sorted(tasks.items()))
    content = {
        "name": f"{dataset.partition('/')[2]}: consistency",
        "description": on_one_line(" ".join(_description(ordered, metric))),
        "evaluation_framework": FRAMEWORK,
        "tasks": [_task(name, run, dataset) for name, run in ordered.items()],
    }
    return f"# {TO_REGISTER}\n{as_yaml(content)}"


def _description(tasks: dict[str, Run], metric: str) -> list[str]:
    told = ["Each question is asked in several variants with lm-evaluation-harness and its plugin lm-eval-cora."]
    for name, run in tasks.items():
        value = metric_of(run, metric)
        (function,) = [entry["aggregation"] for entry in run.entries if entry["metric"] == value]
        told.append(f"{name} asks {run.probe.summary}; its value is {value}. {facts_of(function).meaning}")
    return list(dict.fromkeys(told))


def _task(name: str, run: Run, dataset: str) -> dict[str, Any]:
    data, task = dataset_of(run), on_one_line(run.task)
    if data.hub and data.hub != (dataset,):
        raise UserError(
            f"{task}: expected questions from {dataset}, but they come from {on_one_line(', '.join(data.hub))}. An "
            "eval.yaml lists the tasks of its own dataset"
        )
    if len(data.configs) > 1:
        raise UserError(
            f"{task}: expected one configuration of {dataset}, got {len(data.configs)}: "
            f"{on_one_line(', '.join(data.configs))}. An eval.yaml has one per task: run each alone"
        )
    found = {"config": "".join(data.configs), "split": data.split} if data.hub else {}
    return {"id": on_one_line(name), **{key: on_one_line(text) for key, text in found.items() if text}}
