"""Right and wrong answers as arrays or lists of numbers."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def flatten(hits: Any) -> tuple[Floats, Ints]:
    """Flatten right and wrong answers.

    Args:
        hits: Array of shape (N, M), or N rows of different lengths, of True, False and NaN.

    Returns:
        (R,) values, 1, 0 or nan, and (N,) number of variants of each question.

    Raises:
        ValueError: If a value is not one of these, or the shape is wrong.

    Example:
        >>> flatten([[True, None], [False]])
        (array([ 1., nan,  0.]), array([2, 1]))
    """
    if hasattr(hits, "to_numpy"):  # a DataFrame, perhaps with pandas' own missing values
        hits = hits.to_numpy(dtype=np.float64, na_value=nan)
    try:
        rows = [np.asarray(row, dtype=np.float64) for row in hits]
    except (TypeError, ValueError):
        rows = [np.zeros(())]
    if not all(row.ndim == 1 and len(row) for row in rows):
        raise ValueError(
            "correct: expected an array of shape (questions, variants), or a row of numbers for each question, with "
            "True, False and NaN for a skipped variant"
        )
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    values = np.concatenate([np.zeros(0), *rows])
    wrong = np.flatnonzero((values != 0) & (values != 1) & ~np.isnan(values))
    if len(wrong):
        question = int(np.searchsorted(np.cumsum(sizes), wrong[0], side="right"))
        variant = int(wrong[0] - sizes[:question].sum())
        got = f"{values[wrong[0]]:g} for variant {variant} of question {question}"
        raise ValueError(f"correct: expected True, False or NaN, got {got}")
    return values, sizes
