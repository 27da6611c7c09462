"""The consistency rate of random picks."""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.consistency import pairs_of_picks
from lm_eval_cora.responses import NO_PICK, Ints, ResponseTable, Sets

_QUESTIONS = 5_000


def chance_consistency_rate(table: ResponseTable) -> float:
    """Consistency rate of a model that picks a printed option at random each time and never gives an invalid answer.

    Equal options count as one. If all variants print the same A options, the rate is 1 / A. If they print different
    ones, two picks are compared only if each is printed in the other variant too, and the rate is not 1 / A: it is
    about 0.46 on the divergent probe with five options.

    Args:
        table: N questions; the answers do not matter.

    Returns:
        A share from 0 to 1; nan without questions, and for questions without options. If variants print different
        options, the rate is simulated with a fixed seed on 5,000 questions or more (copies of these), which gives two
        digits.

    Example:
        >>> round(chance_consistency_rate(ResponseTable.from_hits([[1, 1], [0, 1]])), 1)
        0.5

    Source: ours.
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
    defined = [row[row >= 0] for row in shares]  # a question with few variants may have no comparable pair
    rates = [row.mean() for row in defined if len(row)]
    return float(np.mean(rates)) if rates else nan


def _bits(sets: Sets) -> NDArray[np.uint8]:
    """(R, 64) 1 if a set contains an identity."""
    return np.unpackbits(sets.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")


def _at_random(printed: Sets) -> Ints:
    """(R,) identity of a random printed option, with a fixed seed; 0 if none is printed."""
    bits = _bits(printed)
    upto = bits.cumsum(axis=1, dtype=np.uint8)
    wanted = np.random.default_rng(0).integers(0, np.maximum(upto[:, -1], 1)) + 1
    picks: Ints = ((upto == wanted[:, None]) & (bits == 1)).argmax(axis=1)
    return picks
