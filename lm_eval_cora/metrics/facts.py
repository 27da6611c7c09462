"""Facts about metrics, attached to their functions; metrics that take arrays, too; metrics of skipped variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.formats import BOXED
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import Form

LAST = 100  # the place of all other metrics
NEEDS_SEVERAL = "needs several variants of each question"
MACRO_AVERAGE, DROPPED_TEMPLATE, CYCLIC_ORDERS = "macro_average", "dropped_template", "cyclic_orders"
WRITTEN, REPEATS = BOXED.name, "repeats"
FEATURES = (WRITTEN, DROPPED_TEMPLATE, MACRO_AVERAGE, CYCLIC_ORDERS, REPEATS)
"""Features that a metric can need: questions without options, whose answers are written in a box; the template that
SCORE's paper drops; benchmarks averaged over categories; the rotations of the options as orders; originals that are
asked again, or samples.
"""


class Facts(NamedTuple):
    """Facts about a metric.

    A metric that is known early depends only on which originals are right, and which questions are right in all
    variants. It is exact as soon as each question has a wrong answer or all its answers.

    The needs are columns of the table besides right or wrong, `balanced` orders (each option is equally often at each
    letter), and `equal_prompts` (the variants have the same prompt, or the original has repeats). Answers from a file
    have the metrics whose needs they meet. A metric that needs at most `original` and `equal_prompts` is computed
    despite skipped variants, see `despite_skipped`: more right answers must not lower it.

    An entry of a `metric_list` overrides `higher_is_better`, `form`, `only`, `sampled` and `in_table` (as `table`).
    """

    meaning: str = ""  # in one sentence; not from the docstring, because `python -OO` removes it
    higher_is_better: bool | None = None  # None if neither direction is better
    bounds: tuple[float, float] = (0.0, 1.0)  # the lowest and the highest value
    needs: tuple[str, ...] = ("unknown",)  # of a user's own function
    kinds: tuple[str, ...] = ()  # names of the kinds of variants of which it needs one; empty for any kinds
    form: Form | None = None  # the only form that has it
    only: tuple[str, ...] = ()  # the features that a benchmark or a run must have, see `FEATURES`
    # Of the harness; False: only in the results file, and it may be a mapping; None: also on the page and in Python.
    in_table: bool | None = True
    sampled: Literal["no", "also", "only"] = "no"  # whether it is printed with the option `variants: 1`
    known_early: bool = False
    means: tuple[Callable[..., Any], ...] = ()  # the metrics whose product it is; empty for the metric itself
    bootstrapped: bool = False  # whether the standard error comes from a bootstrap
    fewest: int = 1  # smallest number of questions, or of the passages that they share
    why_undefined: Callable[[ResponseTable], str] = lambda table: "no question counts for it"  # if nothing else is
    sides: tuple[str, ...] = ()  # metrics that tell on which side of its maximum it is, if it has one
    falls: Callable[..., bool] = lambda *_: False  # whether it falls for better models, by the values of these
    ranks_models: bool = True  # whether a better value means a better model, on the same questions for each model
    of_one_answer: bool = False  # whether it says something about a single answer to each question
    place: int = LAST  # place in the table of all scores
    spoken: str = ""  # name in a sentence; empty for that of the entry
    symbol: str = ""  # name in the tables of a paper; empty for the one in sentences
    special: Mapping[tuple[str, Any], Mapping[str, Any]] = {}  # other facts of entries with a key of this value

    def is_unvaried(self, table: ResponseTable) -> bool:
        """Whether the metric says nothing about a table, because all questions were asked once only."""
        prompts = table.equal_prompts if "equal_prompts" in self.needs else table
        return not self.of_one_answer and int(prompts.sizes.max(initial=0)) == 1


FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""The functions of all metrics, by name."""

F = TypeVar("F", bound=Callable[..., Any])


def metric(
    meaning: str, *, higher_is_better: bool | None = True, needs: tuple[str, ...] = (), **more: Any
) -> Callable[[F], F]:
    """Attach facts to the function of a metric; see `Facts`. It is undefined if nothing was varied, see `is_unvaried`.

    The function gets a table; if it takes arrays, too, `takes_arrays` stands above this decorator.
    """
    facts = Facts(meaning, higher_is_better, needs=needs, **more)

    def attached(function: F) -> F:
        @wraps(function)
        def unless_unvaried(table: ResponseTable, *arguments: Any, **named: Any) -> Any:
            result = function(table, *arguments, **named)
            return UNDEFINED if isinstance(result, Estimate) and facts.is_unvaried(table) else result

        unless_unvaried.facts = facts  # type: ignore[attr-defined]
        FUNCTIONS[function.__name__] = unless_unvaried
        return unless_unvaried  # type: ignore[return-value]

    return attached


def detail(meaning: str, **more: Any) -> Callable[[F], F]:
    """Attach facts to a metric that is only in the results file, and of which neither direction is better."""
    return metric(meaning, higher_is_better=None, in_table=False, **more)


def facts_of(function: Callable[..., Any] | None) -> Facts:
    """The facts of a metric; the defaults for a user's own function."""
    return getattr(function, "facts", Facts())


def facts_of_entry(entry: Mapping[str, Any]) -> Facts:
    """The facts of a metric with the parameters of an entry."""
    facts = facts_of(entry["aggregation"])
    for (key, value), others in facts.special.items():
        if key in entry and entry[key] == value:
            facts = facts._replace(**others)
    return facts


def falls(metric: str, scores: Mapping[str, Estimate]) -> bool:
    """Whether a metric falls for better models, by the scores that tell on which side of its maximum it is."""
    facts = facts_of(FUNCTIONS.get(metric))
    return facts.falls(*(scores.get(name, UNDEFINED).value for name in facts.sides))


# ---- metrics of right and wrong answers: on arrays, and despite skipped variants
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
