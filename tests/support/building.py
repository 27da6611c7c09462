"""Build tasks from the task files of the checkout, without a run."""

from __future__ import annotations

from lm_eval.tasks import TaskManager

from lm_eval_cora.harness.task import CoraTask
from tests.support.simulated import TASKS


def manager(**options: object) -> TaskManager:
    return TaskManager(include_path=TASKS, include_defaults=False, metadata={"cora": options})


def build(name: str, **options: object) -> CoraTask:
    task = manager(**options).load([name])["tasks"][name]
    assert isinstance(task, CoraTask)
    return task
