"""How reports name the data of a task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lm_eval_cora.data import Data, is_in_task_name


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
