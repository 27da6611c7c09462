"""What the consistency rate comes to by chance alone."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.consistency import consistency_rate
from lm_eval_cora.responses import NO_PICK, ResponseTable, Sets

_QUESTIONS = 5_000


def chance_consistency_rate(table: ResponseTable) -> float:
    """The consistency rate of a model that picks one of the printed answers at random each time, never an invalid one.

    Equal options are one answer. The rate is not 1 / A where variants print different options: two picks are only
    compared if each could have been the other. It is about 0.46 on the divergent probe with five options, and 1 / A
    where all variants print the same ones.

    Args:
        table: N questions; what they were answered does not matter.

    Returns:
        A share from 0 to 1; nan without questions, or where no option is picked (answers of the model's own). Where
        variants print different options it is simulated, with a fixed seed, on enough copies of the questions for two
        digits.

    Example:
        >>> round(chance_consistency_rate(ResponseTable.from_hits([[1, 1], [0, 1]])), 1)
        0.5
    """
    asked = table.picked != NO_PICK
    if not asked.any():
        return nan
    first = table.printed[np.cumsum(table.sizes) - table.sizes]
    if asked.all() and (table.printed == first[table.question]).all():
        several = table.sizes > 1
        return float((1 / _bits(first[several]).sum(axis=1)).mean()) if several.any() else nan
    generator = np.random.default_rng(0)
    times = -(-_QUESTIONS // len(table.sizes))
    rates = [consistency_rate(_at_random(table, generator)).value for _ in range(times)]
    defined = [rate for rate in rates if not isnan(rate)]  # in few variants there may be no comparable pair
    return float(np.mean(defined)) if defined else nan


def _bits(sets: Sets) -> NDArray[np.uint8]:
    """(R, 64) 1 where a set holds an identity."""
    return np.unpackbits(sets.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")


def _at_random(table: ResponseTable, generator: np.random.Generator) -> ResponseTable:
    """The table with one of the printed options picked wherever one was to be picked."""
    bits = _bits(table.printed)
    upto = bits.cumsum(axis=1, dtype=np.uint8)
    wanted = generator.integers(0, np.maximum(upto[:, -1], 1)) + 1
    picked = ((upto == wanted[:, None]) & (bits == 1)).argmax(axis=1)
    return replace(table, picked=np.where(table.picked == NO_PICK, NO_PICK, picked))
