"""A run without a model: tasks are loaded and their requests built, to see what they cost and whether they can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval.tasks import TaskManager

from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.harness.notices import describe_cost
from lm_eval_cora.harness.task import CoraTask
from lm_eval_cora.options import OptionError
from lm_eval_cora.task_files import tasks_folder


def rehearse(
    names: Sequence[str],
    metadata: Mapping[str, Any],
    *,
    num_fewshot: int | None = None,
    limit: int | None = None,
    include_path: Path | None = None,
) -> dict[str, str]:
    """Do all that a run does before its first request, for tasks or groups.

    Args:
        names: Tasks or groups of ours.
        metadata: As it is given to the harness.
        num_fewshot: Number of exemplars, None for the task's own.
        limit: Number of variants, None for all.
        include_path: Folder of task files of the user's own.

    Returns:
        For each task what it would cost, in one line.

    Raises:
        OptionError: If a name is unknown, or a task or an option is not as it must be.
        BenchmarkError: If the questions cannot be had.
    """
    folders = [str(folder) for folder in (tasks_folder(), include_path) if folder]
    manager = TaskManager(include_path=folders, include_defaults=False, metadata=dict(metadata))
    unknown = [name for name in names if name not in manager.all_tasks]
    if unknown:
        raise OptionError(
            f"there is no task {', '.join(map(repr, unknown))}; `lm-eval-cora tasks` lists them, and the groups are "
            f"{', '.join(manager.all_groups)}. The harness skips task files that it cannot read"
        )
    try:
        loaded = manager.load(list(names))["tasks"]
    except (OptionError, BenchmarkError):
        raise
    except Exception as error:  # a task file of somebody's own may do anything
        raise OptionError(f"{', '.join(names)}: cannot be loaded: {type(error).__name__}: {error}") from error
    return {name: _cost(task, num_fewshot, limit) for name, task in loaded.items()}


def _cost(task: Any, num_fewshot: int | None, limit: int | None) -> str:
    if not isinstance(task, CoraTask):
        raise OptionError(f"{task.task_name}: is no task of ours: its class is {type(task).__name__}")
    if num_fewshot is not None:
        task.set_config("num_fewshot", num_fewshot)
    task.set_fewshot_seed(seed=None)
    task.build_all_requests(limit=limit, rank=0, world_size=1, tokenizer_name="")
    return describe_cost(task.instances, 1)
