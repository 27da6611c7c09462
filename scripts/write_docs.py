"""Write the generated parts of the documentation, and name the files that changed.

- The tables of a page: from `<!-- table: NAME -->` to `<!-- end of table -->`, for each NAME in `TABLES`. The text
  around them is written by hand.
- `docs/api.md`: the public functions and classes with their signatures and docstrings.
- `docs/llms.txt`: the pages that `docs/index.md` lists, for language models (https://llmstxt.org).
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import yaml

from lm_eval_cora.options import OPTIONS, Options
from lm_eval_cora.probes import PROBES, Probe, Setting
from lm_eval_cora.question import OpenQuestion, Question
from lm_eval_cora.task_files import TaskFile, benchmark, task_list

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TASKS = ROOT / "tasks"

API = {
    "lm_eval_cora": "Import the package as `cora`: `import lm_eval_cora as cora`.",
    "lm_eval_cora.metrics": "The same functions compute the scores of a run in the harness.",
}
"""The modules of the Python API, each with a sentence."""


def documents() -> Iterator[tuple[Path, str]]:
    """Yield the path and the content of each file with generated parts."""
    for page in sorted([*DOCS.glob("*.md"), *TASKS.glob("**/README.md")]):
        text = page.read_text(encoding="utf-8")
        if TABLE.search(text):
            yield page, with_tables(text)
    yield DOCS / "api.md", api_page()
    yield DOCS / "llms.txt", llms((DOCS / "index.md").read_text(encoding="utf-8"))


def main() -> None:
    """Write the files that are missing or out of date, and name them."""
    for path, content in documents():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")


# Tables

TABLE = re.compile(r"(<!-- table: (?P<name>[\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """A page with its tables written again."""
    return TABLE.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n{found[3]}", text)


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
    return dict(sorted(found.items(), key=lambda item: (item[0] in ("local", "hub"), -len(item[1]), item[0])))


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
                "yours" if keys.get("open") else ("up to " if "keep" in keys else "") + f"{about.published_rows:,}",
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
        return "in the package" if "package_file" in keys else "your data"
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
            rows = [[f"`{kind}`", str(count), probe.kinds[kind]] for kind, count in found.items()]
            parts.append(title + table(["kind", "variants", "meaning"], rows))
        elif len(found) == 1:
            parts.append(f"{title}{found.popitem()[1]} samples of one prompt.\n")
        else:
            text = f"The kinds are the names of the templates; without templates of your own: {code(found)}."
            parts.append(title + textwrap.fill(text, 120, break_on_hyphens=False) + "\n")
    return "\n".join(parts)


def options_table() -> str:
    """A row for each option of all tasks."""
    defaults = {part.name: getattr(Options, part.name) for part in fields(Options) if hasattr(Options, part.name)}
    rows = []
    for name, option in OPTIONS.items():
        taken = [probe.name for probe in PROBES.values() if name in probe.options]
        tasks = code(ending(probe) for probe in taken) if taken else "all"
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


# The Python API

SECTIONS = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Example": "Example",
    "Examples": "Examples",
    "Raises": "Raises",
    "Returns": "Returns",
    "Yields": "Yields",
}
"""The sections of a docstring, and their titles on the page."""

OPERATORS = ("__getitem__", "__contains__", "__iter__", "__len__")
"""Special methods that are described if they have a docstring."""

WIDTH = 100
"""Longer signatures have a line for each argument."""


class Member(NamedTuple):
    """A public function or class.

    Attributes:
        name: How a user writes it, such as `cora.score`.
        value: The function or class.
    """

    name: str
    value: Any


def api_page() -> str:
    """The page of the Python API."""
    parts = ["<!-- scripts/write_docs.py writes this page from the docstrings. -->", "# Python API"]
    known: dict[int, str] = {}
    for name, about in API.items():
        parts += module_part(importlib.import_module(name), about, known)
    return "\n\n".join(parts) + "\n"


def module_part(module: ModuleType, about: str, known: dict[int, str]) -> list[str]:
    """A module: a sentence, a table of its functions and classes, and a part for each.

    Args:
        module: A module with `__all__`.
        about: The sentence.
        known: The names under which functions and classes are described already, by identity; extended.
    """
    short = module.__name__.replace("lm_eval_cora", "cora")
    members = [Member(f"{short}.{name}", getattr(module, name)) for name in module.__all__]
    members = [member for member in members if callable(member.value)]
    new = [member for member in members if id(member.value) not in known]
    known |= {id(member.value): member.name for member in new}
    rows = [
        [f"[`{member.name}`](#{slug(known[id(member.value)])})", lines(member.value)[0].replace("\n", " ")]
        for member in members
    ]
    parts = [f"## `{short}`", about, table(["name", ""], rows).rstrip()]
    for member in new:
        parts += class_part(member) if inspect.isclass(member.value) else function_part(member, "###")
    return parts


def slug(name: str) -> str:
    """The anchor of a heading that is a name.

    Example:
        >>> slug("cora.metrics.mcqa_plus")
        'corametricsmcqa_plus'
    """
    return name.lower().replace(".", "")


def function_part(member: Member, heading: str) -> list[str]:
    """A function or method: heading, signature, docstring."""
    return [f"{heading} `{member.name}`", block(signature(member.name, member.value)), *described(lines(member.value))]


def class_part(member: Member) -> list[str]:
    """A class: heading, constructor where it is public, docstring, properties and methods."""
    made = is_dataclass(member.value) or hasattr(member.value, "_fields")
    shown = signature(member.name, member.value).partition(" -> ")[0] if made else member.name
    parts = [f"### `{member.name}`", block(f"class {shown}"), *described(lines(member.value))]
    owner = member.name.rpartition(".")[2]
    for name, each in vars(member.value).items():
        own = each.__func__ if isinstance(each, classmethod | staticmethod) else each
        is_public = not name.startswith("_") or name in OPERATORS
        if not is_public or not inspect.getdoc(own):
            continue
        if isinstance(own, property):
            result = annotation(inspect.signature(own.fget).return_annotation)  # type: ignore[arg-type]
            parts += [f"#### `{owner}.{name}`", block(f"{owner}.{name}: {result}"), *described(lines(own))]
        elif inspect.isfunction(own):
            parts += function_part(Member(f"{owner}.{name}", own), "####")
    return parts


def block(text: str) -> str:
    """A code block."""
    return f"```python\n{text}\n```"


def signature(name: str, each: Callable[..., Any]) -> str:
    """A signature as a user calls it, without `self`.

    Example:
        >>> def share(self, level: float, *, default: float | None = None) -> float: ...
        >>> signature("Scores.share", share)
        'Scores.share(level: float, *, default: float | None = None) -> float'
    """
    found = inspect.signature(each)
    parts: list[str] = []
    for number, one in enumerate(found.parameters.values()):
        if number == 0 and one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        written = f"{star}{one.name}: {annotation(one.annotation)}"
        default = json.dumps(one.default) if isinstance(one.default, str) else repr(one.default)
        parts.append(written if one.default is one.empty else f"{written} = {default}")
        following = list(found.parameters.values())[number + 1 :]
        if one.kind is one.POSITIONAL_ONLY and not any(each.kind is one.POSITIONAL_ONLY for each in following):
            parts.append("/")
    result = "" if found.return_annotation is found.empty else f" -> {annotation(found.return_annotation)}"
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){result}"])


def annotation(given: object) -> str:
    """An annotation as the code has it."""
    given = getattr(given, "__forward_arg__", given)  # of a NamedTuple
    return given if isinstance(given, str) else inspect.formatannotation(given)


def lines(each: object) -> list[str]:
    """The paragraphs of a docstring: parts between blank lines."""
    return re.split(r"\n{2,}", inspect.getdoc(each) or "")


def described(paragraphs: list[str]) -> list[str]:
    """A docstring in Google's style as Markdown."""
    parts: list[str] = []
    section = ""
    for paragraph in paragraphs:
        title, _, rest = paragraph.partition("\n")
        if title.removesuffix(":") in SECTIONS and title.endswith(":"):
            section = title.removesuffix(":")
            parts.append(f"**{SECTIONS[section]}**")
            paragraph = rest
        elif not paragraph.startswith(" "):
            section = ""
        text = textwrap.dedent(paragraph) if section else paragraph
        if text.lstrip().startswith(">>>"):
            parts.append(block(text))
        elif section in ("Args", "Attributes", "Raises"):
            parts.append(items(text))
        else:
            parts.append(text[:-1] if text.endswith("::") else text)
    return parts


def items(text: str) -> str:
    r"""`name: description` as a list.

    Example:
        >>> items("rows: Their\n    texts.\nseed: A number.")
        '- `rows`: Their texts.\n- `seed`: A number.'
    """
    joined = re.sub(r"\n +", " ", text)
    return "\n".join(re.sub(r"^([\w*.]+)(?: \([^)]*\))?: ", r"- `\1`: ", line) for line in joined.splitlines())


# For language models


def llms(index: str) -> str:
    """The overview for language models: title, summary and pages of the start page."""
    title, summary, rest = re.fullmatch(r"(# .+?)\n\n(.+?)\n\n(## .+)", index.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{title}\n\n> {' '.join(summary.split())}\n\n{rest}\n"


if __name__ == "__main__":
    main()
