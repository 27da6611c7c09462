"""Write the task files: one for each benchmark, probe and form. Existing files keep their version.

To add a benchmark, write its fragment in `tasks/_benchmarks`, add a line to `BENCHMARKS` below, and run this script.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

TASKS = Path(__file__).parents[1] / "tasks"

ALL = ("divergent", "plus", "revas", "prompts", "order", "sampling", "labels", "choices_only")
"""Default probes of a benchmark."""

FEWER = ("divergent", "plus", "order", "labels", "choices_only")
"""Probes of benchmarks that the papers of the probes do not use. cora_hub runs the other probes on them."""

REASONED = ("prompts", "order", "sampling")
"""Probes whose token limit leaves room for reasoning."""

WRITTEN_ONLY = ("prompts", "sampling")
"""Probes without the form that scores letters."""


class Tasks(NamedTuple):
    """The tasks of a benchmark.

    Attributes:
        probes: Probes of the benchmark.
        shots: Number of exemplars in the divergent probe.
    """

    probes: tuple[str, ...] = ALL
    shots: int = 0


BENCHMARKS = {
    "agieval": Tasks(),
    "arc_challenge": Tasks(shots=25),
    "commonsense_qa": Tasks(FEWER),
    "demo": Tasks(),
    "global_mmlu": Tasks(FEWER),
    "gpqa_diamond": Tasks(FEWER),
    "gpqa_main": Tasks(FEWER),
    "hub": Tasks(),
    "local": Tasks(),
    "math": Tasks(WRITTEN_ONLY),
    "medmcqa": Tasks(),
    "medqa": Tasks(),
    "medxpertqa": Tasks(FEWER),
    "mmlu": Tasks(shots=5),
    "mmlu_pro": Tasks(),
    "mmlu_redux": Tasks(FEWER),
    "of": Tasks(),
    "openbookqa": Tasks(FEWER),
    "race": Tasks(FEWER),
    "sciq": Tasks(FEWER),
    "truthfulqa": Tasks(),
}


def task_files() -> Iterator[tuple[Path, str]]:
    """Yield the path and the content of each task file. An existing file keeps its version."""
    for benchmark, tasks in BENCHMARKS.items():
        for probe in tasks.probes:
            for scored in (False,) if probe in WRITTEN_ONLY else (False, True):
                ending = "" if probe == "divergent" else f"_{probe}"
                name = f"cora_{benchmark}{ending}{'_mc' if scored else ''}"
                path = TASKS / _folder(benchmark) / f"{name}.yaml"
                form = "loglikelihood" if scored else "reasoned" if probe in REASONED else "generate"
                shots = tasks.shots if probe == "divergent" else 0
                yield path, _content(name, form, benchmark, probe, _version(path), shots)


def _folder(benchmark: str) -> str:
    return "gpqa" if benchmark.startswith("gpqa") else benchmark


def _version(path: Path) -> int:
    if not path.is_file():
        return 1
    return int(yaml.safe_load(path.read_text(encoding="utf-8"))["metadata"]["version"])


def _content(name: str, form: str, benchmark: str, probe: str, version: int, shots: int) -> str:
    parts = [f"../_benchmarks/{benchmark}.yaml", f"../_probes/{probe}.yaml"]
    if benchmark == "of":  # its class replaces that of the probe
        parts.reverse()
    return f"task: {name}\ninclude: [../_forms/{form}.yaml, {', '.join(parts)}]\nmetadata: {{version: {version}}}\n" + (
        f"num_fewshot: {shots}\n" if shots else ""
    )


def main() -> None:
    """Write the files that are missing or out of date, and print their paths."""
    for path, content in task_files():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(TASKS.parent)}\n")


if __name__ == "__main__":
    main()
