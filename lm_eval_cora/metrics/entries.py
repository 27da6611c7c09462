"""Entries of a task file's `metric_list`: the function, its parameters, and where the metric is printed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, get_args

from lm_eval_cora.answers.formats import BOXED
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.accuracy import bmca, exact_level, mcqa
from lm_eval_cora.metrics.consistency import ci, cora
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate
from lm_eval_cora.metrics.facts import despite_skipped, facts_of
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import estimate, phases_of
from lm_eval_cora.questions.question import Form
from lm_eval_cora.variants.prompts import SINGLE_LETTER

Entry = Mapping[str, Any]

_ABOUT = {"metric", "aggregation", "higher_is_better", "form", "sampled", "only", "table", "without"}
"""Keys that are not passed to the metric."""

MACRO_AVERAGE, DROPPED_TEMPLATE, CYCLIC_ORDERS = "macro_average", "dropped_template", "cyclic_orders"

FEATURES = (BOXED.name, DROPPED_TEMPLATE, MACRO_AVERAGE, CYCLIC_ORDERS)
"""Features that the key `only` can name: questions without options, whose answers are written in a box; templates that
include the one dropped in SCORE's paper; benchmarks averaged over categories; the rotations of the options as orders.
"""


def features_of(
    *, is_open: bool, macro_average: bool, kinds: Collection[str], has_cyclic_orders: bool = False
) -> set[str]:
    """The features of a task or a run, from `FEATURES`."""
    has = (is_open, SINGLE_LETTER in kinds, macro_average, has_cyclic_orders)
    return {feature for feature, present in zip(FEATURES, has, strict=True) if present}


def parameters_of(entry: Entry) -> dict[str, Any]:
    """The parameters that an entry passes to its function."""
    return {key: value for key, value in entry.items() if key not in _ABOUT}


def is_in_table(entry: Entry) -> bool:
    """Whether a metric is printed in the harness' table, and not only written to the results file."""
    return entry.get("table", True) is not False


def applies_to(entry: Entry, form: Form | None, *, sampled: bool = False, features: Collection[str] = ()) -> bool:
    """Whether a metric applies to a form, to a benchmark with these features, and to the number of variants.

    Example:
        >>> applies_to({"metric": "ties", "form": "loglikelihood"}, "generate")
        False
        >>> applies_to({"metric": "acc", "sampled": "also"}, "generate", sampled=True)
        True
        >>> applies_to({"metric": "macro_acc", "only": "macro_average"}, "generate", features=["macro_average"])
        True
    """
    return (
        entry.get("form") in (None, form)
        and entry.get("sampled") in (("also", "only") if sampled else (None, "also"))
        and ("only" not in entry or all(feature in features for feature in str(entry["only"]).split()))
    )


def is_known_early(entry: Entry) -> bool:
    """Whether a metric of an entry is known early; see `Facts`. `bmca` is at level 1 only."""
    known_early = facts_of(entry["aggregation"]).known_early
    return known_early and "without" not in entry and exact_level(entry.get("level", 1)) == 1


def is_estimated(entry: Entry) -> bool:
    """Whether a two-phase sample estimates a metric: mcqa, bmca@1.0, ci and cora."""
    return is_known_early(entry) and entry["aggregation"] in _OF_TWO_PHASES


_OF_TWO_PHASES = {mcqa: "mcqa", bmca: "bmca@1.0", ci: "ci", cora: "cora"}
"""The names in `stopping.FORMULAS` of the metrics that a two-phase sample estimates."""


def saves_requests(entries: Iterable[Entry]) -> bool:
    """Whether a task has CoRA, CI or BMCA(1.0), which stay exact with early stopping."""
    return any(is_estimated(entry) and entry["aggregation"] is not mcqa for entry in entries)


def compute(entry: Entry, table: ResponseTable, *, whole: bool = False) -> Any:
    """Compute the metric of an entry, without the variants that the entry leaves out.

    If variants were skipped, the metric is undefined unless all possible answers to them give the same value.
    """
    if whole:
        if not is_estimated(entry) or table.original_correct is None:
            return UNDEFINED
        phases = phases_of(table)
        if not phases.is_complete:
            return estimate(_OF_TWO_PHASES[entry["aggregation"]], phases)
        value = compute(entry, table).value  # that of the full run to the last digit
        return Estimate(value, 0.0, ends=(value, value))
    if "without" in entry:
        table = _without(table, entry["without"])
    function = partial(entry["aggregation"], **parameters_of(entry))
    if table.is_whole or is_known_early(entry):
        return despite_skipped(function, table)
    return UNDEFINED


@lru_cache(maxsize=1)  # consecutive metrics share the table and its cached columns
def _without(table: ResponseTable, kind: str) -> ResponseTable:
    return table.where(~table.is_kind(kind))


def check_metrics(task: str, entries: Any) -> None:
    """Compute each metric on an empty table, so that an error in a task file is found before the run."""
    if not entries:
        raise UserError(f"{task}: metric_list is missing. Copy the metrics that you need from _probes/divergent.yaml")
    for entry in entries:
        try:
            usable = _is_usable(entry)
        except Exception:  # the function and its parameters may be anything
            usable = False
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
