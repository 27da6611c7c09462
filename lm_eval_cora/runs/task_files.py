"""The tasks that the task files define, and the metrics of each probe."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lm_eval_cora import metrics
from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.metrics.accuracy import only_own, own_score, unrecognised
from lm_eval_cora.metrics.entries import Entry, applies_to, directed, features_of
from lm_eval_cora.metrics.facts import CYCLIC_ORDERS, DROPPED_TEMPLATE, MACRO_AVERAGE, REPEATS, WRITTEN, Facts, facts_of
from lm_eval_cora.metrics.letter_bias import has_cyclic_orders
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import Benchmark, declared
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Form, OpenQuestion, Question
from lm_eval_cora.variants.divergent import DIVERGENT
from lm_eval_cora.variants.probes import PROBES, Probe, Setting, templates_of, uses_templates
from lm_eval_cora.variants.prompts import SINGLE_LETTER


@cache
def probe_metrics(probe: str) -> tuple[Entry, ...]:
    """Return the `metric_list` of a probe, with the aggregations as functions."""
    return tuple(map(directed, _load(tasks_folder() / "_probes" / f"{probe}.yaml")["metric_list"]))


def every_metric() -> Iterator[Entry]:
    """The metrics of all probes, and those of answers that another program scored."""
    yield from chain.from_iterable(map(probe_metrics, PROBES))
    for function in (own_score, unrecognised, only_own):
        yield directed({"metric": function.__name__, "aggregation": function})


@cache
def facts_named(metric: str) -> Facts:
    """The facts of the metric with this name; the defaults for another one."""
    found = (facts_of(entry["aggregation"]) for entry in every_metric() if entry["metric"] == metric)
    return next(found, Facts())


@cache
def printed_name(metric: str) -> str:
    """The name of a metric in the tables of a paper, such as BMCA(1.0); its own name if it has no other."""
    name, _, parameter = metric.partition("@")
    facts = facts_of(getattr(metrics, name, None))
    symbol = facts.symbol or facts.spoken
    if not symbol:
        return metric
    return f"{symbol}({parameter})" if parameter else symbol


def applicable_metrics(
    probe: Probe, table: ResponseTable, form: Form | None, printed: Collection[str] = ()
) -> list[Entry]:
    """The entries of a probe's `metric_list` that apply to answers, with the features of the run if it printed some."""
    entries = probe_metrics(probe.name)
    if known := [entry for entry in entries if entry["metric"] in printed]:
        present = set[str]().union(*map(features_of, known))
        if table.repeats is None and not probe.samples:  # their lines are missing
            present.discard(REPEATS)
    else:
        features = {
            WRITTEN: table.written.any(),
            DROPPED_TEMPLATE: SINGLE_LETTER in table.kinds,
            CYCLIC_ORDERS: has_cyclic_orders(table),
            REPEATS: table.repeats is not None or probe.samples,
        }
        present = set(filter(features.get, features))
    sampled = "variants" in probe.options and set(table.sizes.tolist()) == {1}
    return [entry for entry in entries if applies_to(entry, form, sampled=sampled, features=present)]


def asked_metrics(
    metrics: Iterable[Entry], benchmark: Benchmark, probe: Probe, options: Options, *, form: Form
) -> list[Entry]:
    """The entries of a `metric_list` that apply to a form, a benchmark and options, before anything is asked."""
    metrics = list(metrics)
    # Templates are read only if a metric depends on them.
    reads = any(DROPPED_TEMPLATE in features_of(entry) for entry in metrics)
    templates = templates_of(benchmark, options).all if reads else ()
    features = {
        WRITTEN: not benchmark.has_options,
        DROPPED_TEMPLATE: SINGLE_LETTER in [template.name for template in templates],
        MACRO_AVERAGE: benchmark.macro_average,
        CYCLIC_ORDERS: "orders" in probe.options and options.orders == "cyclic",
        REPEATS: options.repeats > 0 or probe.samples,
    }
    present, sampled = set(filter(features.get, features)), options.variants is not None
    found = (entry for entry in metrics if applies_to(entry, form, sampled=sampled, features=present))
    return [*map(directed, found)]


class TaskFile(NamedTuple):
    """The content of a task file."""

    name: str
    benchmark: Benchmark
    probe: str
    form: Form

    def docs_per_question(self) -> tuple[int, int]:
        """Return the smallest and the largest number of variants of a question of this benchmark."""
        probe, (fewest, most) = PROBES[self.probe], self.benchmark.options
        questions: list[Question | OpenQuestion] = [OpenQuestion("q", "?", "!")]
        if self.benchmark.has_options:
            questions = [Question("q", "?", tuple(map(str, range(size))), 0) for size in range(fewest, most + 1)]
        counts = [len(probe.expand(question, Setting(form=self.form))) for question in questions]
        return min(counts), max(counts)


def task_list() -> list[TaskFile]:
    """Return the tasks, sorted by name."""
    return sorted(_task_files(lambda _: True), key=lambda task: task.name)


def _task_files(chosen: Callable[[str], bool]) -> Iterator[TaskFile]:
    """The tasks whose names are chosen; only their files are read."""
    for path in tasks_folder().glob("*/cora_*.yaml"):
        if chosen(path.stem) and not path.parent.name.startswith("_"):
            named = {Path(part).parent.name: Path(part).stem for part in _load(path)["include"]}
            form: Form = "loglikelihood" if named["_forms"] == "loglikelihood" else "generate"
            yield TaskFile(path.stem, benchmark(named["_benchmarks"]), named["_probes"], form)


def written_task(benchmark: str, probe: Probe) -> tuple[str, dict[str, Any]]:
    """The name and the settings of the task with written answers, also if no file has this probe of the benchmark."""
    name = f"cora_{benchmark}" if probe is DIVERGENT else f"cora_{benchmark}_{probe.name}"
    form = "reasoned" if uses_templates(probe, "generate") else "generate"
    settings: dict[str, Any] = {"num_fewshot": 0, "metadata": {"version": 1}}
    for file in (f"_forms/{form}", f"_probes/{probe.name}", f"*/{name}"):
        for path in tasks_folder().glob(f"{file}.yaml"):
            settings |= _load(path)
    return name, settings


@lru_cache
def published_questions(task: str) -> int | None:
    """Number of rows of the published split that a task asks."""
    return next((file.benchmark.published_rows for file in _task_files(task.__eq__)), None)


def benchmark(name: str, changes: Mapping[str, Any] | None = None, data_files: tuple[Any, ...] = ()) -> Benchmark:
    """Return a benchmark of the package."""
    given = declaration(name)
    first = {"config": tuple(given["configs"][:1])} if "configs" in given else {}
    return declared(given, first if changes is None else changes, data_files)


def benchmark_names() -> list[str]:
    """The names of the benchmarks of the package. That of `cora_of` has no questions of its own."""
    return sorted({path.stem for path in tasks_folder().glob("_benchmarks/*.yaml")} - {"of"})


def declaration(name: str) -> dict[str, Any]:
    """Return the declaration of a benchmark of the package."""
    return dict(_load(tasks_folder() / "_benchmarks" / f"{name}.yaml")["benchmark"])


@cache
def _load(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_TaskFileLoader)


class _TaskFileLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # ten times as fast
    """YAML loader that resolves `!function` for names in this package."""


def _function(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    module, _, name = str(loader.construct_scalar(node)).rpartition(".")
    if module.partition(".")[0] != "lm_eval_cora":
        problem = f"expected a name in lm_eval_cora, got {module}.{name}"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    # Names in `lm_eval_cora.harness` stay text, because importing the harness takes seconds.
    return getattr(import_module(module), name) if ".harness" not in module else f"{module}.{name}"


_TaskFileLoader.add_constructor("!function", _function)
