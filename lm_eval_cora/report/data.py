"""Identity of the data: the name of a benchmark and the digest of its questions, and how reports show them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ENTRY = "benchmark"
"""Entry of `configs.<task>.metadata` in a results file that identifies the data."""

_KEYS = ("name", "questions")
"""Keys of this entry."""

OF_THE_DATA = ("benchmark", "data")
"""Parts of a signature that identify the data. Reports compare `Data` instead, which older runs lack."""


class Data(NamedTuple):
    """The questions of a run.

    Attributes:
        name: Name of the benchmark; empty if the results file does not have it.
        digest: Digest of all questions of the source; empty if the results file does not have it, as in runs of older
            versions. Equal digests mean equal questions, whatever the file is called.
    """

    name: str = ""
    digest: str = ""

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Data:
        """Read the data from the metadata of a task. Values of the wrong type count as missing.

        Example:
            >>> Data.of({"benchmark": {"name": "my", "questions": "1a2b3c4d"}})
            Data(name='my', digest='1a2b3c4d')
            >>> Data.of({"benchmark": "mine"})
            Data(name='', digest='')
        """
        entry = metadata.get(_ENTRY)
        found = entry if isinstance(entry, Mapping) else {}
        return cls(*(value if isinstance(value := found.get(key), str) else "" for key in _KEYS))

    def in_metadata(self) -> dict[str, dict[str, str]]:
        """The entry of the metadata that `of` reads; empty if nothing is known."""
        known = {key: value for key, value in zip(_KEYS, self, strict=True) if value}
        return {_ENTRY: known} if known else {}

    def in_signature(self, task: str) -> dict[str, str]:
        """The parts of a signature; the name is one of them only if the name of the task does not contain it."""
        name = "" if is_in_task_name(self.name, task) else self.name
        return {key: value for key, value in zip(OF_THE_DATA, (name, self.digest), strict=True) if value}

    def __str__(self) -> str:
        """Name and digest, as messages print them."""
        return " ".join(filter(None, self)) or "unknown questions"

    def differs_from(self, other: Data) -> bool:
        """Whether the questions are known to differ; False if a digest is missing."""
        return bool(self.digest and other.digest) and self.digest != other.digest


def is_in_task_name(benchmark: str, task: str) -> bool:
    """Whether the name of a task says which benchmark it asks.

    Example:
        >>> is_in_task_name("mmlu", "cora_mmlu_order"), is_in_task_name("my", "cora_local")
        (True, False)
        >>> is_in_task_name("order", "cora_local_order")  # a file of the user that is called order.jsonl
        False
    """
    return f"{task.removeprefix('cora_')}_".startswith(f"{benchmark}_")


def family_of(task: str, probe: str) -> str:
    """Name of a task without its probe.

    Example:
        >>> family_of("cora_mmlu_pro_order", "order")
        'cora_mmlu_pro'
    """
    return re.sub(rf"_{probe}\b", "", task)


class Asked(NamedTuple):
    """A task and its data.

    Attributes:
        task: Name of the task.
        family: As `family_of` returns it: the tasks of one family ask the same benchmark.
        data: The questions.
    """

    task: str
    family: str
    data: Data


def labels(asked: Sequence[Asked]) -> list[str]:
    """What a report prints in brackets after each task, so that different data have different names.

    The label is the name of the benchmark, unless the name of the task contains it. If one family has several data
    sets with one name, the digest follows.

    Example:
        >>> one, other = Data("my", "1a2b3c4d"), Data("my", "5e6f7a8b")
        >>> labels([Asked("cora_local", "cora_local", one)])
        ['my']
        >>> labels([Asked("cora_local", "cora_local", data) for data in (one, other)])
        ['my 1a2b3c4d', 'my 5e6f7a8b']
    """
    digests: dict[tuple[str, str], set[str]] = {}
    for _, family, data in asked:
        digests.setdefault((family, data.name), set()).update(filter(None, [data.digest]))
    return [
        " ".join(
            [
                *([] if is_in_task_name(data.name, task) or not data.name else [data.name]),
                *([data.digest] if data.digest and len(digests[family, data.name]) > 1 else []),
            ]
        )
        for task, family, data in asked
    ]
