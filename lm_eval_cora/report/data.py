"""Names of the data of a task in reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lm_eval_cora.data import Data, is_in_task_name


def family_of(task: str, probe: str) -> str:
    """Remove the probe from the name of a task.

    Example:
        >>> family_of("cora_mmlu_pro_order", "order")
        'cora_mmlu_pro'
    """
    return re.sub(rf"_{probe}\b", "", task)


class Asked(NamedTuple):
    """A task and its data.

    Attributes:
        task: Name of the task.
        family: Name of the task without its probe. The tasks of a family use the same benchmark.
        data: Identity of the questions.
    """

    task: str
    family: str
    data: Data


def labels(asked: Sequence[Asked]) -> list[str]:
    """Make the labels that reports print in brackets after task names, so that different data have different names.

    A label is the name of the benchmark, or empty if the name of the task contains it. If a family has several data
    sets of the same name, the label also contains the digest.
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
