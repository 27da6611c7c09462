"""List the tasks, or check that they would run and what they would cost.

lm-eval-cora tasks medqa
lm_eval ls tasks --include_path "$(lm-eval-cora tasks --path)"
lm-eval-cora tasks --check cora_medqa
lm-eval-cora tasks --check cora_local --metadata '{"cora": {"data_files": "my.jsonl"}}'
lm-eval-cora tasks --check --of belebele_fra_Latn
"""

from collections.abc import Sequence
from typing import Any

import yaml

from lm_eval_cora.cli import console
from lm_eval_cora.cli.run import as_the_harness_parses, importing_the_harness
from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.runs.task_files import TaskFile, task_list
from lm_eval_cora.tables.table_formats import table_as_text


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.argument("names", "TASK", "tasks or groups; without --check, part of a name is enough", nargs="*")
    parser.argument("--path", None, "print only the folder of the task files")
    parser.argument("--check", None, "load the tasks and build their requests, without a model")
    parser.argument(
        "--metadata",
        "ARG",
        "with --check, as for lm_eval run: options as JSON; key=value for other packages",
        nargs="+",
        **console.REPEATED,
    )
    parser.argument("--of", "NAME", "with --check, as for run: tasks of the harness, for the task cora_of or TASK")
    parser.argument("--num_fewshot", "N", "with --check, as for lm_eval run", type=console.between(0, 1_000))
    parser.argument(
        "--limit", "N", "with --check, as for lm_eval run: number of questions", type=console.between(1e-9, 1e9, float)
    )
    parser.argument("--include_path", "FOLDER", "with --check: folder of your task files")


def run(given: console.Given) -> None:
    """List the tasks, print their folder, or check that tasks would run."""
    metadata, names = _metadata(given) if given.metadata else ({}, given.names)
    if given.of:
        metadata.setdefault("cora", {})["task"] = given.of.split(",")
        names = names or ["cora_of"]
    if given.path:
        if given.check or names:
            given.parser.error("--path: expected neither TASK nor --check. Use --path alone")
        print(tasks_folder())
        return
    if given.check:
        if not names:
            given.parser.error("--check: expected a task or group, for example: lm-eval-cora tasks --check cora_medqa")
        if (folder := given.include_path) and not folder.is_dir():
            raise UserError(f"--include_path {folder}: there is no such folder")
        with importing_the_harness():
            from lm_eval_cora.harness.dry_run import dry_run  # takes seconds

        tasks = ",".join(names).split(",")
        costs = dry_run(tasks, metadata, num_fewshot=given.num_fewshot, limit=given.limit, include_path=folder)
        for name, cost in costs.items():
            print(f"{name}: {cost}")
        return
    rows: list[list[str | int]] = []
    for task in _matching(names):
        fewest, most = task.docs_per_question()
        docs: str | int = most if fewest == most else f"{fewest} to {most}"
        rows.append([task.name, task.benchmark.published_rows or "yours", docs])
    print(table_as_text(["task", "questions", "docs per question"], rows))
    print(f"\nA doc is one variant of a question. The task files are in {tasks_folder()}")


def _metadata(given: console.Given) -> tuple[dict[str, Any], list[str]]:
    """Parse `--metadata` as the harness does; return it and all task names, including those typed after it."""
    arguments = ["--tasks", "any"]
    names = list(given.names)
    for first, *words in given.metadata:
        arguments += ["--metadata", first, *(word for word in words if "=" in word)]
        names += [word for word in words if "=" not in word]
    return as_the_harness_parses(given, arguments).metadata or {}, names


def _matching(parts: Sequence[str]) -> list[TaskFile]:
    """Find the tasks whose names contain one of the parts or that belong to a group of that name; without parts all."""
    tasks = task_list()
    groups = {path.stem: path for path in (tasks_folder() / "_groups").glob("*.yaml")}
    chosen = set() if parts else {task.name for task in tasks}
    for part in parts:
        found = {task.name for task in tasks if part in task.name}
        if not found and part in groups:
            found = set(yaml.safe_load(groups[part].read_text(encoding="utf-8"))["task"])
        if not found:
            known = [*groups, *(task.name for task in tasks)]
            meant = did_you_mean(part, known) or did_you_mean(f"cora_{part}", known)
            raise UserError(f"{part!r} matches no task and no group.{meant} To list all tasks: lm-eval-cora tasks")
        chosen |= found
    return [task for task in tasks if task.name in chosen]
