"""Entries of a task's `metric_list`: to which answers a metric applies, and its value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from math import sqrt
from typing import Any, get_args

from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.accuracy import mcqa
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import (
    DROPPED_TEMPLATE,
    FEATURES,
    LAST,
    MACRO_AVERAGE,
    NEEDS_SEVERAL,
    despite_skipped,
    facts_of,
    facts_of_entry,
)
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.sequences import Course, course_of
from lm_eval_cora.questions.question import Form
from lm_eval_cora.variants.prompts import SINGLE_LETTER

Entry = Mapping[str, Any]

# Keys that are not passed to the metric
_ABOUT = {"metric", "aggregation", "higher_is_better", "form", "sampled", "only", "table", "without"}


def parameters_of(entry: Entry) -> dict[str, Any]:
    """The parameters that an entry passes to its function."""
    return {key: value for key, value in entry.items() if key not in _ABOUT}


def directed(entry: Entry) -> Entry:
    """An entry that says whether higher is better, by the facts of its function; a user's own may have none."""
    facts = facts_of_entry(entry)
    return {"higher_is_better": facts.higher_is_better, **entry} if facts.meaning else entry


def is_in_table(entry: Entry) -> bool:
    """Whether a metric is in the tables of the page and of Python, and not only in the results file."""
    return entry.get("table", facts_of_entry(entry).in_table) is not False


def is_printed(entry: Entry) -> bool:
    """Whether a metric is printed in the harness' table, too."""
    return bool(entry.get("table", facts_of_entry(entry).in_table))


def is_one_value(entry: Entry) -> bool:
    """Whether a metric of the package is an Estimate, by the annotation of its function, and not a table of them."""
    return entry["aggregation"].__annotations__["return"] in ("Estimate", Estimate)


def features_of(entry: Entry) -> set[str]:
    """The features without which a metric does not apply; see `FEATURES`."""
    if "only" in entry:
        return set(str(entry["only"]).split())
    of_entry = {MACRO_AVERAGE: entry.get("macro"), DROPPED_TEMPLATE: entry.get("without") == SINGLE_LETTER}
    return {*facts_of_entry(entry).only, *filter(of_entry.get, of_entry)}


def applies_to(entry: Entry, form: Form | None, *, sampled: bool = False, features: Collection[str] = ()) -> bool:
    """Whether a metric applies to a form, to a benchmark with these features, and to the number of variants."""
    facts = facts_of_entry(entry)
    return (
        entry.get("form", facts.form) in (None, form)
        and entry.get("sampled", facts.sampled) in ("also", "only" if sampled else "no")
        and features_of(entry) <= {*features}
    )


def needs_of(entry: Entry) -> set[str]:
    """The needs of the metric of an entry; see `Facts`."""
    facts = facts_of_entry(entry)
    also = {"kind": facts.kinds, "category": entry.get("macro")}
    return {*facts.needs, *(name for name, is_needed in also.items() if is_needed)}


def place_of(entry: Entry) -> int:
    """The place of a metric in the table of all scores: that of its function under its own name."""
    is_main = entry["metric"].partition("@")[0] == getattr(entry["aggregation"], "__name__", "")
    return facts_of_entry(entry).place if is_main else LAST


def ranks_models(entry: Entry) -> bool:
    """Whether a better value means a better model; not so on questions that each model chooses by its answers."""
    return facts_of_entry(entry).ranks_models and "subset" not in entry


def is_known_early(entry: Entry) -> bool:
    """Whether a metric of an entry is known early; see `Facts`."""
    return facts_of_entry(entry).known_early and "without" not in entry


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether a task has a metric, such as CoRA or BMCA(1.0), that stays exact if questions end early."""
    return any(entry["aggregation"] is not mcqa for entry in entries if is_known_early(entry) and _is_of_hits(entry))


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
        and entry.get("sampled", "no") in ("no", "also", "only")
        and isinstance(entry.get("table", True), bool)
        and set(str(entry.get("only", "")).split()) <= set(FEATURES)
        and isinstance(entry.get("without", ""), str)
    )
