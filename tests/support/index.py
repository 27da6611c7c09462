"""Read the task files of the checkout only once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lm_eval.tasks import _index

from tests.support.simulated import TASKS

OURS_ALONE = """
import functools, runpy, sys
from lm_eval import tasks
tasks.TaskManager = functools.partial(tasks.TaskManager, include_defaults=False)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Code that runs a module without the harness' own tasks: searching their folder takes half a minute."""


@contextmanager
def reading_task_files_once() -> Iterator[None]:
    """Read each task file of the checkout once. A `TaskManager` reads all of them, which takes longer than most runs.

    Only its index is kept, which the harness copies before it changes it; a task that is built reads its file again.
    """
    read, known = _index.load_yaml, {}

    def load_yaml(path: Path, **options: bool) -> dict[str, Any]:
        if not path.is_relative_to(TASKS) or options.get("resolve_func", True):
            return read(path, **options)
        key = path, *sorted(options.items())
        if key not in known:
            known[key] = read(path, **options)
        return known[key]

    with patch.object(_index, "load_yaml", load_yaml):
        yield
