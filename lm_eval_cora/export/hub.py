"""Export runs for the Hugging Face Hub: results of a model card, and entries of `.eval_results/`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from math import inf, isnan
from typing import Any

import yaml

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.provenance import begin_of, dataset_of, evaluation_name, given
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.questions.messages import counted, did_you_mean
from lm_eval_cora.questions.question import printable
from lm_eval_cora.runs.grouping import TASK
from lm_eval_cora.runs.model_run import Run, Runs, check_metric, check_one_model, lead_of


# ---- model cards
def model_index(runs: Runs) -> str:
    """Make the `model-index` of a model, to paste between the two `---` of its card, without undefined metrics."""
    from huggingface_hub import EvalResult, ModelCardData  # takes a second to import

    check_one_model(runs, "model-index")
    results = [
        EvalResult(
            task_type="text-generation",
            task_name=None if run.name == TASK else run.name,
            metric_type=name,
            metric_value=estimate.value,
            metric_name=f"{name} ({evaluation_name(run)})",  # the card lists all tasks on a dataset together
            metric_args=_about(run, name),
            **_dataset(run),
        )
        for run in runs
        for name, estimate in run.estimates.items()
        if not isnan(estimate.value)
    ]
    if not results:
        raise UserError("model-index: expected a defined metric, but all metrics are undefined (nan)")
    return str(ModelCardData(model_name=runs[0].model, eval_results=results).to_yaml()).strip() + "\n"


def _about(run: Run, metric: str) -> dict[str, Any]:
    _, error = estimate = run.estimates[metric]
    return given(
        {
            "task": evaluation_name(run),
            "signature": run.signature,
            "questions": len(run.table.question_ids),
            "data": run.data.digest or None,
            "reader": run.reader or None,
            "stderr": None if isnan(error) else error,
            "confidence_interval_95": None if isnan(error) else list(estimate.interval),
        }
    )


def _dataset(run: Run) -> dict[str, Any]:
    """The data set of a card. Without an id on the Hub, the digest tells different data of one name apart."""
    data, digest = dataset_of(run), run.data.digest
    name = f"{data.name} {digest}" if digest and run.label.endswith(digest) else data.name
    return {
        "dataset_name": data.name,
        "dataset_type": data.hub[0] if len(data.hub) == 1 else name,
        "dataset_config": ", ".join(data.configs) or None,
        "dataset_split": data.split or None,
        "dataset_revision": data.revision or None,
        "dataset_args": {"paths": list(data.hub)} if len(data.hub) > 1 else None,
    }


# ---- .eval_results
_DATASET = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9_][\w.-]*/[A-Za-z0-9_][\w.-]*(?<![.-])", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_URL = re.compile(r"https?://[^\s/]+\S*")


def run_to_file(runs: Runs, task: str = "") -> Run:
    """Find the run of one model and one task."""
    check_one_model(runs, "eval-results")
    matches = [run for run in runs if task in ("", run.task)] or [run for run in runs if task == run.name]
    if len(matches) == 1:
        return matches[0]
    tasks = ", ".join(named := [printable(run.task) for run in matches or runs])
    if not matches:
        raise UserError(f"--task {task}: there is no such task.{did_you_mean(task, named)} The tasks are {tasks}")
    raise UserError(f"eval-results: expected one task, got {len(named)}: {tasks}. Choose one with --task NAME")


@dataclass(frozen=True)
class EvalResult:
    """A result for a leaderboard on the Hub: its place, a task of a dataset's `eval.yaml`, and where it comes from."""

    dataset: str
    task_id: str
    task: str = ""
    metric: str = ""
    percent: bool = False
    source_url: str = ""
    source_name: str = ""
    source_user: str = ""

    @property
    def source(self) -> dict[str, str]:
        """Where the result comes from; empty texts are unknown."""
        return {"url": self.source_url, "name": self.source_name, "user": self.source_user}

    def __post_init__(self) -> None:
        """Check the place and the source."""
        if not _DATASET.fullmatch(self.dataset) or len(self.dataset) > 96:
            raise UserError(f"--dataset {self.dataset!r}: expected the id of a dataset on the Hub, ORG/NAME")
        if not self.task_id.strip() or not self.task_id.isprintable():
            raise UserError(f"--task-id {self.task_id!r}: expected the id of a task in the eval.yaml of {self.dataset}")
        url = self.source_url
        is_address = _URL.fullmatch(url) and url.isprintable()
        if url and not is_address:
            raise UserError(f"--source-url {url!r}: expected an address that begins with https://")
        if any(self.source.values()) and not url:
            raise UserError("--source-name and --source-user: expected --source-url, too. The Hub requires it")

    def entry(self, run: Run, name: str) -> dict[str, Any]:
        """The entry of a metric of a run."""
        aggregation = next(entry["aggregation"] for entry in run.entries if entry["metric"] == name)
        if self.percent and facts_of(aggregation).bounds[1] == inf:
            raise UserError(f"--percent: expected a metric with a highest value, but {name} can have any size")
        entry: dict[str, Any] = {"dataset": {"id": self.dataset, "task_id": self.task_id}}
        data, scale = dataset_of(run), 100 if self.percent else 1
        # The revision of another dataset would be wrong, and the Hub expects a commit, not a branch.
        if data.hub == (self.dataset,) and _COMMIT.fullmatch(data.revision):
            entry["dataset"]["revision"] = data.revision
        entry["value"] = _digits(scale * run.estimates[name].value)
        if (began := begin_of(run)) is not None:
            entry["date"] = datetime.fromtimestamp(began, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.source_url:
            entry["source"] = {key: printable(text) for key, text in self.source.items() if text}
        entry["notes"] = printable("; ".join(_notes(run, name, self.other_data(run), scale)))
        return entry

    def other_data(self, run: Run) -> str:
        """The data set of a run if it is not that of the leaderboard."""
        hub = dataset_of(run).hub
        return "" if hub == (self.dataset,) else printable(", ".join(hub))


def eval_results(runs: Runs, **place: Any) -> tuple[str, str]:
    """Make a file in `.eval_results/` of a model repository, a list with one entry. Also return a warning, if any."""
    result = EvalResult(**place)
    run = run_to_file(runs, result.task)
    written = as_yaml([result.entry(run, metric_of(run, result.metric))])
    other = result.other_data(run)
    warning = (
        f"{printable(run.task)}: its questions come from {other}, not from {result.dataset}. Check that the "
        f"leaderboard {result.task_id} is for them"
    )
    return written, warning if other else ""


def metric_of(run: Run, metric: str) -> str:
    """The metric to publish: the requested one, or the leading metric of the task."""
    if metric:
        check_metric(metric, run.estimates)
    name = metric or lead_of([run])
    if not name or isnan(run.estimates[name].value):
        raise UserError(f"{printable(run.task)}: {name or 'the leading metric'} is undefined (nan)")
    return name


def _notes(run: Run, metric: str, other_source: str, scale: int) -> Iterator[str]:
    """The metric, the task, the error, the number of questions, and how the model was asked."""
    estimate, sizes = run.estimates[metric], run.table.sizes
    yield f"{metric} of {run.task} (lm-eval-cora{', in percent' if scale == 100 else ''})"
    if not isnan(estimate.stderr):
        low, high = (_digits(scale * end) for end in estimate.interval)
        yield f"standard error {_digits(scale * estimate.stderr)}"
        yield f"95% interval {low} to {high}"
    total = f" of {len(sizes) + run.table.not_begun:,}" if run.is_stopped else ""
    yield f"{counted(len(sizes), 'question')}{total}"
    if other_source:
        yield f"questions from {other_source}"
    if run.signature:
        yield f"signature {run.signature}"


def _digits(value: float) -> float:
    """Round to six significant digits."""
    return float(f"{value:.6g}")


# ---- YAML
class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes every text but keys in quotes."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        node = super().represent_mapping(tag, mapping, flow_style)
        for key, _ in node.value:
            key.style = None
        return node


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def as_yaml(value: Any) -> str:
    """Write a value as YAML with every text in double quotes, except keys."""
    # PyYAML writes YAML 1.1 and the Hub reads YAML 1.2. They disagree whether texts such as `08` and `1e3` are numbers.
    # An unlimited width keeps each text on one line.
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")))
