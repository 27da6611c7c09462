"""Build tasks from the task files of the checkout, without a run."""

from lm_eval.tasks import TaskManager

from lm_eval_cora.harness.task import CoraTask
from tests.support.simulated import TASKS


def manager(**options):
    return TaskManager(include_path=TASKS, include_defaults=False, metadata={"cora": options})


def build(name, **options):
    task = manager(**options).load([name])["tasks"][name]
    assert isinstance(task, CoraTask)
    return task


def own_task(folder, lines, name="mine", of="demo/cora_demo"):
    """Write a task file that includes another one, and make a manager for its folder."""
    text = f"task: {name}\ninclude: {TASKS}/{of}.yaml\nmetadata: {{version: 1}}\n{lines}\n"
    (folder / f"{name}.yaml").write_text(text)
    return TaskManager(include_path=folder, include_defaults=False)
