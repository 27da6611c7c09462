"""Read the task files of the checkout and the questions of the package only once."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lm_eval.tasks import _factory, _index

from lm_eval_cora.questions import loading
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.question import LocatedRow
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
    """Read each task file of the checkout once, find them once, and read the questions of the package once.

    That takes half the time of a short run. The harness copies what it read before it changes it; a question is frozen.
    """
    read, build, known = _index.load_yaml, _index.TaskIndex.build, dict[Any, dict[str, Any]]()

    def kept(make: Callable[..., dict[str, Any]], key: tuple[Path, ...], given: Any, options: Any) -> dict[str, Any]:
        if not all(path.is_relative_to(TASKS) for path in key):
            return make(given, **options)
        whole = make, key, *sorted(options.items())
        if whole not in known:
            known[whole] = make(given, **options)
        return known[whole]

    def load_yaml(path: Path, **options: bool) -> dict[str, Any]:
        return kept(read, (path,), path, options)

    def index(paths: list[Path], **options: bool) -> dict[str, Any]:
        return dict(kept(build, tuple(paths), paths, options))

    collect, collected = loading.collect_questions, dict[Any, loading.Collected]()

    def questions(benchmark: Benchmark, rows: Iterable[LocatedRow], *, id_prefix: str) -> loading.Collected:
        if benchmark.package_file is None:
            return collect(benchmark, rows, id_prefix=id_prefix)
        key = repr(benchmark), id_prefix
        if key not in collected:
            collected[key] = collect(benchmark, rows, id_prefix=id_prefix)
        return loading.Collected(*map(list, collected[key]))

    with (
        patch.object(loading, "collect_questions", questions),
        patch.object(_index, "load_yaml", load_yaml),
        patch.object(_factory, "load_yaml", load_yaml),
        patch.object(_index.TaskIndex, "build", staticmethod(index)),
    ):
        yield
