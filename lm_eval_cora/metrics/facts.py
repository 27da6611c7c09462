"""Decorators of metrics: facts for reports, exports and stopping rules; and arrays instead of tables as answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import ResponseTable


class Facts(NamedTuple):
    """Facts about a metric.

    A metric that is known early depends only on which originals are right, and which questions are right in all
    variants. It is exact as soon as each question has a wrong answer or all its answers.
    """

    meaning: str = ""  # in one sentence; not from the docstring, because `python -OO` removes it
    bounds: tuple[float, float] = (0.0, 1.0)  # the lowest and the highest value
    needs: tuple[str, ...] = ()  # columns of an answer collected without the harness, besides right or wrong
    known_early: bool = False
    bootstrapped: bool = False  # whether the standard error comes from a bootstrap


F = TypeVar("F", bound=Callable[..., Any])


def metric(meaning: str, **more: Any) -> Callable[[F], F]:
    """Attach facts to the function of a metric; see `Facts`."""

    def attached(function: F) -> F:
        function.facts = Facts(meaning, **more)  # type: ignore[attr-defined]
        return function

    return attached


def facts_of(function: Callable[..., Any]) -> Facts:
    """The facts of a metric; the defaults for a user's own function."""
    return getattr(function, "facts", Facts())


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
    of_answers.__signature__ = shown.replace(  # type: ignore[attr-defined]  # for help()
        parameters=[first.replace(annotation="Answers", kind=Parameter.POSITIONAL_ONLY), *others]
    )
    return of_answers


def despite_skipped(
    metric: Callable[[ResponseTable], Estimate], table: ResponseTable, *, of_originals: bool = True
) -> Estimate:
    """Compute a metric on a table with skipped variants: undefined if they could change it for any question.

    The metric must not fall if more answers are right and the originals stay the same. It is computed twice: with all
    skipped variants wrong, and with all of them right.
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
