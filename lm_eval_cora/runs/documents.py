"""Read runs of other tasks of the harness: one value per document and metric, to compare models in pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, isclose, isfinite, nan
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lm_eval_cora.metrics.estimate import Estimate, mean_of
from lm_eval_cora.metrics.responses import Floats
from lm_eval_cora.questions.messages import counted, first_few
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.comparable import apart
from lm_eval_cora.runs.document_lines import ADDRESS, Documents, Hashes, number, read_lines
from lm_eval_cora.runs.files import SamplesFile, find_files, part_of, sent_with

_ASKED = (
    *("output_type", "doc_to_text", "doc_to_target", "doc_to_choice", "description", "target_delimiter"),
    *("fewshot_delimiter", "gen_prefix", "filter_list", "process_results", "repeats"),
)
"""Keys of a task's configuration that change what a document asks or how its answer is scored."""


@dataclass(frozen=True, eq=False)
class DocumentRun:
    """The values of one model on the documents of one task, as one filter of the harness scored them.

    Attributes:
        model: Name of the model.
        name: Name of the task.
        filter: Name of the filter.
        part: Name of the filter if the task has several filters; else empty.
        files: The samples file that was read.
        ids: The documents by their number in the data set (doc_id), sorted.
        estimates: The mean of each metric over the documents, in the order of `ids`. A document without a value does
            not count for that metric.
        hashes: The hashes of each document.
        settings: What the task asked and how it scored the answers; None without a results file.
        sent: Settings for sending prompts, which may differ between models; None without a results file.
        seed: Seed of the exemplars; None if there are none.
        limit: `--limit` of the run; None without one.
        notes: Messages about files, lines and metrics that were left out.
    """

    model: str
    name: str
    filter: str
    part: str
    files: tuple[Path, ...]
    ids: tuple[int, ...]
    estimates: dict[str, Estimate]
    hashes: Mapping[int, Hashes] = field(repr=False)
    settings: Mapping[str, Any] | None = field(repr=False)
    sent: Mapping[str, Any] | None = field(repr=False)
    seed: Any
    limit: Any
    notes: tuple[str, ...] = ()

    @property
    def task(self) -> str:
        """Name of the task in reports, with its filter if there are several."""
        return f"{self.name} ({self.part})" if self.part else self.name

    @property
    def questions(self) -> int:
        """Number of documents."""
        return len(self.ids)


def read_documents(path: Path) -> list[DocumentRun]:
    """Read the runs of tasks that are not from lm-eval-cora.

    A metric is included if it is a mean over documents: each document has a number, and the results file has the mean
    of these numbers. Metrics with other values (lists, texts, nan) and other aggregations (perplexity, F1 of all
    documents) are left out, and a note names them. If the path has several runs of a task by one model, the newest one
    with answers counts.
    """
    by_task: dict[tuple[str, str], list[SamplesFile]] = {}
    for file in find_files(path):
        by_task.setdefault((file.model, file.task), []).append(file)
    runs: list[DocumentRun] = []
    lost: list[str] = []
    for _, files in sorted(by_task.items()):
        found, notes = _newest(sorted(files, key=lambda file: file.date, reverse=True))
        runs += found
        lost += [] if found else notes
    if runs and lost:  # notes of tasks without a run are shown with the first run
        runs[0] = replace(runs[0], notes=(*runs[0].notes, *lost))
    return runs


def documents_differ(one: DocumentRun, other: DocumentRun) -> str:
    """Reason why two runs cannot be compared document by document; empty if they can.

    The task, its version, its number of exemplars, its prompts and scoring, and all documents must be the same. Chat
    templates, system instructions and generation settings may differ; see `comparable.sent_apart`.
    """
    if (one.name, one.filter) != (other.name, other.filter):
        return f"the first is {_full_name(one)}, the second is {_full_name(other)}"
    if one.settings is not None and other.settings is not None:
        names = [name for name in one.settings if one.settings[name] != other.settings[name]]
        if names:
            told = [apart(name, one.settings[name], other.settings[name]) for name in names]
            return f"their settings differ: {'; '.join(told)}"
    if one.ids != other.ids:
        return _only_in_one(one, other)
    if unlike := _unlike(one, other, "doc"):
        return (
            f"{_of_all(unlike, one)} documents differ ({first_few(unlike)}). Run both on the same version of the "
            "task and its data"
        )
    if unlike := _unlike(one, other, "target"):
        return f"the targets of {_of_all(unlike, one)} documents differ ({first_few(unlike)})"
    return _prompts_differ(one, other)


def _full_name(run: DocumentRun) -> str:
    return f"{run.name} with the filter {run.filter!r}"


def _only_in_one(one: DocumentRun, other: DocumentRun) -> str:
    told = []
    for which, own, others in (("first", one, other), ("second", other, one)):
        if ids := sorted(set(own.ids) - set(others.ids)):
            told.append(f"{_of_all(ids, own)} documents are only in the {which} ({first_few(ids)})")
    limited = f" --limit is {one.limit} in the first, {other.limit} in the second." if one.limit != other.limit else ""
    return f"{'; '.join(told)}.{limited} Run both on the same documents"


def _prompts_differ(one: DocumentRun, other: DocumentRun) -> str:
    """Reason why different prompts do not come from the settings that may differ; empty if they may."""
    unlike = _unlike(one, other, "prompt")
    if not unlike:
        return ""
    told = f"{_of_all(unlike, one)} prompts differ ({first_few(unlike)})"
    if one.sent is None or other.sent is None:
        return (
            f"{told}. Only the results files of both runs can show why. Put each results_<date>.json beside its samples"
        )
    if one.seed != other.seed:
        return (
            f"{told}: fewshot_seed, which draws the exemplars, is {one.seed} in the first, {other.seed} in the second"
        )
    # Some chat templates contain the date, and options of the model can change what a template writes.
    if one.sent["chat_template_sha"] or other.sent["chat_template_sha"]:
        return ""
    if one.sent["system_instruction"] != other.sent["system_instruction"]:
        return ""
    return f"{told}, although the settings are the same"


def _unlike(one: DocumentRun, other: DocumentRun, part: Literal["doc", "target", "prompt"]) -> list[int]:
    """The documents of two runs with the same ids whose hash differs."""
    return [key for key in one.ids if getattr(one.hashes[key], part) != getattr(other.hashes[key], part)]


def _of_all(some: Sequence[int], run: DocumentRun) -> str:
    return f"{len(some):,} of {len(run.ids):,}"


def _newest(files: Sequence[SamplesFile]) -> tuple[list[DocumentRun], list[str]]:
    """Read the newest file of a task and model that has answers."""
    notes: list[str] = []
    for place, file in enumerate(files):
        found, broken = read_lines(file.path)
        defects = ", ".join(f"{count:,} {defect}" for defect, count in broken.most_common())
        if not found:
            notes += [f"left out {file.path}: it has no answers ({defects})"] if broken else []
            continue
        notes += [f"left out {older.path}, older than {file.path}" for older in files[place + 1 :]]
        notes += [f"left out {counted(broken.total(), 'line')}: {defects}"] if broken else []
        return [_run(file, name, part, notes, alone=len(found) == 1) for name, part in found.items()], notes
    return [], notes


def _run(file: SamplesFile, name: str, part: Documents, notes: Sequence[str], *, alone: bool) -> DocumentRun:
    ids = tuple(sorted(part.hashes))
    estimates, told = _estimates(file, name, part, ids)
    if part.repeated:
        told.append(f"left out {counted(part.repeated, 'repeated line')} of a document")
    config = part_of(file.results, "config")
    settings = _settings(file) if file.results else None
    return DocumentRun(
        model=file.model,
        name=file.task,
        filter=name,
        part="" if alone else name,
        files=(file.path,),
        ids=ids,
        estimates=estimates,
        hashes=part.hashes,
        settings=settings,
        sent=sent_with(file.results, file.task) if file.results else None,
        seed=config.get("fewshot_seed") if settings and settings["num_fewshot"] else None,
        limit=config.get("limit"),
        notes=(*notes, *told),
    )


def _settings(file: SamplesFile) -> dict[str, Any]:
    shots = part_of(file.results, "n-shot").get(file.task)
    asked = {name: file.config.get(name) for name in _ASKED}
    return {
        "version": part_of(file.results, "versions").get(file.task),
        "num_fewshot": file.config.get("num_fewshot") if shots is None else shots,
        # An empty text means the same as a missing one.
        **{name: ADDRESS.sub("", value) or None if isinstance(value, str) else value for name, value in asked.items()},
    }


def _estimates(
    file: SamplesFile, name: str, part: Documents, ids: Sequence[int]
) -> tuple[dict[str, Estimate], list[str]]:
    """The metrics that are means over documents, and notes about the others."""
    printed = part_of(part_of(file.results, "results"), file.task)
    expected = _evaluated(file, len(ids))
    estimates: dict[str, Estimate] = {}
    left_out, unchecked, notes = dict(part.unusable), [], []
    for metric in sorted(part.values.keys() - part.unusable.keys()):
        found = part.values[metric]
        estimate = estimate_of(np.array([found.get(key, nan) for key in ids]))
        value = printed.get(f"{metric},{name}")
        if not isfinite(estimate.value):
            left_out[metric] = "its values are too large"
        elif file.results and expected == len(ids) and value is not None and not _is_close(value, estimate.value):
            mean = f"{estimate.value:.6g}"
            left_out[metric] = f"the results file has {shorten(str(value), 20)}, the mean over documents is {mean}"
        else:
            estimates[metric] = estimate
            unchecked += [metric] if value is None else []
            if len(found) < len(ids):
                notes.append(f"{shorten(metric, 40)}: only {len(found):,} of {len(ids):,} documents have a value")
    if left_out:
        reasons = [f"{shorten(metric, 40)} ({reason})" for metric, reason in sorted(left_out.items())]
        notes.append(f"left out metrics that are not a mean over documents: {first_few(reasons)}")
    if not file.results:
        notes.append(f"{file.unchecked}, so it is not known whether each metric is a mean over documents")
    elif expected != len(ids):
        told = f"the results file has {expected:,} documents, the samples have {len(ids):,}"
        notes.append(f"{told}, so the means are not checked against it")
    elif unchecked:
        named = first_few(shorten(metric, 40) for metric in unchecked)
        notes.append(f"not checked, because the results file does not have them: {named}")
    return estimates, notes


def _evaluated(file: SamplesFile, found: int) -> int:
    """Number of documents according to the results file; the number of documents found if it does not say."""
    counts = part_of(part_of(file.results, "n-samples"), file.task)
    original, effective = (number(counts.get(name)) for name in ("original", "effective"))
    if effective is None or not isfinite(effective):
        return found
    if effective >= found or original is None or not isfinite(original):
        return int(effective)
    # lm-eval 0.4.12 counts the values of the last metric, which only some documents may have.
    limit = number(part_of(file.results, "config").get("limit"))
    if limit is None or not limit > 0:
        return int(original)
    return int(min(original, ceil(original * limit) if limit < 1 else limit))


def estimate_of(values: Floats) -> Estimate:
    """Mean of one value per document.

    Values that are all 0 or 1 are a share, with McNemar's test and Tango's interval of a difference. Values from 0 to 1
    are a mean of a bounded metric. The limits of other values (BLEU, log-likelihoods) are unknown, so the lowest and
    the highest value found take their place; without them, if all values are the same, the error is unknown.
    """
    members = ~np.isnan(values)
    inside = values[members]
    low, high = float(inside.min()), float(inside.max())
    if low >= 0 and high <= 1:
        return mean_of(values, members)
    if low == high:
        return Estimate(low, nan)
    with np.errstate(over="ignore", invalid="ignore"):
        return mean_of(values, members, between=(low, high))


def _is_close(printed: Any, found: float) -> bool:
    value = number(printed)
    return value is not None and isclose(value, found, rel_tol=1e-6, abs_tol=1e-9)
