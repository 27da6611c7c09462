"""What is known of a metric: facts of its function, arrays instead of tables, and entries of a task's `metric_list`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial, wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from lm_eval_cora.answers.formats import BOXED
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import estimate, phases_of
from lm_eval_cora.questions.question import Form

LAST = 100  # the place of a metric that has none of its own


class Facts(NamedTuple):
    """Facts about a metric.

    A metric that is known early depends only on which originals are right, and which questions are right in all
    variants. It is exact as soon as each question has a wrong answer or all its answers.

    The needs are columns of the table besides right or wrong, and `balanced` orders: each option is equally often at
    each letter. Answers from a file have the metrics whose needs they meet.
    """

    meaning: str = ""  # in one sentence; not from the docstring, because `python -OO` removes it
    bounds: tuple[float, float] = (0.0, 1.0)  # the lowest and the highest value
    needs: tuple[str, ...] = ("unknown",)  # of a user's own function
    kinds: tuple[str, ...] = ()  # names of the kinds of variants of which it needs one; empty for any kinds
    known_early: bool = False
    estimated: str = ""  # the name in `stopping.FORMULAS` if a two-phase sample estimates it
    bootstrapped: bool = False  # whether the standard error comes from a bootstrap
    fewest: int = 1  # smallest number of questions, or of the passages that they share
    why_undefined: Callable[[ResponseTable], str] = lambda table: "no question counts for it"  # if nothing else is
    ranks_models: bool = True  # whether a better value means a better model, on the same questions for each model
    place: int = LAST  # place in the table of all scores
    spoken: str = ""  # name in a sentence; empty for that of the entry


F = TypeVar("F", bound=Callable[..., Any])


def metric(meaning: str, *, needs: tuple[str, ...] = (), **more: Any) -> Callable[[F], F]:
    """Attach facts to the function of a metric; see `Facts`."""

    def attached(function: F) -> F:
        function.facts = Facts(meaning, needs=needs, **more)  # type: ignore[attr-defined]
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


Entry = Mapping[str, Any]

# Keys that are not passed to the metric
_ABOUT = {"metric", "aggregation", "higher_is_better", "form", "sampled", "only", "table", "without"}
MACRO_AVERAGE, DROPPED_TEMPLATE, CYCLIC_ORDERS = "macro_average", "dropped_template", "cyclic_orders"
REPEATS = "repeats"
FEATURES = (BOXED.name, DROPPED_TEMPLATE, MACRO_AVERAGE, CYCLIC_ORDERS, REPEATS)
"""Features that the key `only` can name: questions without options, whose answers are written in a box; templates that
include the one dropped in SCORE's paper; benchmarks averaged over categories; the rotations of the options as orders;
originals that are asked again.
"""


def parameters_of(entry: Entry) -> dict[str, Any]:
    """The parameters that an entry passes to its function."""
    return {key: value for key, value in entry.items() if key not in _ABOUT}


def is_in_table(entry: Entry) -> bool:
    """Whether a metric is printed in the harness' table, and not only written to the results file."""
    return entry.get("table", True) is not False


def applies_to(entry: Entry, form: Form | None, *, sampled: bool = False, features: Collection[str] = ()) -> bool:
    """Whether a metric applies to a form, to a benchmark with these features, and to the number of variants."""
    return (
        entry.get("form") in (None, form)
        and entry.get("sampled") in (("also", "only") if sampled else (None, "also"))
        and ("only" not in entry or all(feature in features for feature in str(entry["only"]).split()))
    )


def needs_of(entry: Entry) -> set[str]:
    """The needs of the metric of an entry; see `Facts`."""
    return {*facts_of(entry["aggregation"]).needs, *(["category"] if entry.get("macro") else [])}


def ranks_models(entry: Entry) -> bool:
    """Whether a better value means a better model; not so on questions that each model chooses by its answers."""
    return facts_of(entry["aggregation"]).ranks_models and "subset" not in entry


def place_of(entry: Entry) -> int:
    """The place of a metric in the table of all scores: that of its function under its own name, at level 1."""
    name = entry["metric"].partition("@")[0]
    is_main = name == getattr(entry["aggregation"], "__name__", "") and exact_level(entry.get("level", 1)) == 1
    return facts_of(entry["aggregation"]).place if is_main else LAST


def is_known_early(entry: Entry) -> bool:
    """Whether a metric of an entry is known early; see `Facts`. `bmca` is at level 1 only."""
    known_early = facts_of(entry["aggregation"]).known_early
    return known_early and "without" not in entry and exact_level(entry.get("level", 1)) == 1


def is_estimated(entry: Entry) -> bool:
    """Whether a two-phase sample estimates a metric: mcqa, bmca@1.0, ci and cora."""
    return is_known_early(entry) and bool(facts_of(entry["aggregation"]).estimated)


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether a task has CoRA, CI or BMCA(1.0), which stay exact with early stopping."""
    return any(is_estimated(entry) and facts_of(entry["aggregation"]).estimated != "mcqa" for entry in entries)


def compute(entry: Entry, table: ResponseTable, *, whole: bool = False) -> Any:
    """Compute the metric of an entry; undefined if skipped variants could change it, see `despite_skipped`."""
    if whole:
        if not is_estimated(entry) or table.original_correct is None:
            return UNDEFINED
        phases = phases_of(table)
        if not phases.is_complete:
            return estimate(facts_of(entry["aggregation"]).estimated, phases)
        value = compute(entry, table).value  # that of the full run to the last digit
        return Estimate(value, 0.0, ends=(value, value))
    if "without" in entry:
        table = _without(table, entry["without"])
    function = partial(entry["aggregation"], **parameters_of(entry))
    needs = needs_of(entry)
    if table.is_whole or is_known_early(entry) or needs <= {"original"}:  # of right and wrong answers only
        result = despite_skipped(function, table, of_originals=bool(needs))
        return table.clustered(result) if isinstance(result, Estimate) else result  # a user's own function may not
    return UNDEFINED


@lru_cache(maxsize=1)  # consecutive metrics share the table and its cached columns
def _without(table: ResponseTable, kind: str) -> ResponseTable:
    return table.where(~table.is_kind(kind))


def check_metrics(task: str, entries: Any) -> None:
    """Compute each metric on an empty table, so that an error in a task file is found before the run."""
    if not entries:
        raise UserError(f"{task}: metric_list is missing. Copy the metrics that you need from _probes/divergent.yaml")
    for entry in entries:
        usable = False
        with suppress(Exception):  # the function and its parameters may be anything
            usable = _is_usable(entry)
        if not usable:
            raise UserError(
                f"{task}: metric_list: {entry!r} is not a metric of this task. Expected `aggregation` with a function "
                "of lm_eval_cora.metrics, and its parameters as other keys. See the examples in _probes/"
            )


def _is_usable(entry: Entry) -> bool:
    result = compute(entry, ResponseTable.from_records(()))
    return (
        isinstance(result, Estimate if is_in_table(entry) else Estimate | Mapping)
        and entry.get("form") in (None, *get_args(Form))
        and entry.get("sampled") in (None, "also", "only")
        and isinstance(entry.get("table", True), bool)
        and set(str(entry.get("only", "")).split()) <= set(FEATURES)
        and isinstance(entry.get("without", ""), str)
    )
