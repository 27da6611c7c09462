"""Names of the tasks, and of the metrics in their tables, by the task files."""

from pathlib import Path

import yaml

from lm_eval_cora.metrics import facts
from lm_eval_cora.metrics.entries import applies_to, features_of, is_printed, needs_of
from lm_eval_cora.runs.task_files import benchmark, probe_metrics
from lm_eval_cora.variants.probes import PROBES

TASKS = Path(__file__).parents[2] / "tasks"
_FRAGMENTS = {
    path.stem: {Path(part).parent.name: Path(part).stem for part in yaml.safe_load(path.read_text())["include"]}
    for path in TASKS.glob("[a-z]*/cora_*.yaml")
}
NAMES = sorted(_FRAGMENTS)
GROUPS = sorted(path.stem for path in (TASKS / "_groups").iterdir())


def benchmark_of(task):
    return _FRAGMENTS[task]["_benchmarks"]


def probe_of(task):
    return _FRAGMENTS[task]["_probes"]


BUILT = [task for task in NAMES if benchmark_of(task) != "of"]
"""The tasks that have questions of their own."""


def printed(task):
    """The metrics in a task's table."""
    form = "loglikelihood" if _FRAGMENTS[task]["_forms"] == "loglikelihood" else "generate"
    probe, of = PROBES[probe_of(task)], benchmark(benchmark_of(task))
    features = {
        facts.WRITTEN: not of.has_options,
        facts.MACRO_AVERAGE: of.macro_average,
        facts.DROPPED_TEMPLATE: of.has_options and of.score_templates is not None,
        facts.REPEATS: probe.samples,
    }
    has = set(filter(features.get, features))
    entries = [entry for entry in probe_metrics(probe.name) if applies_to(entry, form, features=has)]
    return [entry["metric"] for entry in entries if is_printed(entry)]


METRICS = [name for name in printed("cora_demo") if name in printed("cora_demo_mc")]
"""The metrics of the divergent probe in both forms."""

OF_REPEATS = {entry["metric"] for entry in probe_metrics("divergent") if facts.REPEATS in features_of(entry)}
"""Those that the option `repeats` adds."""

OF_CONFIDENCE = {entry["metric"] for entry in probe_metrics("divergent") if "confidence" in needs_of(entry)}
