"""Measure what the package costs at each start of Python and of a command, and until the first request of a run.

    python benchmarks/startup.py --repeats 200

**A start of Python**, with our start-up module and with an empty one.

Both modules are compiled and imported by a .pth file, each in a separate virtual environment with 150 folders in
site-packages. Ours is a package with one file, as the wheel installs it. Before it, another .pth file imports a module
from site-packages, as with an editable harness: the first such import is slower, because it reads the folder. The two
environments are started in turn, under `-X importtime`.

**A command** on a file of 180 answers, its help, and an error: processor time, and its ratio to `import numpy`. The
commands are started in turn, and the lowest time of each counts.

**A run** of one question of the demo with the harness' dummy model, with `lm-eval-cora run` and with `lm_eval run`, in
turn: seconds of processor time up to the first request.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

MODULE = "_lm_eval_cora_startup"
TASKS = str(Path(__file__).parents[1] / "tasks")
PACKAGES = 150
"""Folders beside the module, as in an environment of the harness."""


def microseconds(python: Path, module: str) -> tuple[int, int]:
    """Start Python; return the microseconds for the import of a module and for all imports together."""
    command = [str(python), "-X", "importtime", "-c", "pass"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    said = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=True).stderr
    rows = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \| +(\S+)", said)
    (cost,) = (int(cumulative) for _, cumulative, name in rows if name == module)
    return cost, sum(int(own) for own, _, _ in rows)


def environment_with(folder: Path, name: str, source: str, file: str) -> Path:
    """Create an environment that imports a module at the start of Python; return its Python."""
    venv.create(folder, symlinks=os.name == "posix")
    python = folder / ("bin/python" if os.name == "posix" else "Scripts/python.exe")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([str(python), "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    path = site / file
    for number in range(PACKAGES):
        (site / f"package{number}").mkdir()
    (site / "0.pth").write_text("import _before\n")
    (site / "_before.py").touch()
    path.parent.mkdir(exist_ok=True)
    path.write_text(source)
    (site / f"{name}.pth").write_text(f"import {name}\n")
    subprocess.run([str(python), "-m", "compileall", "-q", str(site)], check=True)
    return python


TO_FIRST_REQUEST = """
import functools, json, runpy, sys
from lm_eval import tasks
from lm_eval.models.dummy import DummyLM
tasks.TaskManager = functools.partial(tasks.TaskManager, **json.loads(sys.argv.pop(1)))
def stop(*_, **__):
    sys.exit(3)
DummyLM.generate_until = stop
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


def seconds_to_first_request(command: str, *, ours_alone: bool) -> float:
    """Processor time of `lm_eval run` or `lm-eval-cora run` until the model is asked."""
    options = {"include_defaults": False} if ours_alone else {}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = ["run", "--model", "dummy", "--tasks", "cora_demo", "--limit", "1", "--include_path", TASKS]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-c", TO_FIRST_REQUEST, json.dumps(options), command, *arguments]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if "Running generate_until requests" not in done.stderr:
        raise SystemExit(f"{command}: {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


ANSWERS = [
    {"question": question, "variant": variant, "picked": picked, "answer": "Ice", "printed": printed}
    for question in range(60)
    for variant, printed in (("original", ["Ice", "Fog"]), ("shuffled", ["Fog", "Ice"]), ("again", ["Ice", "Fog"]))
    for picked in [printed[question % 7 == 0]]
]


def seconds_of_commands(folder: Path, runs: int) -> dict[str, float]:
    """Processor time of `import numpy` and of our commands, without a first run, in which Python compiles modules."""
    (folder / "answers.json").write_text(json.dumps(ANSWERS))
    ours = ("--help", "score answers.json", "gate answers.json --require cora>=0.3", "score missing.json")
    commands = {
        "import numpy": ["-c", "import numpy"],
        **{line: ["-m", "lm_eval_cora", *line.split()] for line in ours},
    }
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs + 1):
        for name, words in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], env=environment, cwd=folder, capture_output=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[name].append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {name: min(seconds[1:]) for name, seconds in spent.items()}


def main() -> None:
    """Time both modules and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100, help="starts with each module (default: 100)")
    parser.add_argument("--runs", type=int, default=5, help="runs with each command (default: 5)")
    parser.add_argument("--ours-alone", action="store_true", help="runs do not look for the harness' own tasks")
    given = parser.parse_args()
    repeats = given.repeats
    source = (Path(__file__).parents[1] / "lm_eval_cora" / "discovery" / f"{MODULE}.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        mine = environment_with(Path(temporary) / "ours", MODULE, source, f"{MODULE}/__init__.py")
        empty = environment_with(Path(temporary) / "empty", "_empty", "", "_empty.py")
        costs: dict[str, list[tuple[int, int]]] = {"ours": [], "empty": []}
        for _ in range(repeats):
            costs["ours"].append(microseconds(mine, MODULE))
            costs["empty"].append(microseconds(empty, "_empty"))
    print(f"{repeats} starts each, microseconds{'':8}{'lowest':>8}{'median':>8}{'highest':>8}")
    for label, name in (("our start-up module", "ours"), ("an empty module", "empty")):
        values = [cost for cost, _ in costs[name]]
        print(f"{label:36}{min(values):>8}{statistics.median(values):>8.0f}{max(values):>8}")
    ratio = statistics.median(one / other for (one, _), (other, _) in zip(*costs.values(), strict=True))
    share = statistics.median(cost / total for cost, total in costs["ours"])
    print(f"ours against an empty module: {ratio:.2f}; share of all imports of a bare start: {share:.1%}")
    with tempfile.TemporaryDirectory() as temporary:
        seconds = seconds_of_commands(Path(temporary), given.runs)
    print(f"processor time of commands, lowest of {given.runs}, seconds, and times that of `import numpy`")
    for name, spent in seconds.items():
        print(f"{name:44}{spent:>8.2f}{spent / seconds['import numpy']:>8.1f}")
    commands, alone = ("lm_eval_cora", "lm_eval"), given.ours_alone
    rows = [[seconds_to_first_request(name, ours_alone=alone) for name in commands] for _ in range(given.runs)]
    ours, plain = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"processor time to the first request, median of {given.runs} runs each, seconds")
    print(f"lm-eval-cora run {ours:.1f}, lm_eval run {plain:.1f}, ratio {ours / plain:.2f}")


if __name__ == "__main__":
    main()
