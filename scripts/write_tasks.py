"""Write the task files: one for each benchmark, probe and form. Existing files keep their version.

Run `python -m scripts.write_tasks` after you add a fragment to `tasks/_benchmarks` or a probe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from lm_eval_cora.runs.task_files import benchmark as benchmark_named
from lm_eval_cora.variants.probes import PROBES, Probe, uses_templates

TASKS = Path(__file__).parents[1] / "tasks"

WITH_ALL_PROBES = {
    *("agieval", "arc_challenge", "math", "medmcqa", "medqa", "mmlu", "mmlu_pro", "truthfulqa"),
    *("demo", "hub", "local", "of"),
}
"""Benchmarks that the papers of the probes use, and those for trying a probe or for other questions."""

ONLY_OF_PAPERS = {"revas", "prompts", "sampling"}
"""Probes without tasks for the other benchmarks; cora_hub runs these probes on them."""

SHOTS = {"arc_challenge": 25, "mmlu": 5}
"""Numbers of exemplars in the divergent probe, if the paper uses some."""


def task_files() -> Iterator[tuple[Path, str]]:
    """Yield the path and the content of each task file. An existing file keeps its version."""
    for benchmark in sorted(path.stem for path in (TASKS / "_benchmarks").glob("*.yaml")):
        has_options = benchmark_named(benchmark).has_options
        for probe in PROBES.values():
            has_probe = benchmark in WITH_ALL_PROBES or probe.name not in ONLY_OF_PAPERS
            if has_probe and (has_options or probe.open_questions):
                for form in probe.formats:
                    yield _task_file(benchmark, probe, scored=form == "loglikelihood")


def _task_file(benchmark: str, probe: Probe, *, scored: bool) -> tuple[Path, str]:
    is_main = probe.name == "divergent"
    name = f"cora_{benchmark}{'' if is_main else f'_{probe.name}'}{'_mc' if scored else ''}"
    path = TASKS / ("gpqa" if benchmark.startswith("gpqa") else benchmark) / f"{name}.yaml"
    form = "loglikelihood" if scored else "reasoned" if uses_templates(probe, "generate") else "generate"
    parts = [f"../_benchmarks/{benchmark}.yaml", f"../_probes/{probe.name}.yaml"]
    if benchmark == "of":  # its class replaces that of the probe
        parts.reverse()
    lines = [f"task: {name}", f"include: [../_forms/{form}.yaml, {', '.join(parts)}]"]
    lines += [f"metadata: {{version: {_version(path)}}}"]
    lines += [f"num_fewshot: {SHOTS[benchmark]}"] if is_main and benchmark in SHOTS else []
    return path, "".join(f"{line}\n" for line in lines)


def _version(path: Path) -> int:
    return int(yaml.safe_load(path.read_text(encoding="utf-8"))["metadata"]["version"]) if path.is_file() else 1


def main() -> None:
    """Write the files that are missing or out of date, and print their paths."""
    for path, content in task_files():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(TASKS.parent)}\n")


if __name__ == "__main__":
    main()
