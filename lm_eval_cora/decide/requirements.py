"""Requirements of a gate: their texts, and policies in YAML files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import shorten

Direction = Literal[">=", "<="]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_METRIC = r"(?P<metric>[A-Za-z_][A-Za-z0-9_.@]*)"
_REQUIREMENT = re.compile(rf"{_METRIC}\s*(?P<direction>>=|<=)\s*(?P<number>{_NUMBER})", re.ASCII)
_NO_WORSE = re.compile(rf"{_METRIC}\s*:\s*(?P<number>{_NUMBER})", re.ASCII)

_LONGEST = 500
"""Longest text of a requirement."""

_LARGEST = 100_000
"""Largest size of a policy file, in bytes."""

_KEYS = ("require", "no_worse")


@dataclass(frozen=True)
class Requirement:
    """A lowest or highest value of a metric.

    Attributes:
        metric: Name of the metric.
        direction: `>=` for a lowest value, `<=` for a highest one.
        bound: The value.
        task: Name of the task; empty for every task of the run.
    """

    metric: str
    direction: Direction
    bound: float
    task: str = ""

    def __str__(self) -> str:
        """Return the requirement as text, without the task."""
        return f"{self.metric} {self.direction} {self.bound:g}"


@dataclass(frozen=True)
class NoWorse:
    """A largest loss compared with a baseline.

    Attributes:
        metric: Name of the metric.
        margin: The loss that is allowed, from 0.
        task: Name of the task; empty for every task of the run.
    """

    metric: str
    margin: float
    task: str = ""

    def __str__(self) -> str:
        """Return the requirement as text, without the task."""
        return f"{self.metric} no worse by {self.margin:g}"


@dataclass(frozen=True)
class Policy:
    """The requirements of a gate.

    Attributes:
        require: Lowest and highest values.
        no_worse: Largest losses compared with a baseline.
    """

    require: tuple[Requirement, ...] = field(default=())
    no_worse: tuple[NoWorse, ...] = field(default=())

    def __add__(self, other: Policy) -> Policy:
        """The requirements of both policies, each once."""
        return Policy(
            tuple(dict.fromkeys((*self.require, *other.require))),
            tuple(dict.fromkeys((*self.no_worse, *other.no_worse))),
        )


def parse_requirement(text: str, where: str = "--require") -> Requirement:
    """Parse `[TASK:]METRIC>=NUMBER` or `[TASK:]METRIC<=NUMBER`."""
    task, found, number = _parsed(text, _REQUIREMENT)
    if found is None:
        raise UserError(
            f"{where} {_shown(text)}: expected [TASK:]METRIC>=NUMBER or [TASK:]METRIC<=NUMBER, such as 'cora>=0.45'"
        )
    return Requirement(found["metric"], ">=" if found["direction"] == ">=" else "<=", number, task)


def parse_no_worse(text: str, where: str = "--no-worse") -> NoWorse:
    """Parse `[TASK:]METRIC:MARGIN`."""
    task, found, number = _parsed(text, _NO_WORSE)
    if found is None or number < 0:
        raise UserError(
            f"{where} {_shown(text)}: expected [TASK:]METRIC:MARGIN with a margin from 0, such as 'cora:0.02'"
        )
    return NoWorse(found["metric"], number, task)


def _parsed(text: str, pattern: re.Pattern[str]) -> tuple[str, re.Match[str] | None, float]:
    """The task before the requirement, its parts, and its number. The name of a task may contain colons."""
    if len(text) > _LONGEST:
        return "", None, 0.0
    places = [0, *(place + 1 for place, character in enumerate(text) if character == ":")]
    for start in places:
        rest = text[start:].strip()
        task = text[: max(0, start - 1)].strip()
        if (found := pattern.fullmatch(rest)) and (task or not start):
            number = float(found["number"])
            return task, (found if isfinite(number) else None), number
    return "", None, 0.0


def _shown(text: object) -> str:
    return repr(shorten(str(text), 80))


T = TypeVar("T")


def policy_of(require: Sequence[str], no_worse: Sequence[str]) -> Policy:
    """The policy of texts on the command line."""
    return Policy(tuple(map(parse_requirement, require)), tuple(map(parse_no_worse, no_worse)))


def read_policy(path: Path) -> Policy:
    r"""Read a policy from a YAML file with the lists `require` and `no_worse`."""
    given = _load(path)
    expected = f"expected {' and '.join(_KEYS)}, each with a list of texts"
    if not isinstance(given, dict):
        raise UserError(f"{path}: {expected}, got {_shown(given)}")
    for key in given:
        if key not in _KEYS:
            raise UserError(f"{path}: {expected}, got the key {_shown(key)}.{did_you_mean(str(key), _KEYS)}")
    policy = Policy(
        tuple(_entries(path, given, "require", parse_requirement)),
        tuple(_entries(path, given, "no_worse", parse_no_worse)),
    )
    if policy == Policy():
        raise UserError(f"{path}: {expected}, got no requirement")
    return policy


def _load(path: Path) -> Any:
    if path.is_dir():
        raise UserError(f"{path}: expected a YAML file, got a folder")
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UserError(f"{path}: expected a policy, got a file of more than {_LARGEST:,} bytes")
    try:
        return yaml.load(data, Loader=_PolicyLoader)
    except yaml.MarkedYAMLError as error:
        place = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{place}: cannot be read as YAML: {shorten(str(error.problem), 80)}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as YAML: {shorten(str(error), 80)}") from None


class _PolicyLoader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """YAML loader that refuses a key that occurs twice: PyYAML would silently drop the first one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is twice", key.start_mark)
            seen.add(str(key.value))
        found: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return found


def _entries(path: Path, given: dict[str, Any], key: str, parse: Callable[[str, str], T]) -> list[T]:
    listed = given.get(key, [])
    if not isinstance(listed, list):
        raise UserError(f"{path}: {key}: expected a list of texts, got {_shown(listed)}")
    for entry in listed:
        if not isinstance(entry, str):
            raise UserError(f"{path}: {key}: expected texts, got {_shown(entry)}. Put the text in quotation marks")
    return [parse(entry, f"{path}: {key}:") for entry in listed]
