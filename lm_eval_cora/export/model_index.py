"""Export runs as the list of evaluation results in a model card of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from huggingface_hub import EvalResult, ModelCardData

from lm_eval_cora.errors import UserError
from lm_eval_cora.export.provenance import Dataset, check_one_model, dataset_of, evaluation_name
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.runs.model_run import Run


def model_index(runs: Sequence[Run]) -> str:
    """Make the `model-index` of a model, to paste between the two `---` of its card.

    Undefined metrics are left out.
    """
    check_one_model(runs, "model-index")
    results = [
        _result(run, name, estimate)
        for run in runs
        for name, estimate in run.estimates.items()
        if not isnan(estimate.value)
    ]
    if not results:
        raise UserError("model-index: expected a defined metric, but all metrics are undefined (nan)")
    return str(ModelCardData(model_name=runs[0].model, eval_results=results).to_yaml()).strip() + "\n"


def _result(run: Run, metric: str, estimate: Estimate) -> EvalResult:
    data = dataset_of(run)
    about = {"task": evaluation_name(run), "signature": run.signature, "questions": len(run.table.question_ids)}
    if run.data.digest:
        about["data"] = run.data.digest
    if run.reader:
        about["reader"] = run.reader
    if not isnan(estimate.stderr):
        about["stderr"] = estimate.stderr
        about["confidence_interval_95"] = list(estimate.interval)
    return EvalResult(
        task_type="text-generation",
        dataset_name=data.name,
        dataset_type=data.hub[0] if len(data.hub) == 1 else _without_hub(run, data),
        dataset_config=", ".join(data.configs) or None,
        dataset_split=data.split or None,
        dataset_revision=data.revision or None,
        dataset_args={"paths": list(data.hub)} if len(data.hub) > 1 else None,
        metric_type=metric,
        metric_value=estimate.value,
        # The card lists all tasks on a dataset together, so the name contains the task.
        metric_name=f"{metric} ({evaluation_name(run)})",
        metric_args=about,
    )


def _without_hub(run: Run, data: Dataset) -> str:
    """The name under which a card groups scores, with the digest if runs have different data of this name."""
    digest = run.data.digest
    return f"{data.name} {digest}" if digest and run.label.endswith(digest) else data.name
