"""Runs -> the block of a model card on the Hugging Face Hub that lists evaluation results."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from huggingface_hub import EvalResult, ModelCardData

from lm_eval_cora.export.provenance import Dataset, dataset_of, evaluation_name
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.runs import Run


def model_index(runs: Sequence[Run]) -> str:
    """The `model-index` of a model, to be put between the two `---` of its card.

    Undefined metrics are left out.

    Args:
        runs: Of one model.

    Returns:
        YAML.

    Raises:
        ReportError: If the runs are of several models, or have no metric that is defined.
    """
    models = sorted({run.model for run in runs})
    if len(models) > 1:
        raise ReportError(
            f"a model card is of one model, and these runs are of {len(models)}: {', '.join(models)}. Give the folders "
            "of one of them at a time"
        )
    results = [
        _result(run, name, estimate)
        for run in runs
        for name, estimate in run.estimates.items()
        if not isnan(estimate.value)
    ]
    if not results:
        raise ReportError("there is no metric to put in a model card: all of them are undefined (nan)")
    return str(ModelCardData(model_name=models[0], eval_results=results).to_yaml()).strip() + "\n"


def _result(run: Run, metric: str, estimate: Estimate) -> EvalResult:
    data = dataset_of(run)
    about = {"task": evaluation_name(run), "signature": run.signature, "questions": len(run.table.question_ids)}
    if run.data.digest:
        about["data"] = run.data.digest
    if run.reader:
        about["reader"] = run.reader
    if not isnan(estimate.stderr):
        about["stderr"] = estimate.stderr
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
        # All tasks on one dataset stand in one list there, so the name has to tell them apart.
        metric_name=f"{metric} ({evaluation_name(run)})",
        metric_args=about,
    )


def _without_hub(run: Run, data: Dataset) -> str:
    """What a card groups the scores by: the name, with the digest if other runs have other data of this name."""
    digest = run.data.digest
    return f"{data.name} {digest}" if digest and run.label.endswith(digest) else data.name
