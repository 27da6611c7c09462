"""Entries of a task's `metric_list`: to which answers a metric applies, and its value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from math import sqrt
from typing import Any, get_args

from lm_eval_cora.answers.formats import BOXED
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.accuracy import mcqa
from lm_eval_cora.metrics.arrays import despite_skipped, exact_level
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import LAST, NEEDS_SEVERAL, facts_of
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.sequences import Course, course_of
from lm_eval_cora.questions.question import Form

Entry = Mapping[str, Any]

# Keys that are not passed to the metric
_ABOUT = {"metric", "aggregation", "higher_is_better", "form", "sampled", "only", "table", "without"}
MACRO_AVERAGE, DROPPED_TEMPLATE, CYCLIC_ORDERS = "macro_average", "dropped_template", "cyclic_orders"
WRITTEN, REPEATS = BOXED.name, "repeats"
FEATURES = (WRITTEN, DROPPED_TEMPLATE, MACRO_AVERAGE, CYCLIC_ORDERS, REPEATS)
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
    facts = facts_of(entry["aggregation"])
    also = {"kind": facts.kinds, "category": entry.get("macro")}
    return {*facts.needs, *(name for name, is_needed in also.items() if is_needed)}


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


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether a task has a metric, such as CoRA or BMCA(1.0), that stays exact if questions end early."""
    known = [entry["aggregation"] for entry in entries if is_known_early(entry) and _is_of_hits(entry)]
    return any(function is not mcqa for function in known)


def course(entry: Entry, table: ResponseTable, seed: int, before: ResponseTable | None = None) -> Course | None:
    """What is known of a metric after each unit that a run asked in the order of a seed; None without such a method."""
    if table.incomplete or not _is_of_hits(entry) or "without" in entry:
        return None
    function, means = partial(entry["aggregation"], **parameters_of(entry)), facts_of(entry["aggregation"]).means
    of_originals = bool(needs_of(entry))
    known = [partial(despite_skipped, mean, of_originals=of_originals) for mean in means or (function,)]
    return course_of(known, table, seed, before)


def note_on_unvaried(entries: Iterable[Entry], table: ResponseTable) -> str:
    """Say which metrics are undefined because each question was asked once only; empty if none is."""
    names = [entry["metric"] for entry in entries if facts_of(entry["aggregation"]).is_unvaried(table)]
    return f"undefined: {', '.join(names)}: {NEEDS_SEVERAL}" if names else ""


def compute(entry: Entry, table: ResponseTable, *, seed: int | None = None) -> Any:
    """Compute the metric of an entry; undefined if skipped variants could change it, see `despite_skipped`.

    With the seed of a run that stopped as soon as something was certain, the error and the interval are about all
    questions of its benchmark; see `sequences`.
    """
    if seed is not None:
        if (known := course(entry, table, seed)) is None:
            return UNDEFINED
        value, error = compute(entry, table)
        left = 1 - known.values.shape[1] / known.total
        low, high = known.interval()  # of the passages, which may have different sizes
        return Estimate(value, error * sqrt(left) if left else 0.0, ends=(min(low, value), max(value, high)))
    if "without" in entry:
        table = _without(table, entry["without"])
    function = partial(entry["aggregation"], **parameters_of(entry))
    if table.is_whole or is_known_early(entry) or _is_of_hits(entry):
        result = despite_skipped(function, table, of_originals=bool(needs_of(entry)))
        return table.clustered(result) if isinstance(result, Estimate) else result  # a user's own function may not
    return UNDEFINED


def _is_of_hits(entry: Entry) -> bool:
    """Whether a metric is one value of right and wrong answers only."""
    return is_in_table(entry) and needs_of(entry) <= {"original", "equal_prompts"}


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
