"""Dry run: load tasks and build their requests without a model, to find mistakes and the cost."""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.tasks import TaskManager

from lm_eval_cora.discovery.location import register_tag, tasks_folder, with_tasks_folder
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.back_ends import explaining, in_a_line
from lm_eval_cora.harness.compat import finding_tasks_with
from lm_eval_cora.harness.task import CoraTask
from lm_eval_cora.log import silence
from lm_eval_cora.questions.messages import did_you_mean


def dry_run(
    names: Sequence[str],
    metadata: Mapping[str, Any],
    *,
    num_fewshot: int | None = None,
    limit: float | None = None,
    include_path: Path | None = None,
) -> dict[str, str]:
    """Do everything that a run does before its first request, for tasks or groups."""
    register_tag()
    folders = with_tasks_folder([include_path] if include_path else [])
    manager = TaskManager(include_path=folders, include_defaults=False, metadata=dict(metadata))
    if unknown := [name for name in names if name not in manager.all_tasks]:
        raise _not_found(unknown, manager, folders)
    costs = {}
    for name, task in load_tasks(manager, names).items():
        if not isinstance(task, CoraTask):
            raise UserError(f"{task.task_name}: is not a lm-eval-cora task: its class is {type(task).__name__}")
        _set(task, num_fewshot)
        costs[name] = task.cost(limit)
    return costs


def check_tasks(settings: EvaluatorConfig, model: AskingLM) -> tuple[TaskManager, list[CoraTask]]:
    """Find mistakes in tasks and options before the model is built."""
    # The harness loads the tasks again for the run, after it has set its seeds: some of other packages shuffle then.
    with silence():
        # Register it here, so that this command does not depend on the start-up module.
        register_tag()
        settings.include_path = with_tasks_folder(listed(settings.include_path or []))  # a --config file has a list
        manager = _manager(settings, settings.include_path)
        samples = settings.samples or {}
        if not isinstance(samples, dict) or not all(isinstance(numbers, list) for numbers in samples.values()):
            expected = """expected an object such as '{"cora_demo": [0, 1, 2]}', or a file that contains one"""
            raise UserError(f"--samples {settings.samples!r}: {expected}")
        loaded = load_tasks(manager, settings.tasks, settings.model_args)
        ours = [task for task in loaded.values() if isinstance(task, CoraTask)]
        if unknown := sorted(samples.keys() - loaded.keys()):
            meant = did_you_mean(unknown[0], [*loaded])
            raise UserError(f"--samples: there is no task {unknown[0]!r} in this run.{meant}")
        for task in ours:
            _set(task, settings.num_fewshot)
            if task.get_config("output_type") == "generate_until" and settings.gen_kwargs:
                task.set_config("generation_kwargs", settings.gen_kwargs, update=True)
            if settings.predict_only:
                task.override_metric("bypass")
            task.prepare(model, limit=settings.limit, samples=samples.get(task.task_name))
    if not ours and model.settings:
        options = ", ".join(f"--{name}" for name in model.settings)
        raise UserError(f"{options}: expected a lm-eval-cora task, got none. `lm-eval-cora tasks` lists them")
    model.check(ours)
    return manager, ours


def _manager(settings: EvaluatorConfig, folders: Sequence[str | Path]) -> TaskManager:
    """Let the harness find the tasks. Reading its own task files takes ten seconds, so skip them if it can."""
    without_defaults = TaskManager(include_path=folders, include_defaults=False, metadata=settings.metadata or {})
    names = [name for given in listed(settings.tasks) for name in str(given).split(",")]
    ours = tasks_folder() / "_groups"  # other groups may contain tasks of the harness
    enough = all(name in without_defaults.all_subtasks or (ours / f"{name}.yaml").is_file() for name in names)
    try:
        with finding_tasks_with(without_defaults) if enough else nullcontext():
            manager = settings.process_tasks(settings.metadata)
        # 0.5 lets unknown names pass. It splits names at these signs.
        given = [name for name in settings.tasks if isinstance(name, str)]
        unknown = [name for name in given if re.split("@|::", name)[0] not in manager.all_tasks]
    except Exception as error:  # reading a task file may raise any error
        unknown = str(error).removeprefix(_NOT_FOUND).split(", ")
        if not isinstance(error, ValueError) or not str(error).startswith(_NOT_FOUND):
            raise UserError(f"--tasks: a task file cannot be read: {in_a_line(error)}") from error
    if unknown:
        raise _not_found(unknown, without_defaults, folders)
    return manager


def listed(value: Any) -> list[Any]:
    """A value as a list."""
    return value if isinstance(value, list) else [value]


_NOT_FOUND = "Tasks not found: "


def _not_found(names: Sequence[str], manager: TaskManager, folders: Sequence[str | Path]) -> UserError:
    """The error for unknown tasks: why the harness skipped their files, or which names are similar."""
    found = []
    for name in names:
        if name.endswith(".yaml"):
            found.append(f"there is no file {name}.")
        elif reason := _why_skipped(name, manager, folders):
            found.append(f"the task {name!r} cannot be used: {reason}.")
        else:
            meant = did_you_mean(f"cora_{name.removeprefix('cora_')}", manager.all_tasks)
            found.append(f"there is no task {name!r}.{meant or did_you_mean(name, manager.all_tasks)}")
    sentences = " ".join([found[0], *(text[0].upper() + text[1:] for text in found[1:])])
    return UserError(f"{sentences} `lm-eval-cora tasks` lists the tasks of this package, `lm_eval ls tasks` all")


def _why_skipped(name: str, manager: TaskManager, folders: Sequence[str | Path]) -> str:
    """Why the harness skipped the file of a task without a message; empty if there is no such file."""
    declares = re.compile(rf"""^(task|group)\s*:\s*["']?{re.escape(name)}["']?\s*(#.*)?$""", re.MULTILINE)
    for path in (path for folder in folders for path in sorted(Path(folder).rglob("*.y*ml"))):
        with suppress(OSError):
            if declares.search(path.read_text(encoding="utf-8", errors="replace")):
                if path.suffix != ".yaml":
                    return f"{path}: the harness reads only files whose names end in .yaml"
                try:
                    manager.load([str(path)])
                except Exception as error:  # reading a task file may raise any error
                    return f"{path}: the harness cannot read the file: {in_a_line(error)}"
    return ""


def load_tasks(
    task_manager: TaskManager, names: Sequence[Any], model_args: Mapping[str, Any] | str | None = None
) -> dict[str, Any]:
    """Load tasks. `argument_of_the_run` finds the arguments, as those of `simple_evaluate`."""
    with explaining(f"{', '.join(map(str, names))}: cannot be loaded"):
        tasks: dict[str, Any] = task_manager.load(list(names))["tasks"]
    return tasks


def _set(task: CoraTask, num_fewshot: int | None) -> None:
    """Configure a task as the harness does before a run."""
    if num_fewshot is not None:
        task.set_num_fewshot(num_fewshot)
    task.set_fewshot_seed(seed=None)
