"""Requirements of a gate: typed on the command line, or listed in a YAML file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import shorten

_REQUIREMENT = re.compile(
    r"(?:(?P<task>\S.*?)\s*:)?\s*"  # the name of a task may contain colons
    r"(?P<metric>[A-Za-z_][A-Za-z0-9_.@]*)\s*(?P<sign>>=|<=|:)\s*"
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)",
    re.ASCII | re.DOTALL,
)

_EXPECTED = {
    "require": "[TASK:]METRIC>=NUMBER or [TASK:]METRIC<=NUMBER, such as 'cora>=0.45'",
    "no_worse": "[TASK:]METRIC:MARGIN with a margin from 0, such as 'cora:0.02'",
}
"""The lists of a policy, and the form of their entries."""


@dataclass(frozen=True)
class Requirement:
    """A lowest (>=) or highest (<=) value of a metric, or the largest loss compared with a baseline (:).

    Without a task, it holds for every task of the run.
    """

    metric: str
    sign: str
    number: float
    task: str = ""

    @property
    def is_loss(self) -> bool:
        """Whether it compares with a baseline."""
        return self.sign == ":"

    def __str__(self) -> str:
        """Return the requirement as text, without the task."""
        return f"{self.metric} {'no worse by' if self.is_loss else self.sign} {self.number:g}"


def read_requirements(require: Sequence[str], no_worse: Sequence[str], policy: Path | None = None) -> list[Requirement]:
    """Read the requirements of the command line and of a policy file, each once, losses last."""
    typed = [parse(text, "require", "--require") for text in require]
    typed += [parse(text, "no_worse", "--no-worse") for text in no_worse]
    listed = _read_policy(policy) if policy else []
    return sorted(dict.fromkeys([*typed, *listed]), key=lambda requirement: requirement.is_loss)


def parse(text: str, key: str, where: str) -> Requirement:
    """Parse an entry of a list of a policy."""
    parts = _REQUIREMENT.fullmatch(text.strip())
    number = float(parts["number"]) if parts else 0.0
    is_loss = key == "no_worse"
    if not parts or (parts["sign"] == ":") != is_loss or not isfinite(number) or (is_loss and number < 0):
        raise UserError(f"{where} {_shown(text)}: expected {_EXPECTED[key]}")
    return Requirement(parts["metric"], parts["sign"], number, parts["task"] or "")


def _shown(text: object) -> str:
    return repr(shorten(text, 80))


def _read_policy(path: Path) -> list[Requirement]:
    content, requirements = _load(path), []
    expected = f"expected {' and '.join(_EXPECTED)}, each with a list of texts"
    if not isinstance(content, dict):
        raise UserError(f"{path}: {expected}, got {_shown(content)}")
    for key, texts in content.items():
        if key not in _EXPECTED:
            raise UserError(f"{path}: {expected}, got the key {_shown(key)}.{did_you_mean(str(key), _EXPECTED)}")
        if not isinstance(texts, list):
            raise UserError(f"{path}: {key}: expected a list of texts, got {_shown(texts)}")
        for text in texts:
            if not isinstance(text, str):
                raise UserError(f"{path}: {key}: expected texts, got {_shown(text)}. Put the text in quotation marks")
            requirements.append(parse(text, key, f"{path}: {key}:"))
    if not requirements:
        raise UserError(f"{path}: {expected}, got no requirement")
    return requirements


def _load(path: Path) -> Any:
    try:
        return yaml.load(path.read_bytes(), Loader=_PolicyLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or error
        line = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}{line}: cannot be read as YAML: {shorten(problem, 80)}") from None


class _PolicyLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """YAML loader that refuses a key that occurs twice: PyYAML would silently drop the first one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in keys:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is twice", key.start_mark)
            keys.add(str(key.value))
        return dict(super().construct_mapping(node, deep=deep))
