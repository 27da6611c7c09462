"""Each metric of the task files has a description, and there are no others."""

from __future__ import annotations

from lm_eval_cora.metrics.meanings import MEANINGS
from lm_eval_cora.probes import PROBES
from lm_eval_cora.task_files import probe_metrics


def test_each_metric_has_a_description() -> None:
    functions = {entry["aggregation"].__name__ for probe in PROBES for entry in probe_metrics(probe)}
    assert functions == MEANINGS.keys()


def test_a_description_is_one_sentence() -> None:
    for meaning in MEANINGS.values():
        assert meaning[0].isupper()
        assert meaning.endswith(".")
        assert "\n" not in meaning
