"""What the consistency rate comes to by chance alone."""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.consistency import pairs_of_picks
from lm_eval_cora.responses import NO_PICK, Ints, ResponseTable, Sets

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
    picks_one = table.picked != NO_PICK
    if not picks_one.any():
        return nan
    first = table.printed[np.cumsum(table.sizes) - table.sizes]
    if picks_one.all() and (table.printed == first[table.question]).all():
        several = table.sizes > 1
        return float((1 / _bits(first[several]).sum(axis=1)).mean()) if several.any() else nan
    copies = -(-_QUESTIONS // len(table.sizes))
    sizes, printed = np.tile(table.sizes, copies), np.tile(table.printed, copies)
    picks = np.where(np.tile(picks_one, copies), _at_random(printed), NO_PICK)
    agreeing, comparable = pairs_of_picks(sizes, picks, printed)
    with np.errstate(invalid="ignore"):
        shares = (agreeing / comparable).reshape(copies, -1)
    defined = [row[row >= 0] for row in shares]  # in few variants there may be no comparable pair
    rates = [row.mean() for row in defined if len(row)]
    return float(np.mean(rates)) if rates else nan


def _bits(sets: Sets) -> NDArray[np.uint8]:
    """(R, 64) 1 where a set holds an identity."""
    return np.unpackbits(sets.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")


def _at_random(printed: Sets) -> Ints:
    """(R,) the identity of one of the printed options, with a fixed seed; 0 where none is printed."""
    bits = _bits(printed)
    upto = bits.cumsum(axis=1, dtype=np.uint8)
    wanted = np.random.default_rng(0).integers(0, np.maximum(upto[:, -1], 1)) + 1
    picks: Ints = ((upto == wanted[:, None]) & (bits == 1)).argmax(axis=1)
    return picks
