"""Metrics of right and wrong answers take arrays as well as tables, and may be known although variants were skipped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
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
    """Let a metric of right and wrong answers take arrays as well as tables."""

    @wraps(metric)
    def of_answers(answers: Any, /, *args: P.args, **kwargs: P.kwargs) -> Estimate:
        if isinstance(answers, ResponseTable):
            return metric(answers, *args, **kwargs)
        original: Any = kwargs.get("original", 0)
        table = ResponseTable.from_hits(answers, original=original)
        of_originals = "original" in shown.parameters
        return despite_skipped(lambda table: metric(table, *args, **kwargs), table, of_originals=of_originals)

    shown = signature(metric)
    first, *others = shown.parameters.values()
    parameters = [first.replace(annotation="Answers", kind=Parameter.POSITIONAL_ONLY), *others]
    of_answers.__signature__ = shown.replace(parameters=parameters)  # type: ignore[attr-defined]  # for help()
    return of_answers


def despite_skipped(
    metric: Callable[[ResponseTable], Estimate], table: ResponseTable, *, of_originals: bool = True
) -> Estimate:
    """Compute a metric on a table with skipped variants: undefined if they could change it for any question.

    The metric must not fall if more answers are right and the originals stay the same.
    """
    if table.is_whole:
        return metric(table)
    if of_originals and (table.original & table.skipped).any():
        return UNDEFINED
    lowest, highest = metric(table), metric(replace(table, correct=table.correct | table.skipped))
    if lowest.value != highest.value:
        return UNDEFINED
    if lowest.influence is None or highest.influence is None:  # of a single question
        return lowest
    return lowest if np.array_equal(lowest.influence, highest.influence) else UNDEFINED


def exact_level(level: float) -> Fraction:
    """Convert a share to the decimal fraction that it prints as."""
    try:
        exact = Fraction(str(level))
    except ValueError:  # such as nan
        exact = Fraction(-1)
    if not 0 <= exact <= 1:
        raise ValueError(f"level is {level}, expected a share from 0 to 1")
    return exact
