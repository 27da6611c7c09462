"""Export runs as records of Every Eval Ever, schema 0.3: one file per model, and one with a row per variant."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import inf, isnan
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from lm_eval_cora import __version__
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.instances import rows
from lm_eval_cora.export.provenance import as_texts, begin_of, dataset_of, evaluation_name, model_args, model_id
from lm_eval_cora.metrics.entries import parameters_of
from lm_eval_cora.metrics.estimate import REPLICATES
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.report.writing import RESERVED, replace_file, temporary_file
from lm_eval_cora.runs.files import chat_template_of, grouped_by, part_of
from lm_eval_cora.runs.model_run import Run

_SCHEMA = "0.3.0"

_COLLECTION = "lm-eval-cora"
"""The folder of the records. The schema's documentation requires one folder per source of several benchmarks."""

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""Relationships between who evaluated a model and who made it."""

_ENGINES = {
    **dict.fromkeys(("hf", "hf-auto", "huggingface", "hf-multimodal", "steered"), "transformers"),
    **dict.fromkeys(("gguf", "ggml"), "llama.cpp"),
    "vllm-vlm": "vllm",
    "sglang-generate": "sglang",
}
"""Engines of the harness' back ends that have a different name."""

_IN_PROCESS = ("transformers", "vllm", "sglang", "mamba_ssm", "nemo_lm", "megatron_lm", "openvino", "trtllm")

_PLATFORMS = {
    **dict.fromkeys(("openai-completions", "openai-chat-completions"), "openai"),
    **dict.fromkeys(("anthropic-completions", "anthropic-chat", "anthropic-chat-completions"), "anthropic"),
    "textsynth": "textsynth",
    "watsonx_llm": "watsonx",
}
"""Services behind the back ends that call a hosted API."""


def write_every_eval_ever(
    runs: Sequence[Run], folder: Path, organization: str = "", relationship: Relationship | None = None
) -> list[Path]:
    """Write the records of some runs: `data/lm-eval-cora/<developer>/<model>/<uuid>.json` and `<uuid>_samples.jsonl`.

    Undefined metrics are left out, and the record lists them. File names depend on the contents: the same export gets
    the same name, a changed export another one.
    """
    by_model = grouped_by(runs, lambda run: run.model)
    submitter = {
        "source_organization_name": organization or "unknown",  # the harness does not write who ran it
        "evaluator_relationship": relationship or "other",
    }
    try:
        return [path for of_model in by_model.values() for path in _write(of_model, folder, submitter)]
    except OSError as error:
        raise UserError(f"{error.filename or folder}: {error.strerror or error}") from None


def _write(runs: Sequence[Run], folder: Path, submitter: Mapping[str, str]) -> list[Path]:
    """Write the two files of a model: the record, and a row per variant."""
    record = _record(runs, submitter)
    model, results = (
        record["model_info"]["id"],
        {result["evaluation_result_id"] for result in record["evaluation_results"]},
    )
    developer, short = model.split("/", 1) if "/" in model else ("", model)
    parts = ["data", _COLLECTION, _folder(developer), _folder(short)]
    same = {"schema_version": _SCHEMA, "evaluation_id": record["evaluation_id"], "model_id": model}
    place = folder.joinpath(*parts)
    place.mkdir(parents=True, exist_ok=True)
    count, digest = 0, sha256()
    # The name of the file depends on its contents, so the file gets a temporary name first.
    with temporary_file(place) as (partial, file):
        for run in runs:
            whole = _result_id(run, "acc")  # the metric that equals the mean of the rows' scores
            for row in rows(run, whole if whole in results else None):
                line = (_json(same | row) + "\n").encode()
                file.write(line)
                digest.update(line)
                count += 1
        file.flush()
        checksum = digest.hexdigest()
        # A name derived from the contents, in the form of a version 4 UUID, which the schema requires.
        name = UUID(bytes=sha256((_json(record) + checksum).encode()).digest()[:16], version=4)
        written = [place / f"{name}.json", place / f"{name}_samples.jsonl"]
        record["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": "/".join([*parts, written[1].name]),
            "hash_algorithm": "sha256",
            "checksum": checksum,
            "total_rows": count,
        }
        partial.replace(written[1])
        replace_file(written[0], (_json(record, indent=2) + "\n").encode())
    return written


def _record(runs: Sequence[Run], submitter: Mapping[str, str]) -> dict[str, Any]:
    """Make the record of a model, without the reference to its rows."""
    newest = max(runs, key=_time)
    model, time = model_id(newest), str(_time(newest))
    notes = {evaluation_name(run): list(run.notes) for run in runs if run.notes}
    # The schema does not allow nan.
    undefined = [_result_id(run, name) for run in runs for name, it in run.estimates.items() if isnan(it.value)]
    return {
        "schema_version": _SCHEMA,
        "evaluation_id": f"{_COLLECTION}/{model}/{time}",
        "evaluation_timestamp": time,
        # The date of the run, not of the export, so that the same export gives the same record.
        "retrieved_timestamp": time,
        "source_metadata": {
            "source_name": "lm-eval-cora",
            "source_type": "evaluation_run",
            **submitter,
            "additional_details": as_texts({"undefined_results": undefined or None, "notes": notes or None}),
        },
        "eval_library": {
            "name": "unknown" if newest.collected else "lm_eval",
            "version": _version(newest),
            "additional_details": as_texts(
                {"plugin": "lm-eval-cora", "plugin_version": __version__, "git_hash": newest.results.get("git_hash")}
            ),
        },
        "model_info": _model_info(newest),
        "evaluation_results": [
            _result(run, entry)
            for run in runs
            for entry in run.entries
            if entry["metric"] in run.estimates and _result_id(run, entry["metric"]) not in undefined
        ],
    }


def _model_info(run: Run) -> dict[str, Any]:
    model, settings = model_id(run), part_of(run.results, "config")
    arguments = model_args(settings.get("model_args"))
    back_end = str(settings.get("model") or run.results.get("model_source") or "")
    engine = _ENGINES.get(back_end, back_end)
    info: dict[str, Any] = {"name": model, "id": model}
    if "/" in model:
        info["developer"] = model.partition("/")[0]
    hosted = back_end in _PLATFORMS and "base_url" not in str(settings.get("model_args"))
    if hosted:
        info["inference_platform"] = _PLATFORMS[back_end]
    elif engine:
        version = run.results.get("transformers_version") if engine == "transformers" else None
        info["inference_engine"] = as_texts({"name": engine, "version": version})
    managed = "externally_managed" if hosted else "self_deployed" if engine in _IN_PROCESS else "unknown"
    info["additional_details"] = as_texts(
        {
            "deployment_type": managed,
            "model_availability": "unknown",  # a model on the Hub may be private
            "lm_eval_model": back_end,
            "model_source": run.results.get("model_source"),
            "model_args": arguments or None,
            "dtype": settings.get("model_dtype") or arguments.get("dtype"),
            "num_parameters": settings.get("model_num_parameters"),
            "revision": settings.get("model_revision"),
            "sha": settings.get("model_sha"),
        }
    )
    return info


def _result(run: Run, entry: Mapping[str, Any]) -> dict[str, Any]:
    estimate = run.estimates[entry["metric"]]
    return {
        "evaluation_result_id": _result_id(run, entry["metric"]),
        "evaluation_name": evaluation_name(run),
        "source_data": _source(run),
        "evaluation_timestamp": str(_time(run)),
        "metric_config": _metric(entry, estimate.value),
        "score_details": {
            "score": estimate.value,
            "uncertainty": _uncertainty(run, entry),
            "details": as_texts(
                {
                    "reader": run.reader,
                    "signature": run.signature,
                    "data": run.data.digest,
                    "probe": run.probe.name,
                    "form": run.form,
                    "questions": len(run.table.question_ids),
                    "variants": len(run.table.kind),
                    "answers": run.table.answers,
                    "incomplete_questions": run.table.incomplete,
                    "lm_eval_version": _version(run),
                }
            ),
        },
        "generation_config": _generation(run),
    }


def _metric(entry: Mapping[str, Any], value: float) -> dict[str, Any]:
    """Describe a metric. The id of `mcqa` is `accuracy`, its usual name."""
    name, facts = entry["metric"], facts_of(entry["aggregation"])
    # The schema requires scores within bounds. Rounding and the adjustment for positions may exceed 1.
    lowest, highest = min(facts.bounds[0], value), max(facts.bounds[1], value)
    better = entry.get("higher_is_better")
    optional = {
        "metric_unit": None if highest == inf else "proportion",
        "metric_parameters": parameters_of(entry) | {key: entry[key] for key in ("without",) if key in entry},
        "additional_details": {"direction": "neither high nor low is better"} if better is None else None,
    }
    return {
        "evaluation_description": facts.meaning,
        "metric_id": "accuracy" if name == "mcqa" else f"lm-eval-cora.{name}",
        "metric_name": name,
        "lower_is_better": better is False,
        "score_type": "continuous",
        "min_score": lowest,
        "max_score": "Infinity" if highest == inf else highest,
        **{key: value for key, value in optional.items() if value},
    }


def _uncertainty(run: Run, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The number of questions, which are the unit of the standard error, and the standard error if it is known."""
    estimate = run.estimates[entry["metric"]]
    uncertainty: dict[str, Any] = {"num_samples": len(run.table.question_ids)}
    if not isnan(estimate.stderr):
        bootstrapped, (low, high) = facts_of(entry["aggregation"]).bootstrapped, estimate.interval
        method = "bootstrap" if bootstrapped else "analytic"
        uncertainty["standard_error"] = {"value": estimate.stderr, "method": method}
        uncertainty["confidence_interval"] = {"lower": low, "upper": high, "confidence_level": 0.95}
        if bootstrapped:
            uncertainty["num_bootstrap_samples"] = REPLICATES
    return uncertainty


def _source(run: Run) -> dict[str, Any]:
    data = dataset_of(run)
    source: dict[str, Any] = {"dataset_name": data.name, "source_type": "other"}
    details: dict[str, Any] = {"configs": list(data.configs) or None, "revision": data.revision}
    if len(data.hub) == 1:
        source |= {"source_type": "hf_dataset", "hf_repo": data.hub[0]}
        if data.split:
            source["hf_split"] = data.split
    elif data.hub:  # the schema allows one dataset id but several URLs
        source |= {"source_type": "url", "url": [f"https://huggingface.co/datasets/{path}" for path in data.hub]}
        details["split"] = data.split
    elif data.files:
        details["data_files"] = list(data.files)
    elif data.packaged:
        details["location"] = "questions that come with the package lm-eval-cora"
    if texts := as_texts(details):
        source["additional_details"] = texts
    return source


def _generation(run: Run) -> dict[str, Any]:
    """The settings of generation and prompts."""
    settings, whole = dict(run.config.get("generation_kwargs") or {}), part_of(run.results, "config")
    arguments = {name: settings.pop(name) for name in ("temperature", "top_p", "top_k") if name in settings}
    limit = settings.pop("max_gen_toks", None)
    if type(limit) is int and limit > 0:
        arguments["max_tokens"] = limit
    template, sha = chat_template_of(run.results), run.results.get("chat_template_sha")
    details = {
        **settings,
        "num_fewshot": run.config.get("num_fewshot"),
        "fewshot_as_multiturn": run.results.get("fewshot_as_multiturn"),
        "chat_template": "applied" if sha else template or ("none" if "chat_template_sha" in run.results else None),
        "chat_template_sha": sha,
        "system_instruction": run.results.get("system_instruction"),
        "options": dict(part_of(part_of(run.config, "metadata"), "cora")) or None,
        **{name: whole.get(name) for name in ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")},
    }
    config: dict[str, Any] = {"generation_args": arguments} if arguments else {}
    return {**config, "additional_details": as_texts(details)}


def _result_id(run: Run, metric: str) -> str:
    return f"{evaluation_name(run)}/{metric}"


def _version(run: Run) -> str:
    return str(run.results.get("lm_eval_version") or "unknown")


def _time(run: Run) -> float:
    """Time at which the run began; without a results file, time at which its samples were written."""
    began = begin_of(run)
    return max(path.stat().st_mtime for path in run.files) if began is None else began


def _folder(name: str) -> str:
    """A folder name that every file system accepts."""
    safe = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).rstrip(". ") or "unknown"
    return f"_{safe}" if RESERVED.fullmatch(safe) or safe.lower() == "data" else safe


def _json(value: Mapping[str, Any], indent: int | None = None) -> str:
    """Write strict JSON in ASCII, because some readers also end lines at characters such as U+2028."""
    return json.dumps(value, allow_nan=False, indent=indent)
