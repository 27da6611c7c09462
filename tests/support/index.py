"""Read the task files of the checkout and the questions of the package only once."""

from contextlib import contextmanager
from copy import copy, deepcopy
from unittest.mock import patch

from lm_eval.tasks import _factory, _index

from lm_eval_cora.questions import loading
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
def reading_task_files_once():
    """Read each task file of the checkout once, find them once, and read the questions of the package once.

    That takes half the time of a short run. A task may change what was read, but no question, which is frozen.
    """
    known = {}

    def once(read, key_of, copied=copy):
        def kept(given, *more, **options):
            if not (key := key_of(given)):
                return read(given, *more, **options)
            if (whole := (read, key, *sorted(options.items()))) not in known:
                known[whole] = read(given, *more, **options)
            return copied(known[whole])

        return kept

    load_yaml = once(_index.load_yaml, lambda path: path.is_relative_to(TASKS) and path, deepcopy)
    index = once(_index.TaskIndex.build, lambda paths: all(one.is_relative_to(TASKS) for one in paths) and (*paths,))
    questions = once(loading.collect_questions, lambda benchmark: benchmark.package_file and repr(benchmark))
    with (
        patch.object(loading, "collect_questions", questions),
        patch.object(_index, "load_yaml", load_yaml),
        patch.object(_factory, "load_yaml", load_yaml),
        patch.object(_index.TaskIndex, "build", staticmethod(index)),
    ):
        yield
