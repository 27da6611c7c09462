"""The metrics of answers that were collected without the harness, as entries."""

from __future__ import annotations

from math import isnan

from lm_eval_cora.discovery.task_files import probe_metrics
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.runs.collected import ENTRIES, compute_collected, undefined_metrics
from lm_eval_cora.variants.probes import PROBES


def test_directions_are_those_of_the_tasks() -> None:
    ours = {entry["metric"]: entry.get("higher_is_better") for entry in ENTRIES}
    assert len(ours) == len(ENTRIES)
    tasks = {entry["metric"]: entry.get("higher_is_better") for probe in PROBES for entry in probe_metrics(probe)}
    both = ours.keys() & tasks.keys()
    assert both >= {"cora", "invalid", "acc_range", "acc_h", "equal@0.8", "bmca@0.5"}
    assert {name: ours[name] for name in both} == {name: tasks[name] for name in both}


def test_each_metric_has_a_meaning() -> None:
    assert all(facts_of(entry["aggregation"]).meaning for entry in ENTRIES)


def test_an_answer_that_cannot_change_the_value_may_be_skipped() -> None:
    table = ResponseTable.from_hits([[1, 0, None], [1, 1, 1]])
    defined = {entry["metric"] for entry in ENTRIES if not isnan(compute_collected(entry, table).value)}
    # At level 0.5, question 0 has one or two of three variants right.
    assert defined == {"mcqa", "ci", "cora", "bmca@0.7", "bmca@0.8", "bmca@0.9", "bmca@1.0"}


def test_columns_that_are_missing() -> None:
    table = ResponseTable.from_hits([[1, 0]])
    reasons = undefined_metrics(table, {"original"})
    assert {"cora", "acc"}.isdisjoint(reasons)
    assert reasons["sc"] == "needs the column 'picked'"
    assert "a variant or kind named 'original'" in undefined_metrics(table, set())["cora"]
