"""Which tasks the task files define, and which metrics they give a probe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.probes import divergent, order, plus, prompts, revas, sampling
from lm_eval_cora.prompting.template import own_templates
from lm_eval_cora.question import Form, OpenQuestion, Question, Variant

_PACKAGE = "lm_eval_cora"


def probes() -> list[str]:
    """Names of the probes."""
    return sorted(path.stem for path in (tasks_folder() / "_probes").glob("*.yaml"))


@lru_cache
def probe_metrics(probe: str) -> tuple[dict[str, Any], ...]:
    """The `metric_list` of a probe, its aggregations as functions.

    Args:
        probe: One of `probes()`.

    Example:
        >>> [entry["metric"] for entry in probe_metrics("divergent")][:3]
        ['acc', 'cora', 'ci']
    """
    return tuple(_load(tasks_folder() / "_probes" / f"{probe}.yaml")["metric_list"])


@dataclass(frozen=True)
class TaskFile:
    """What a task file says.

    Attributes:
        name: Name of the task.
        benchmark: Whose questions it asks.
        probe: Name of its probe.
        form: How the model is asked.
    """

    name: str
    benchmark: Benchmark
    probe: str
    form: Form

    def docs_per_question(self) -> tuple[int, int]:
        """How many variants a question has, at least and at most, with as many options as the benchmark's have.

        Example:
            >>> {task.name: task.docs_per_question() for task in task_list()}["cora_truthfulqa"]
            (8, 74)
        """
        fewest, most = self.benchmark.options
        counts = [self._variants(options) for options in range(fewest, most + 1)]
        return min(counts), max(counts)

    def _variants(self, options: int) -> int:
        if not self.benchmark.has_options:
            return len(_UNALTERED[self.probe](OpenQuestion("q", "?", "!")))
        question = Question("q", "?", tuple(map(str, range(options))), 0)
        if self.probe == revas.NAME:
            return len(revas.revas(question, select_all=self.form == "generate"))
        return len(_PROBES[self.probe](question))


def _prompts(question: Question | OpenQuestion) -> list[Variant]:
    """The variants with our ten templates; SCORE's are as many."""
    templates = own_templates()
    return prompts.prompts(question, [template.name for template in templates.all], templates.fixed.name)


_UNALTERED: dict[str, Callable[[Question | OpenQuestion], list[Variant]]] = {
    prompts.NAME: _prompts,
    sampling.NAME: sampling.sampling,
}
_PROBES: dict[str, Callable[[Question], list[Variant]]] = {
    divergent.NAME: divergent.divergent,
    plus.NAME: plus.plus,
    order.NAME: order.order,
    **_UNALTERED,
}


def task_list() -> list[TaskFile]:
    """The tasks, by name.

    Example:
        >>> [task.probe for task in task_list() if task.name == "cora_medqa_plus_mc"]
        ['plus']
    """
    files = [path for path in tasks_folder().glob("*/cora_*.yaml") if not path.parent.name.startswith("_")]
    return [_task_file(path) for path in sorted(files, key=lambda path: path.stem)]


def _task_file(path: Path) -> TaskFile:
    named = {Path(part).parent.name: Path(part).stem for part in _load(path)["include"]}
    benchmark = _load(tasks_folder() / "_benchmarks" / f"{named['_benchmarks']}.yaml")["dataset_kwargs"]["benchmark"]
    form: Form = "loglikelihood" if named["_forms"] == "loglikelihood" else "generate"
    return TaskFile(path.stem, benchmark, named["_probes"], form)


def _load(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML ships no types
    """Reads `!function` where it names something of this package."""


def _function(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:
    module, _, name = str(loader.construct_scalar(node)).rpartition(".")
    if module.partition(".")[0] != _PACKAGE:
        raise yaml.constructor.ConstructorError(None, None, f"{module}.{name} is not of {_PACKAGE}", node.start_mark)
    # The task class and the hooks need the harness, which takes seconds to import; the metrics do not.
    return getattr(import_module(module), name) if ".harness" not in module else f"{module}.{name}"


_Loader.add_constructor("!function", _function)
