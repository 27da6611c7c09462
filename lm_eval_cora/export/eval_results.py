"""Export a score as an entry of `.eval_results/*.yaml`, which the Hub shows on model pages and leaderboards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from math import inf, isnan
from typing import Any

import yaml

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.provenance import begin_of, check_one_model, dataset_of
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.questions.messages import check_metric, counted, did_you_mean
from lm_eval_cora.report.headline import lead_of
from lm_eval_cora.runs.model_run import Run


class _Quoted(str):
    """A text to write in double quotes."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes lists inside mappings indented, as the Hub's documentation does."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def as_yaml(value: Any) -> str:
    """Write a value as YAML with every text in double quotes, except keys.

    PyYAML writes YAML 1.1 and the Hub reads YAML 1.2. They disagree whether texts such as `08` and `1e3` are numbers.
    """
    # An unlimited width keeps each text on one line.
    return str(yaml.dump(_quoted(value), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")))


def _quoted(value: Any) -> Any:
    if isinstance(value, str):
        return _Quoted(value)
    if isinstance(value, Mapping):
        return {key: _quoted(part) for key, part in value.items()}
    return [_quoted(part) for part in value] if isinstance(value, list) else value


def on_one_line(text: str) -> str:
    r"""Remove line breaks, control characters and lone surrogates from a text."""
    return " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text).split())


_DATASET = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*(?<![.-])", re.ASCII)

_COMMIT = re.compile(r"[0-9a-f]{40}")

_URL = re.compile(r"https?://[^\s/]+\S*")


@dataclass(frozen=True)
class Filing:
    """The place of a result on the Hub, and where it comes from.

    Attributes:
        dataset: Id of the benchmark dataset.
        task_id: Id of the leaderboard, one of the tasks in the dataset's `eval.yaml`.
        source_url: Address of logs or of a report; empty if there is none.
        source_name: Name to show for the address; empty for the Hub's own.
        source_user: User or organization on the Hub that made the result; empty if unknown.
    """

    dataset: str
    task_id: str
    source_url: str = ""
    source_name: str = ""
    source_user: str = ""

    def __post_init__(self) -> None:
        check_dataset_id(self.dataset)
        if not self.task_id.strip() or not self.task_id.isprintable():
            raise UserError(f"--task-id {self.task_id!r}: expected the id of a task in the eval.yaml of {self.dataset}")
        if self.source_url and not (_URL.fullmatch(self.source_url) and self.source_url.isprintable()):
            raise UserError(f"--source-url {self.source_url!r}: expected an address that begins with https://")
        if (self.source_name or self.source_user) and not self.source_url:
            raise UserError("--source-name and --source-user: expected --source-url, too. The Hub requires it")


def check_dataset_id(dataset: str) -> None:
    """Raise a UserError if a text cannot be the id of a dataset on the Hub.

    Example:
        >>> check_dataset_id("org/name")
        >>> check_dataset_id("name")
        Traceback (most recent call last):
        lm_eval_cora.errors.UserError: --dataset 'name': expected the id of a dataset on the Hub, ORG/NAME
    """
    if not _DATASET.fullmatch(dataset) or len(dataset) > 96:
        raise UserError(f"--dataset {dataset!r}: expected the id of a dataset on the Hub, ORG/NAME")


def run_to_file(runs: Sequence[Run], task: str = "") -> Run:
    """Find the run of one model and one task."""
    check_one_model(runs, "eval-results")
    found = [run for run in runs if task in ("", run.task)] or [run for run in runs if task == run.name]
    if len(found) == 1:
        return found[0]
    tasks = [on_one_line(run.task) for run in found or runs]
    if not found:
        raise UserError(
            f"--task {task}: there is no such task.{did_you_mean(task, tasks)} The tasks are {', '.join(tasks)}"
        )
    raise UserError(
        f"eval-results: expected one task, got {len(tasks)}: {', '.join(tasks)}. Choose one with --task NAME"
    )


def eval_results(run: Run, filing: Filing, *, metric: str = "", percent: bool = False) -> str:
    """Make the content of a file in `.eval_results/` of a model repository: a list with one entry."""
    return as_yaml([_entry(run, filing, metric, percent=percent)])


def metric_of(run: Run, metric: str) -> str:
    """The metric to publish: the requested one, or the leading metric of the task."""
    if metric:
        check_metric(metric, run.estimates)
    name = metric or lead_of([run])
    if not name or isnan(run.estimates[name].value):
        raise UserError(f"{on_one_line(run.task)}: {name or 'the leading metric'} is undefined (nan)")
    return name


def _entry(run: Run, filing: Filing, metric: str, *, percent: bool) -> dict[str, Any]:
    name = metric_of(run, metric)
    if percent and _highest(run, name) == inf:
        raise UserError(f"--percent: expected a metric with a highest value, but {name} can have any size")
    scale = 100 if percent else 1
    dataset = {"id": filing.dataset, "task_id": filing.task_id}
    data = dataset_of(run)
    # The revision of another dataset would be wrong, and the Hub expects a commit, not a branch.
    if data.hub == (filing.dataset,) and _COMMIT.fullmatch(data.revision):
        dataset["revision"] = data.revision
    source = {"url": filing.source_url, "name": filing.source_name, "user": filing.source_user}
    entry: dict[str, Any] = {"dataset": dataset, "value": _digits(scale * run.estimates[name].value)}
    if date := _date(run):
        entry["date"] = date
    if filing.source_url:
        entry["source"] = {key: on_one_line(text) for key, text in source.items() if text}
    return {**entry, "notes": on_one_line("; ".join(_notes(run, name, filing, scale)))}


def _highest(run: Run, metric: str) -> float:
    (function,) = [entry["aggregation"] for entry in run.entries if entry["metric"] == metric]
    return facts_of(function).bounds[1]


def _notes(run: Run, metric: str, filing: Filing, scale: int) -> Iterator[str]:
    """The metric, the task, the error, the number of questions, and how the model was asked."""
    estimate, sizes = run.estimates[metric], run.table.sizes
    yield f"{metric} of {run.task} (lm-eval-cora{', in percent' if scale == 100 else ''})"
    if not isnan(estimate.stderr):
        low, high = (_digits(scale * end) for end in estimate.interval)
        yield f"standard error {_digits(scale * estimate.stderr)}"
        yield f"95% interval {low} to {high}"
    total = f" of {len(sizes) + run.table.not_begun:,}, sampled in two phases" if run.is_two_phase else ""
    yield f"{counted(len(sizes), 'question')}{total}"
    data = dataset_of(run)
    if data.hub and data.hub != (filing.dataset,):
        yield f"questions from {', '.join(data.hub)}"
    if run.signature:
        yield f"signature {run.signature}"


def other_source(run: Run, filing: Filing) -> str:
    """A warning if the questions come from another dataset than the one of the leaderboard; empty if not."""
    hub = dataset_of(run).hub
    if not hub or hub == (filing.dataset,):
        return ""
    return (
        f"{on_one_line(run.task)}: its questions come from {on_one_line(', '.join(hub))}, not from {filing.dataset}. "
        f"Check that the leaderboard {filing.task_id} is for them"
    )


def _date(run: Run) -> str:
    """The time at which the run began, in ISO 8601; empty if it is unknown or not a date."""
    began = begin_of(run)
    try:
        return "" if began is None else datetime.fromtimestamp(began, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return ""


def _digits(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")
