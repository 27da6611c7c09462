"""Decorator for metrics of right and wrong answers: they take arrays as well as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import ResponseTable

Answers = ResponseTable | NDArray[np.bool_] | NDArray[np.float64] | Sequence[Sequence[float | None]]
"""A table, or right and wrong answers: an array of shape (questions, variants), or rows of different lengths."""

P = ParamSpec("P")


def takes_arrays(
    metric: Callable[Concatenate[ResponseTable, P], Estimate],
) -> Callable[Concatenate[Answers, P], Estimate]:
    """Let a metric of right and wrong answers take arrays as well as tables.

    Example:
        >>> from lm_eval_cora.metrics import bmca
        >>> bmca([[True, True], [True, False]], 1.0).value
        0.5
        >>> bmca([[True, True], [False, None]], 1.0).value, bmca([[True, True], [True, None]], 1.0).value
        (0.5, nan)
    """

    @wraps(metric)
    def of_answers(answers: Any, /, *args: P.args, **kwargs: P.kwargs) -> Estimate:
        if isinstance(answers, ResponseTable):
            return metric(answers, *args, **kwargs)
        original: Any = kwargs.get("original", 0)
        table = ResponseTable.from_hits(answers, original=original)
        return despite_skipped(
            lambda table: metric(table, *args, **kwargs), table, of_originals="original" in shown.parameters
        )

    shown = signature(metric)
    first, *others = shown.parameters.values()
    of_answers.__signature__ = shown.replace(  # type: ignore[attr-defined]  # for help()
        parameters=[first.replace(annotation="Answers", kind=Parameter.POSITIONAL_ONLY), *others]
    )
    return of_answers


def despite_skipped(
    metric: Callable[[ResponseTable], Estimate], table: ResponseTable, *, of_originals: bool = True
) -> Estimate:
    """Compute a metric on a table with skipped variants.

    The metric must not fall if more answers are right and the originals stay the same. It is computed twice: with all
    skipped variants wrong, and with all of them right.

    Example:
        >>> from lm_eval_cora.metrics import acc
        >>> despite_skipped(acc, ResponseTable.from_hits([[1, None]])).value
        nan
    """
    if table.is_whole:
        return metric(table)
    if of_originals and (table.original & table.skipped).any():
        return UNDEFINED
    lowest, highest = metric(table), metric(replace(table, correct=table.correct | table.skipped))
    return lowest if _is_same(lowest, highest) else UNDEFINED


def _is_same(one: Estimate, other: Estimate) -> bool:
    """Whether two estimates are equal for every question, not only in total."""
    if one.influence is None or other.influence is None:  # of a single question
        return one.value == other.value
    return one.value == other.value and bool((one.influence == other.influence).all())
