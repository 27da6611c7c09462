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

from lm_eval_cora.answers.formats import FORMATS, format_of
from lm_eval_cora.answers.records import Record
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.provenance import as_texts, begin_of, dataset_of, evaluation_name, given, model_id
from lm_eval_cora.metrics.entries import parameters_of
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.runs.collected import Collected
from lm_eval_cora.runs.files import grouped_by, part_of, sent_with
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import prompt_in, response_text
from lm_eval_cora.variants.variant import REPEAT
from lm_eval_cora.writing import RESERVED, replace_file, temporary_file

_SCHEMA = "0.3.0"
_json = partial(json.dumps, allow_nan=False)
"""Strict JSON in ASCII, because some readers also end lines at characters such as U+2028."""

_PLUGIN = "lm-eval-cora"
"""Also the folder of the records. The schema's documentation requires one folder per source of several benchmarks."""

Relationship = Literal["first_party", "third_party", "collaborative", "other"]
"""Relationships between who evaluated a model and who made it."""

_SETTINGS = (
    *("dtype", "quantization", "load_in_4bit", "load_in_8bit", "max_length", "max_model_len", "max_gen_toks"),
    *("enable_thinking", "reasoning_effort", "seed"),
)
"""The arguments of back ends that are exported. Others may contain a password, a folder or an address."""


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
    results = [_result(run, entry) for run in runs for entry in run.entries if entry["metric"] in run.estimates]
    # The schema does not allow nan.
    undefined = [each["evaluation_result_id"] for each in results if isnan(each["score_details"]["score"])]
    notes = {evaluation_name(run): list(run.notes) for run in runs if run.notes}
    settings, library = part_of(newest.results, "config"), newest.results.get("library", "lm_eval")
    arguments = part_of(settings, "model_args")
    about_the_model = {
        "deployment_type": "unknown",  # a server may be anywhere
        "model_availability": "unknown",  # a model on the Hub may be private
        "lm_eval_model": settings.get("model"),
        "model_args": {name: arguments[name] for name in _SETTINGS if name in arguments} or None,
        **{name: settings.get(f"model_{name}") for name in ("dtype", "num_parameters", "revision", "sha")},
    }
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
            "name": "unknown" if newest.collected else library,
            "version": str(newest.results.get(f"{library}_version") or "unknown"),
        },
        "model_info": {"name": model, "id": model, "additional_details": as_texts(about_the_model)},
        "evaluation_results": [each for each in results if each["evaluation_result_id"] not in undefined],
    }


def _result(run: Run, entry: Mapping[str, Any]) -> dict[str, Any]:
    table, name, facts = run.table, entry["metric"], facts_of(entry["aggregation"])
    value, error = estimate = run.estimates[name]
    low, high = estimate.interval
    number = {"num_samples": table.units}  # the units of the standard error, questions or passages
    uncertainty = {
        "standard_error": {"value": error, "method": "bootstrap" if facts.bootstrapped else "analytic"},
        "confidence_interval": {"lower": low, "upper": high, "confidence_level": 0.95},
    }
    details = {
        "reader": run.reader,
        "signature": run.signature,
        "data": run.data.digest,
        "probe": run.probe.name,
        "questions": len(table.question_ids),
        "incomplete_questions": table.incomplete,
    }
    sent = sent_with(run.results, run.name)
    settings = part_of(sent, "generation_kwargs")
    numbers = {key: settings.get(key) for key in ("temperature", "top_p", "top_k")}
    return {
        "evaluation_result_id": _result_id(run, name),
        "evaluation_name": evaluation_name(run),
        "evaluation_timestamp": str(_time(run)),
        "source_data": _source(run),
        "metric_config": _metric(entry, value),
        "score_details": {
            "score": value,
            "uncertainty": number if isnan(error) else number | uncertainty,
            "details": as_texts(details),
        },
        "generation_config": {
            "generation_args": {key: each for key, each in numbers.items() if isinstance(each, int | float)},
            "additional_details": as_texts({**sent, "num_fewshot": run.config.get("num_fewshot")}),
        },
    }


def _metric(entry: Mapping[str, Any], value: float) -> dict[str, Any]:
    name, facts, better = entry["metric"], facts_of(entry["aggregation"]), entry.get("higher_is_better")
    # The schema requires scores within bounds. Rounding and the adjustment for positions may exceed 1.
    lowest, highest = min(facts.bounds[0], value), max(facts.bounds[1], value)
    return given(
        {
            "evaluation_description": facts.meaning,
            "metric_id": "accuracy" if name == "mcqa" else f"lm-eval-cora.{name}",  # its usual name
            "metric_name": name,
            "lower_is_better": better is False,
            "score_type": "continuous",
            "min_score": lowest,
            "max_score": "Infinity" if highest == inf else highest,
            "metric_unit": None if highest == inf else "proportion",
            "metric_parameters": parameters_of(entry) | given({"without": entry.get("without")}) or None,
            "additional_details": {"direction": "neither high nor low is better"} if better is None else None,
        }
    )


def _source(run: Run) -> dict[str, Any]:
    data = dataset_of(run)
    place: dict[str, Any] = {"source_type": "other"}
    details: dict[str, Any] = {"configs": list(data.configs) or None, "revision": data.revision}
    if len(data.hub) == 1:
        place = {"source_type": "hf_dataset", "hf_repo": data.hub[0], "hf_split": data.split or None}
    elif data.hub:  # the schema allows one dataset id but several URLs
        place = {"source_type": "url", "url": [f"https://huggingface.co/datasets/{path}" for path in data.hub]}
        details["split"] = data.split
    else:
        details["data_files"] = list(data.files) or None
        details["location"] = f"questions that come with the package {_PLUGIN}" if data.packaged else None
    return given({"dataset_name": data.name, **place, "additional_details": as_texts(details) or None})


def _result_id(run: Run, metric: str) -> str:
    return f"{evaluation_name(run)}/{metric}"


def _time(run: Run) -> float:
    """Time at which the run began; without a results file, time at which its samples were written."""
    return max(path.stat().st_mtime for path in run.files) if (began := begin_of(run)) is None else began


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
        variant, asked, output, picked, method, metadata = (
            _answer(run.collected, record, line) if run.collected else _sample(run, record, line)
        )
        attribution = {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": picked,
            "extraction_method": method,
            "is_terminal": True,
        }
        about = {
            "question_id": record.question_id,
            "variants": record.variants,
            "category": record.category,
            "invalid": record.reason and str(record.reason),
        }
        yield given(
            {
                "evaluation_name": name,
                "evaluation_result_id": whole if record.question_id in complete and whole in results else None,
                "sample_id": f"{name}/{record.question_id}/{variant}",
                "interaction_type": "single_turn",
                "input": asked,
                "output": {"raw": output},
                "answer_attribution": [] if picked is None else [attribution],
                "evaluation": {"score": float(record.correct), "is_correct": record.correct},
                "metadata": as_texts(about | metadata),
            }
        )


def _answer(answers: Collected, record: Record, line: Mapping[str, Any]) -> tuple[Any, ...]:
    """The parts of a row of a file of answers. It has no texts of questions, so ids replace them."""
    columns = ("variant", "picked", "answer", "printed", "response")
    variant, picked, answer, printed, response = (line[name] for name in columns)
    known = {name: getattr(record, name) for name in ("kind", "original") if name in answers.known}
    reference = [] if answer is None else [answer]
    asked = {"raw": record.question_id, "reference": reference, "choices": list(printed or ()) or None}
    output = picked if response is None else response
    method = ", ".join(answers.readers) or "unknown"
    return variant, asked, [] if output is None else [output], picked, method, {"variant": variant, **known}


def _sample(run: Run, record: Record, line: Mapping[str, Any]) -> tuple[Any, ...]:
    """The parts of a row of a samples file."""
    doc, is_scored = line["doc"], run.form == "loglikelihood"
    choices = list(map(str, doc["choices"]))
    # The question and its options, without the rest of the prompt, which depends on the template and the model.
    options = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    asked = {
        "raw": "\n".join([str(doc["question"]), *options]),
        "formatted": prompt_in(line),
        "reference": format_of(doc).reference(doc),
        "choices": choices or None,
    }
    metadata = {
        "ordinal": record.ordinal,
        "kind": record.kind,
        "original": record.original,
        "printed_identities": record.printed,
        "answer_identity": None if FORMATS[record.ask].is_open else record.answer,
        "picked_identity": record.picked,
        "selected_identities": record.selected,
    }
    received = line.get("resps") or [line["filtered_resps"]]  # a list of repetitions per request
    output = [response_text(line)] if is_scored else list(map(str, chain(*received)))
    method = f"lm_eval_cora: {'most likely' if is_scored else record.ask}"
    return record.ordinal, asked, output, record.said(letters=True) or None, method, metadata
