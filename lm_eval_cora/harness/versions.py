"""Where the harness 0.4 and 0.5 differ: the base class of our tasks, and what we read of other tasks.

Each docstring names the harness' code and says what goes once 0.4 is dropped. Then `Docs.features`,
`CoraTask.fewshot_docs` and `CoraOfTask.doc_to_prefix` go, too: 0.5 does not use them.

`CoraTask.construct_requests` makes the requests itself and passes `Instance` what it gets: in 0.4 `metadata`, in 0.5
`doc_id`. The methods of 0.5 skip a doc with a warning if its target is no label or if a server formats its prompt, and
leave out the delimiter after a prompt that ends with a space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from lm_eval.api.task import ConfigurableTask

from lm_eval_cora.log import logger
from lm_eval_cora.runs.files import grouped_by

TRIED = ("0.4.12", "0.4.13", "0.5.0.dev1")
"""The versions of the harness with which the tests of this package pass. Stays."""

IS_5 = hasattr(ConfigurableTask, "process_instances")
"""Whether a task scores and aggregates its own answers. Goes."""


@cache
def warn_if_untried() -> None:
    """Warn once if this package has not been tried with the installed harness. Stays."""
    if version("lm_eval") not in TRIED:
        logger.warning(
            f"lm-eval {version('lm_eval')}: lm-eval-cora has been tried with lm-eval {', '.join(TRIED)}. Before a long "
            "run, compare prompts and scores of a short one with those of such a version"
        )


# ---- tasks of the harness, for `cora_of`
def prefix_of(task: Any, doc: Mapping[str, Any]) -> Any:
    """The beginning of an answer that a task gives the model. `doc_to_prefix` of 0.4 goes."""
    return task._resolve_field(doc, task.config.gen_prefix) if IS_5 else task.doc_to_prefix(doc)


def target_of(task: Any, doc: Mapping[str, Any]) -> Any:
    """The target of a doc. Stays: `Task.doc_to_target` of 0.5 takes a label such as "3" for the index of a choice.

    0.4 does so only if a template says "3" and the task has choices.
    """
    given = task.config.doc_to_target
    if IS_5 and not (isinstance(given, str) and given not in doc and task.config.doc_to_choice):
        target = task._resolve_field(doc, given)
        if str(target).isdigit():
            return target
    return task.doc_to_target(doc)


# ---- our tasks
class _Unwrapped:
    """The last filter: a doc has one response, as in 0.4 and all samples files. In 0.5 filters make a list of it."""

    def apply(self, responses: Iterable[Any], _: Any) -> list[Any]:
        return [each[0] if isinstance(each, list) else each for each in responses]


class _Task5(ConfigurableTask):  # type: ignore[misc]  # the harness ships no types
    """The task class of 0.5, whose filters, metrics and results belong to scorers. Here they work as in 0.4.

    Stays as the base class of CoraTask, which can then take over its methods. `_filters`, `_aggregation_list` and
    `_higher_is_better` are attributes of 0.4.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Undo changes of 0.5: it moves parameters of metrics to `kwargs`, and names tasks in groups `group::task`."""
        # A scorer refuses `acc` for written answers, and needs none of our metrics.
        super().__init__({**config, "metric_list": [], "_qualified_name": None})
        self.config.metric_list, self.config.filter_list = config["metric_list"], config.get("filter_list")
        self._filters = [scorer.filter for scorer in self._scorers]
        for ensemble in self._filters:
            ensemble.filters.append(_Unwrapped)

    def higher_is_better(self) -> Any:
        return self._higher_is_better

    def override_metric(self, metric_name: str) -> None:
        """Only keep responses, after --predict_only."""
        self.config.process_results, self.config.metric_list = None, [{"metric": metric_name}]

    def doc_to_target(self, doc: Any, doc_to_target: Any = None) -> Any:
        """The target as it is, see `target_of`."""
        return self._resolve_field(doc, doc_to_target or self.config.doc_to_target)

    def _resolve_field(self, doc: Any, field: Any = None) -> Any:
        """Leave out the prefix in `cora_of`, as `CoraOfTask.doc_to_prefix` does, which 0.5 does not call."""
        if self._separates or field != self.config.gen_prefix:
            return super()._resolve_field(doc, field)
        return None

    # ---- after the inference
    def process_instances(self) -> None:
        """Score all docs. A row is the reduced doc: samples get what it stores, metrics get its Record."""
        self.apply_filters()
        for scorer in self._scorers:
            for number, group in grouped_by(self._instances, lambda one: one.doc_id).items():
                row = self.process_results(group[0].doc, [one.filtered_resps[scorer.name] for one in group])
                scorer._reduced_docs[number] = row or {}

    def aggregate(self, *_: Any) -> tuple[dict[str, Any], int]:
        """All values and our own standard errors: the harness bootstraps over docs, which are not independent."""
        functions, found = self.aggregation(), {}
        for scorer in self._scorers:
            rows = [dict(row.items()) for row in scorer.reduced_docs.values()]
            for key in rows[0]:
                found[f"{key},{scorer.name}"] = functions[key]([row[key] for row in rows])
                found[f"{key}_stderr,{scorer.name}"] = "N/A"  # the next key has ours
        return found, len(rows)


BaseTask: Any = _Task5 if IS_5 else ConfigurableTask
