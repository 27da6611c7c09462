"""Run scripts in forks of one process that has imported their packages. The imports take longer than most scripts.

    python -m tests.support.scripts FOLDER '{"NAME": ["path/to/script.py", "argument"]}'

The exit status, the output and the errors of NAME are in the files NAME.status, NAME.out and NAME.err of the folder.
"""

import functools
import importlib
import json
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.documented import forked

ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "scipy.stats", "pandas", "datasets", "hypothesis", "lm_eval.evaluator", "lm_eval.tasks", "tqdm")


class Ran(NamedTuple):
    status: int
    out: str
    err: str


def run_all(scripts: Mapping[str, Sequence[str]], folder: Path) -> dict[str, Ran]:
    """Run scripts in the checkout, each a file and its arguments; their output goes into the folder."""
    command = [sys.executable, "-m", "tests.support.scripts", str(folder), json.dumps(scripts)]
    subprocess.run(command, cwd=ROOT, check=True)

    def text(name: str, end: str) -> str:
        return (folder / f"{name}.{end}").read_text(encoding="utf-8")

    return {name: Ran(int(text(name, "status")), text(name, "out"), text(name, "err")) for name in scripts}


def _as_started(words: Sequence[str]) -> None:
    """Run a script as `python SCRIPT` does: only its own folder is on the path, and nothing of ours is imported."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("tests", "lm_eval_cora"):
            del sys.modules[name]
    sys.argv = list(words)
    script = Path(words[0]).resolve()  # as Python does
    sys.path[0] = str(script.parent)  # in place of the working folder
    runpy.run_path(str(script), run_name="__main__")


def main(folder: str, scripts: str) -> None:
    """Run scripts one after the other."""
    for package in PACKAGES:
        importlib.import_module(package)
    for name, words in json.loads(scripts).items():
        place = Path(folder) / name
        with place.with_suffix(".out").open("wb") as out, place.with_suffix(".err").open("wb") as err:
            status = forked(functools.partial(_as_started, words), out.fileno(), err.fileno())
        place.with_suffix(".status").write_text(str(status), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
