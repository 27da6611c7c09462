"""Build tasks from the task files of the checkout, without a run."""

from pathlib import Path

from lm_eval.tasks import TaskManager

from lm_eval_cora.harness.task import CoraTask
from tests.support.simulated import TASKS


def manager(**options: object) -> TaskManager:
    return TaskManager(include_path=TASKS, include_defaults=False, metadata={"cora": options})


def build(name: str, **options: object) -> CoraTask:
    task = manager(**options).load([name])["tasks"][name]
    assert isinstance(task, CoraTask)
    return task


def own_task(folder: Path, lines: str, name: str = "mine", of: str = "demo/cora_demo") -> TaskManager:
    """Write a task file that includes another one, and make a manager for its folder."""
    text = f"task: {name}\ninclude: {TASKS}/{of}.yaml\nmetadata: {{version: 1}}\n{lines}\n"
    (folder / f"{name}.yaml").write_text(text)
    return TaskManager(include_path=folder, include_defaults=False)
