"""Export runs as records of Every Eval Ever, schema 0.3: one file per model, and one with a row per variant."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from math import inf, isnan
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from lm_eval_cora import __version__
from lm_eval_cora.answers.formats import FORMATS, format_of
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.provenance import as_texts, begin_of, dataset_of, evaluation_name, model_args, model_id
from lm_eval_cora.metrics.entries import parameters_of
from lm_eval_cora.metrics.estimate import REPLICATES
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.report.writing import RESERVED, replace_file, temporary_file
from lm_eval_cora.runs.collected import Collected
from lm_eval_cora.runs.files import chat_template_of, grouped_by, part_of
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import arguments_in
from lm_eval_cora.variants.variant import REPEAT

_SCHEMA = "0.3.0"
_json = partial(json.dumps, allow_nan=False)
"""Strict JSON in ASCII, because some readers also end lines at characters such as U+2028."""

_PLUGIN = "lm-eval-cora"
"""Also the folder of the records. The schema's documentation requires one folder per source of several benchmarks."""

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
    model, results = record["model_info"]["id"], {each["evaluation_result_id"] for each in record["evaluation_results"]}
    parts = ["data", _PLUGIN, *map(_folder, model.split("/", 1) if "/" in model else ("", model))]
    same = {"schema_version": _SCHEMA, "evaluation_id": record["evaluation_id"], "model_id": model}
    place = folder.joinpath(*parts)
    place.mkdir(parents=True, exist_ok=True)
    count, digest = 0, sha256()
    # The name of the file depends on its contents, so the file gets a temporary name first.
    with temporary_file(place) as (unnamed, file):
        for row in chain.from_iterable(rows(run, results) for run in runs):
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
        unnamed.replace(written[1])
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
        "evaluation_id": f"{_PLUGIN}/{model}/{time}",
        "evaluation_timestamp": time,
        # The date of the run, not of the export, so that the same export gives the same record.
        "retrieved_timestamp": time,
        "source_metadata": {
            "source_name": _PLUGIN,
            "source_type": "evaluation_run",
            **submitter,
            "additional_details": as_texts({"undefined_results": undefined or None, "notes": notes or None}),
        },
        "eval_library": {
            "name": "unknown" if newest.collected else "lm_eval",
            "version": _version(newest),
            "additional_details": as_texts(
                {"plugin": _PLUGIN, "plugin_version": __version__, "git_hash": newest.results.get("git_hash")}
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
    hosted = back_end in _PLATFORMS and "base_url" not in str(settings.get("model_args"))
    managed = "externally_managed" if hosted else "self_deployed" if engine in _IN_PROCESS else "unknown"
    version = run.results.get("transformers_version") if engine == "transformers" else None
    details = {
        "deployment_type": managed,
        "model_availability": "unknown",  # a model on the Hub may be private
        "lm_eval_model": back_end,
        "model_source": run.results.get("model_source"),
        "model_args": arguments or None,
        "dtype": settings.get("model_dtype") or arguments.get("dtype"),
        **{name: settings.get(f"model_{name}") for name in ("num_parameters", "revision", "sha")},
    }
    return _given(
        {
            "name": model,
            "id": model,
            "developer": model.partition("/")[0] if "/" in model else None,
            "inference_platform": _PLATFORMS[back_end] if hosted else None,
            "inference_engine": as_texts({"name": engine, "version": version}) if engine and not hosted else None,
            "additional_details": as_texts(details),
        }
    )


def _result(run: Run, entry: Mapping[str, Any]) -> dict[str, Any]:
    table, value = run.table, run.estimates[entry["metric"]].value
    details = {
        "reader": run.reader,
        "signature": run.signature,
        "data": run.data.digest,
        "probe": run.probe.name,
        "form": run.form,
        "questions": len(table.question_ids),
        "variants": len(table.kind),
        "answers": table.answers,
        "incomplete_questions": table.incomplete,
        "lm_eval_version": _version(run),
    }
    return {
        "evaluation_result_id": _result_id(run, entry["metric"]),
        "evaluation_name": evaluation_name(run),
        "source_data": _source(run),
        "evaluation_timestamp": str(_time(run)),
        "metric_config": _metric(entry, value),
        "score_details": {"score": value, "uncertainty": _uncertainty(run, entry), "details": as_texts(details)},
        "generation_config": _generation(run),
    }


def _metric(entry: Mapping[str, Any], value: float) -> dict[str, Any]:
    name, facts = entry["metric"], facts_of(entry["aggregation"])
    # The schema requires scores within bounds. Rounding and the adjustment for positions may exceed 1.
    lowest, highest = min(facts.bounds[0], value), max(facts.bounds[1], value)
    better = entry.get("higher_is_better")
    parameters = parameters_of(entry) | {key: entry[key] for key in entry.keys() & {"without"}}
    return _given(
        {
            "evaluation_description": facts.meaning,
            "metric_id": "accuracy" if name == "mcqa" else f"lm-eval-cora.{name}",  # its usual name
            "metric_name": name,
            "lower_is_better": better is False,
            "score_type": "continuous",
            "min_score": lowest,
            "max_score": "Infinity" if highest == inf else highest,
            "metric_unit": None if highest == inf else "proportion",
            "metric_parameters": parameters or None,
            "additional_details": {"direction": "neither high nor low is better"} if better is None else None,
        }
    )


def _uncertainty(run: Run, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The number of units of the standard error, questions or passages, and the standard error if it is known."""
    estimate = run.estimates[entry["metric"]]
    number = {"num_samples": run.table.units}
    if isnan(estimate.stderr):
        return number
    bootstrapped, (low, high) = facts_of(entry["aggregation"]).bootstrapped, estimate.interval
    return {
        **number,
        "standard_error": {"value": estimate.stderr, "method": "bootstrap" if bootstrapped else "analytic"},
        "confidence_interval": {"lower": low, "upper": high, "confidence_level": 0.95},
        **({"num_bootstrap_samples": REPLICATES} if bootstrapped else {}),
    }


def _source(run: Run) -> dict[str, Any]:
    data = dataset_of(run)
    place: dict[str, Any] = {"source_type": "other"}
    details: dict[str, Any] = {"configs": list(data.configs) or None, "revision": data.revision}
    if len(data.hub) == 1:
        place = {"source_type": "hf_dataset", "hf_repo": data.hub[0], "hf_split": data.split or None}
    elif data.hub:  # the schema allows one dataset id but several URLs
        place = {"source_type": "url", "url": [f"https://huggingface.co/datasets/{path}" for path in data.hub]}
        details["split"] = data.split
    elif data.files:
        details["data_files"] = list(data.files)
    elif data.packaged:
        details["location"] = f"questions that come with the package {_PLUGIN}"
    return _given({"dataset_name": data.name, **place, "additional_details": as_texts(details) or None})


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
        **{name: run.results.get(name) for name in ("chat_template_sha", "system_instruction")},
        "options": dict(part_of(part_of(run.config, "metadata"), "cora")) or None,
        **{name: whole.get(name) for name in ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")},
    }
    return {**({"generation_args": arguments} if arguments else {}), "additional_details": as_texts(details)}


def _given(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that are not None."""
    return {key: value for key, value in parts.items() if value is not None}


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


# ---- rows
def rows(run: Run, results: Collection[str]) -> Iterator[dict[str, Any]]:
    """Make the rows in the order of the files, linked to the result that the rows of complete questions make up."""
    name, complete = evaluation_name(run), set(run.table.question_ids)
    whole = _result_id(run, "acc")  # the metric that equals the mean of the rows' scores
    for record, line in run.source.lines():
        if record.skipped or record.kind == REPEAT:
            continue
        is_complete = record.question_id in complete
        parts = _answer(run.collected, record, line) if run.collected else _sample(run, record, line, is_complete)
        variant, asked, output, picked, method, metadata = parts
        attribution = {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": picked,
            "extraction_method": method,
            "is_terminal": True,
        }
        yield _given(
            {
                "evaluation_name": name,
                "evaluation_result_id": whole if is_complete and whole in results else None,
                "sample_id": f"{name}/{record.question_id}/{variant}",
                "sample_hash": None if run.collected else _hash(asked),
                "interaction_type": "single_turn",
                "input": asked,
                "output": {"raw": output},
                "answer_attribution": [] if picked is None else [attribution],
                "evaluation": {"score": float(record.correct), "is_correct": record.correct},
                "metadata": as_texts({"task": run.name, **metadata}),
            }
        )


def _answer(answers: Collected, record: Record, line: Mapping[str, Any]) -> tuple[Any, ...]:
    """The parts of a row of a file of answers. It has no texts of questions, so ids replace them."""
    columns = ("variant", "picked", "answer", "printed", "response")
    variant, picked, answer, printed, response = (line[name] for name in columns)
    metadata = {
        "raw_input": "the id of the question",
        "question_id": record.question_id,
        "variant": variant,
        "variants": record.variants,
        "kind": record.kind if "kind" in answers.known else None,
        "category": record.category,
        "original": record.original if "original" in answers.known else None,
        "invalid": None if response is None or record.reason is None else str(record.reason),
    }
    reference = [] if answer is None else [answer]
    asked = {"raw": record.question_id, "reference": reference, "choices": list(printed or ()) or None}
    output = picked if response is None else response
    return variant, asked, [] if output is None else [output], picked, ", ".join(answers.readers) or "unknown", metadata


def _sample(run: Run, record: Record, line: Mapping[str, Any], is_complete: bool) -> tuple[Any, ...]:
    """The parts of a row of a samples file."""
    doc, answer_format = line["doc"], format_of(line["doc"])
    choices, prompt = list(map(str, doc["choices"])), _text(arguments_in(line)[0][0])
    # The question and its options, without the rest of the prompt, which depends on the template and the model.
    options = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    raw, reference = "\n".join([str(doc["question"]), *options]), answer_format.reference(doc)
    asked = {"raw": raw, "formatted": prompt, "reference": reference, "choices": choices or None}
    metadata = {
        "filter": run.filter,
        "question_id": record.question_id,
        "ordinal": record.ordinal,
        "kind": record.kind,
        "variants": record.variants,
        "category": record.category,
        "ask": record.ask,
        "original": record.original,
        "template": doc.get("template"),
        "printed_identities": list(record.printed),
        "answer_identity": None if FORMATS[record.ask].is_open else record.answer,
        "picked_identity": record.picked,
        "selected_identities": None if record.selected is None else list(record.selected),
        "invalid": None if record.reason is None else str(record.reason),
        "followed": record.followed,
        "tied": record.tied or None,
        "question_is_complete": is_complete,
        **{name: line.get(name) for name in ("doc_hash", "prompt_hash", "target_hash")},
    }
    method = f"lm_eval_cora: {'most likely' if run.form == 'loglikelihood' else record.ask}"
    return record.ordinal, asked, _output(run, line), record.said(letters=True) or None, method, metadata


def _hash(asked: Mapping[str, Any]) -> str:
    """The hash of a question, defined in the schema's documentation, which is equal in the rows of all models."""
    hashed = {"raw": asked["raw"], "reference": list(asked["reference"])}
    return sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _output(run: Run, line: Mapping[str, Any]) -> list[str]:
    """The responses; for scored answers, each answer with its log-likelihood."""
    repeated = line.get("resps") or line["filtered_resps"]  # `resps` has a list of repetitions per request
    responses = [response for several in repeated for response in (several if isinstance(several, list) else [several])]
    if run.form != "loglikelihood":
        return [_text(response) for response in responses]
    answers = [_text(arguments[1]).strip() for arguments in arguments_in(line)]
    scored = [response[0] if isinstance(response, list) and response else response for response in responses]
    return [f"{answer}: {likelihood}" for answer, likelihood in zip(answers, scored, strict=False)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
