"""The tables of the documentation, made from the probes, the options and the task files."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from lm_eval_cora.questions.options import OPTIONS, Options
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.runs.task_files import TaskFile, benchmark, task_list
from lm_eval_cora.variants.probes import PROBES, Probe, Setting

ROOT = Path(__file__).resolve().parents[1]
TASKS = ROOT / "tasks"


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(header)
    parts = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in [head, *rows]]
    return "\n".join([parts[0], "|---" * len(head) + "|", *parts[1:], ""])


def code(names: Iterable[str]) -> str:
    """Names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def span(least: int, most: int) -> str:
    """A number, or the least and the most."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def written() -> dict[str, dict[str, TaskFile]]:
    """The tasks whose answers are written, by benchmark and probe. Their `_mc` forms have the same variants."""
    found: dict[str, dict[str, TaskFile]] = {}
    for task in task_list():
        if task.form == "generate":
            name = re.sub(f"^cora_|({'|'.join(map(ending, PROBES))})$", "", task.name)
            found.setdefault(name, {})[task.probe] = task
    # The benchmarks with most probes first, the user's own data last.
    return dict(sorted(found.items(), key=lambda item: (item[0] in ("local", "hub", "of"), -len(item[1]), item[0])))


def ending(probe: str) -> str:
    """What the probe adds to the name of a task."""
    return "" if probe == "divergent" else f"_{probe}"


def readme(task: str) -> str:
    """A link to the page of a task."""
    (path,) = TASKS.glob(f"*/{task}.yaml")
    return f"[`{task}`](../tasks/{path.parent.name}/README.md)"


def benchmarks_table() -> str:
    """A row for each benchmark."""
    rows = []
    for name, tasks in written().items():
        about = benchmark(name)
        declared = yaml.safe_load(re.sub(r"!function ", "", (TASKS / f"_benchmarks/{name}.yaml").read_text("utf-8")))
        keys = declared["benchmark"]
        names = [tasks["divergent"].name] if "divergent" in tasks else [task.name for task in tasks.values()]
        rows.append(
            [
                ", ".join(map(readme, names)),
                "yours"
                if about.published_rows is None
                else ("up to " if "keep" in keys else "") + f"{about.published_rows:,}",
                span(*about.options) if about.has_options else "none",
                str(shots(names[0])),
                sources(keys),
            ]
        )
    return table(["task", "questions", "options", "shots", "source"], rows)


def shots(task: str) -> int:
    """The number of exemplars that a task file asks for."""
    (path,) = TASKS.glob(f"*/{task}.yaml")
    found = re.search(r"^num_fewshot: (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) if found else 0


def sources(keys: Mapping[str, Any]) -> str:
    """Where the questions of a benchmark are."""
    hub = keys.get("hub", [])
    names = [hub] if isinstance(hub, str) else hub
    if not names:
        return {"demo": "in the package", "of": "the task of the harness"}.get(keys["name"], "your data")
    languages = f", {len(keys['configs'])} languages" if "configs" in keys else ""
    return (code(names) if len(names) == 1 else f"`{common(names)}*`") + languages


def common(names: list[str]) -> str:
    """The beginning that names share."""
    return names[0][: next(at for at, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1)]


def variants_table() -> str:
    """The number of variants of a question, for each benchmark and probe."""
    rows = [
        [f"`cora_{name}`", *(span(*tasks[probe].docs_per_question()) if probe in tasks else "" for probe in PROBES)]
        for name, tasks in written().items()
    ]
    return table(["task", *(f"`{ending(probe)}`" if ending(probe) else "no ending" for probe in PROBES)], rows)


def probes_table() -> str:
    """A row for each probe."""
    rows = [
        [
            f"`cora_<benchmark>{ending(probe.name)}`",
            probe.study,
            sentence(probe.summary),
            *(str(sum(counts(probe, options).values())) for options in (4, 5)),
            "yes" if "loglikelihood" in probe.formats else "no",
        ]
        for probe in PROBES.values()
    ]
    return table(["tasks", "study", "variants", "of 4 options", "of 5 options", "`_mc`"], rows)


def sentence(phrase: str) -> str:
    """A phrase as a sentence, without the study in brackets."""
    plain = re.sub(r" \([^)]*\)$", "", phrase)
    return f"{plain[0].upper()}{plain[1:]}."


def counts(probe: Probe, options: int) -> dict[str, int]:
    """The number of variants of each kind, of a question with so many options."""
    question: Question | OpenQuestion = Question("q", "?", tuple(map(str, range(options))), 0)
    found: dict[str, int] = {}
    for variant in probe.expand(question, Setting()):
        found[variant.kind] = found.get(variant.kind, 0) + 1
    return found


def kinds_tables() -> str:
    """A table of the kinds of each probe, for a question with five options."""
    parts = []
    for probe in PROBES.values():
        found = counts(probe, 5)
        title = f"### {probe.study}: `{probe.name}`\n\n"
        if set(found) <= set(probe.kinds):
            parts.append(title + table(["kind", "variants", "meaning"], kind_rows(probe, found)))
        elif len(found) == 1:
            parts.append(f"{title}{found.popitem()[1]} samples of one prompt.\n")
        else:
            text = f"The kinds are the names of the templates; without templates of your own: {code(found)}."
            parts.append(title + textwrap.fill(text, 120, break_on_hyphens=False) + "\n")
    return "\n".join(parts)


def kind_rows(probe: Probe, found: Mapping[str, int]) -> list[list[str]]:
    """A row for each kind; kinds that differ in a number or a letter share one."""
    alike: dict[str, list[str]] = {}
    for kind in found:
        alike.setdefault(re.sub(r"(?<=_)([A-Z]|\d+)(?=_|$)", "n", kind), []).append(kind)
    rows = []
    for name, kinds in alike.items():
        numbers = [str(found[kind]) for kind in kinds]
        meaning = probe.kinds[kinds[0]]
        if len(kinds) > 1:
            values = re.findall(r"_([A-Z]|\d+)(?=_| |$)", " ".join(kinds))
            meaning = f"{re.sub(rf'(?<![a-z]){values[0]}(?![a-z])', 'n', meaning, count=1)} n: {', '.join(values)}."
            numbers = [f"{numbers[0]} each"] if len(set(numbers)) == 1 else numbers
        rows.append([f"`{name}`", ", ".join(numbers), meaning])
    return rows


def options_table() -> str:
    """A row for each option of all tasks."""
    defaults = {part.name: getattr(Options, part.name) for part in fields(Options) if hasattr(Options, part.name)}
    rows = []
    for name, option in OPTIONS.items():
        taken = [probe.name for probe in PROBES.values() if name in probe.options]
        tasks = code(ending(probe) for probe in taken) if taken else "`cora_of`" if name == "task" else "all"
        default = option.unset or f"`{json.dumps(defaults[name]).strip(chr(34))}`"
        expected = re.sub(r"'(\w+)'", r"`\1`", option.expected)
        rows.append([f"`{name}`", tasks, option.meaning, expected, default])
    return table(["option", "tasks", "meaning", "accepted values", "default"], rows)


def groups_table() -> str:
    """A row for each group of tasks."""
    rows = []
    for path in sorted((TASKS / "_groups").glob("*.yaml")):
        group = yaml.safe_load(path.read_text(encoding="utf-8"))
        rows.append([f"`{group['group']}`", code(group["task"])])
    return table(["group", "tasks"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "benchmarks": benchmarks_table,
    "variants": variants_table,
    "probes": probes_table,
    "kinds": kinds_tables,
    "options": options_table,
    "groups": groups_table,
}
