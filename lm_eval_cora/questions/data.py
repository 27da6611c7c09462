"""Identity of the data of a run: the name of the benchmark and the digest of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_ENTRY = "benchmark"
"""Key in `configs.<task>.metadata` of a results file. Its value identifies the data."""

_KEYS = ("name", "questions")
"""Keys of this value."""

OF_THE_DATA = ("benchmark", "data")
"""Parts of a signature that identify the data. Reports compare `Data` instead, because older signatures lack these."""


class Data(NamedTuple):
    """The questions of a run.

    Attributes:
        name: Name of the benchmark; empty if the results file does not have it.
        digest: Digest of all questions of the source; empty if the results file does not have it, as in runs of older
            versions. Equal digests mean equal questions, even if the files have different names.
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
        """Return the metadata that `of` reads; empty if neither name nor digest is known."""
        known = {key: value for key, value in zip(_KEYS, self, strict=True) if value}
        return {_ENTRY: known} if known else {}

    def in_signature(self, task: str) -> dict[str, str]:
        """Return the parts of a signature. The name is omitted if the name of the task contains it."""
        name = "" if is_in_task_name(self.name, task) else self.name
        return {key: value for key, value in zip(OF_THE_DATA, (name, self.digest), strict=True) if value}

    def __str__(self) -> str:
        """Return name and digest for messages."""
        return " ".join(filter(None, self)) or "unknown questions"

    def differs_from(self, other: Data) -> bool:
        """Whether the questions are known to differ; False if a digest is missing."""
        return bool(self.digest and other.digest) and self.digest != other.digest


def is_in_task_name(benchmark: str, task: str) -> bool:
    """Whether the name of a task contains the name of its benchmark.

    Example:
        >>> is_in_task_name("mmlu", "cora_mmlu_order"), is_in_task_name("my", "cora_local")
        (True, False)
        >>> is_in_task_name("order", "cora_local_order")  # the user's file order.jsonl
        False
    """
    return f"{task.removeprefix('cora_')}_".startswith(f"{benchmark}_")
