"""The page of the Python API, made from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any, NamedTuple

from scripts.docs_tables import table

API = {
    "lm_eval_cora": "Import the package as `cora`: `import lm_eval_cora as cora`.",
    "lm_eval_cora.metrics": "The same functions compute the scores of a run in the harness.",
}
"""The modules of the Python API, each with a sentence."""

SECTIONS = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Columns": "Columns",
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
        elif section in ("Args", "Attributes", "Columns", "Raises"):
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
