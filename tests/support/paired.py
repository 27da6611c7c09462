"""Two sets of answers to the same questions."""

from __future__ import annotations

import random
from collections.abc import Callable

from lm_eval_cora.records import Record

Members = list[list[Record]]


def some_changed(make: Callable[[int], Members], seed: int) -> tuple[Members, Members]:
    """Two sets of answers to the same questions: two of three questions are answered the same in both."""
    before, other = make(seed), make(seed + 100)
    rng = random.Random(seed)
    return before, [new if rng.random() < 1 / 3 else old for old, new in zip(before, other, strict=True)]
