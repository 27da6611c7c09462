"""Run scripts in forks of one process that has imported their packages. The imports take longer than most scripts.

    python -m tests.support.scripts FOLDER '{"NAME": ["path/to/script.py", "argument"]}'

The exit status, the output and the errors of NAME are in the files NAME.status, NAME.out and NAME.err of the folder.
Where a script starts `python -c CODE`, the code runs in a fork, too.
"""

import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import datasets
from lm_eval.tasks import TaskManager

from tests.support.documented import forked
from tests.support.index import reading_task_files_once
from tests.support.simulated import TASKS

ROOT = Path(__file__).parents[2]
PACKAGES = ("scipy.stats", "pandas", "hypothesis", "lm_eval.evaluator", "matplotlib.pyplot", "tqdm")
PATH = sys.path[1:]


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class Forking(subprocess.Popen[Any]):
    """A process that another one starts. If it is `python -c CODE`, it is a fork of that one."""

    def __init__(self, args, **more):
        if list(args[:2]) == [sys.executable, "-c"]:
            more["preexec_fn"] = partial(_code, args[2:], more["env"])
        super().__init__(args, **more)


def run_all(scripts, folder):
    """Run scripts in the checkout, each a file and its arguments; their output goes into the folder."""
    command = [sys.executable, "-m", "tests.support.scripts", str(folder), json.dumps(scripts)]
    subprocess.run(command, cwd=ROOT, check=True)

    def text(name, end):
        return (folder / f"{name}.{end}").read_text()

    return {name: Ran(int(text(name, "status")), text(name, "out"), text(name, "err")) for name in scripts}


def _as_started(words, folder, run):
    """Run something as Python does when it starts: only one folder is on the path, and nothing of ours is imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("benchmarks", "lm_eval_cora", "tests")]:
        del sys.modules[name]
    sys.argv[:] = words
    sys.path[:] = [folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *PATH]
    run()


def _script(words):
    subprocess.Popen = Forking
    script = Path(words[0]).resolve()  # as Python does
    _as_started(words, str(script.parent), partial(runpy.run_path, str(script), run_name="__main__"))


def _code(words, environment):
    """Run code in a child that would execute Python next."""
    os.closerange(3, 256)  # the parent waits until one of them is closed
    os.environ |= environment
    datasets.config.HF_DATASETS_CACHE = environment.get("HF_DATASETS_CACHE", datasets.config.HF_DATASETS_CACHE)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))  # maybe pipes now
    code = partial(exec, words[0], {"__name__": "__main__"})
    os._exit(forked(partial(_as_started, ["-c", *words[1:]], "", code), 1, 2))


def main(folder, scripts):
    """Run scripts one after the other."""
    for package in PACKAGES:
        importlib.import_module(package)
    with reading_task_files_once():
        TaskManager(include_path=TASKS, include_defaults=False)
        gc.freeze()
        for name, words in json.loads(scripts).items():
            place = Path(folder) / name
            with place.with_suffix(".out").open("wb") as out, place.with_suffix(".err").open("wb") as err:
                status = forked(partial(_script, words), out.fileno(), err.fileno())
            place.with_suffix(".status").write_text(str(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
