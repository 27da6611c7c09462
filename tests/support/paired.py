"""Two sets of answers to the same questions."""

from __future__ import annotations

import random
from collections.abc import Callable

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Difference, difference
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.tables import Metrics, estimates, table_of

Members = list[list[Record]]
Tables = tuple[ResponseTable, ResponseTable]


def some_changed(make: Callable[[int], Members], seed: int) -> tuple[Members, Members]:
    """Two sets of answers to the same questions: two of three questions are answered the same in both."""
    before, other = make(seed), make(seed + 100)
    rng = random.Random(seed)
    return before, [new if rng.random() < 1 / 3 else old for old, new in zip(before, other, strict=True)]


def changed_tables(make: Callable[[int], Members], seed: int) -> Tables:
    before, after = some_changed(make, seed)
    return table_of(before), table_of(after)


def differences(chosen: Metrics, tables: Tables) -> dict[str, Difference]:
    before, after = (estimates(chosen, table) for table in tables)
    return {name: difference(before[name], after[name]) for name in before if name in after}
