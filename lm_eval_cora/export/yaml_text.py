"""Write YAML for the Hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


class _Quoted(str):
    """A text to write in double quotes."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes lists inside mappings indented, as the Hub's documentation does."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def as_yaml(value: Any) -> str:
    """Write a value as YAML with every text in double quotes, except keys.

    PyYAML writes YAML 1.1 and the Hub reads YAML 1.2. They disagree whether texts such as `08` and `1e3` are numbers.
    """
    # An unlimited width keeps each text on one line.
    return str(yaml.dump(_quoted(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")))


def _quoted(value: Any) -> Any:
    if isinstance(value, str):
        return _Quoted(value)
    if isinstance(value, Mapping):
        return {key: _quoted(part) for key, part in value.items()}
    return [_quoted(part) for part in value] if isinstance(value, list) else value


def on_one_line(text: str) -> str:
    r"""Remove line breaks, control characters and lone surrogates from a text."""
    return " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text).split())
