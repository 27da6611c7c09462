"""Right and wrong answers as arrays or lists of rows."""

from __future__ import annotations

import reprlib
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def flatten(hits: Any) -> tuple[Floats, Ints]:
    """Flatten right and wrong answers to one array.

    Example:
        >>> flatten([[True, None], [False]])
        (array([ 1., nan,  0.]), array([2, 1]))
    """
    given = hits
    try:
        if hasattr(hits, "iloc"):  # a DataFrame, which may contain pandas.NA
            hits = hits.to_numpy(dtype=np.float64, na_value=nan)
        if isinstance(hits, np.ma.MaskedArray):
            hits = np.ma.filled(hits.astype(np.float64), nan)
        rows = [np.asarray(row, dtype=np.float64) for row in hits]
    except Exception:  # arrays of other libraries raise errors of many kinds
        rows = [np.zeros(())]
    if not all(row.ndim == 1 and len(row) for row in rows):
        raise ValueError(
            "answers: expected an array of shape (questions, variants), or one row per question, of True (right), "
            f"False (wrong) and NaN (skipped), got {reprlib.repr(given)}"
        )
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    values = np.concatenate([np.zeros(0), *rows])
    wrong = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
    if len(wrong):
        question = int(np.searchsorted(np.cumsum(sizes), wrong[0], side="right"))
        variant = int(wrong[0] - sizes[:question].sum())
        got = f"{values[wrong[0]]:g} for variant {variant} of question {question}"
        raise ValueError(f"answers: expected True, False or NaN, got {got}")
    return values, sizes
