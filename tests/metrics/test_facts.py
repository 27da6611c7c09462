"""Each metric of the task files has facts."""

from __future__ import annotations

from lm_eval_cora.discovery.task_files import probe_metrics
from lm_eval_cora.metrics.facts import Facts, facts_of
from lm_eval_cora.variants.probes import PROBES


def test_each_metric_has_a_meaning_of_one_sentence() -> None:
    for function in {entry["aggregation"] for probe in PROBES for entry in probe_metrics(probe)}:
        meaning = facts_of(function).meaning
        assert meaning[:1].isupper(), function
        assert meaning.endswith(".")
        assert "\n" not in meaning


def test_a_function_of_the_user_has_the_defaults() -> None:
    assert facts_of(lambda table: table) == Facts()
