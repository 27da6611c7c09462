"""Tasks of the harness that are not ours: the values of each document, and answers to multiple-choice questions.

`newest_documents` reads one value per document and metric, to compare models in pairs. `read_other_task` reads the
answers to a multiple-choice task again; the options are found as `cora_of` finds them.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import ceil, inf, isclose, isfinite, isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import OPENING_MARK
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.estimate import Estimate, mean_of
from lm_eval_cora.metrics.responses import Floats
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.cells import parse_cell
from lm_eval_cora.questions.messages import counted, first_few
from lm_eval_cora.questions.question import LETTERS, shorten
from lm_eval_cora.runs.files import (
    SamplesFile,
    lines_of_samples,
    listed,
    part_of,
)
from lm_eval_cora.runs.model_run import ADDRESS, NO_PROBE, Documents, Run
from lm_eval_cora.runs.program_rows import Columns, Logged, logged, options_of
from lm_eval_cora.runs.rendered import Rendered, passage_in, rendered, settle
from lm_eval_cora.runs.samples import arguments_in, is_ours, number_in, of_file, parsed_line, prompt_in

_NO_METRIC = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
    "bypass",  # the placeholder of --predict_only
}
"""Keys of a line that are not metrics."""

_HASH = 16
_OURS = "from an lm-eval-cora task"
_NO_PROBE = replace(NO_PROBE, ranked_by=())


def newest_documents(files: Sequence[SamplesFile]) -> tuple[list[Run], list[str]]:
    """Read the newest file that has answers to a task that is not ours: a run for each filter; and notes."""
    notes: list[str] = []
    for place, file in enumerate(files):
        found, broken = _read(file.path)
        if not found:
            notes += [f"left out {file.path}: it has no answers ({listed(broken)})"] if broken else []
            continue
        notes += [f"left out {older.path}, older than {file.path}" for older in files[place + 1 :]]
        notes += [f"left out {counted(broken.total(), 'line')}: {listed(broken)}"] if broken else []
        return [lines.run(file, name, notes, alone=len(found) == 1) for name, lines in found.items()], notes
    return [], notes


def _read(path: Path) -> tuple[dict[str, _Lines], Counter[str]]:
    """Read a samples file: its lines by filter, and the number of lines that were left out by reason."""
    found: dict[str, _Lines] = {}
    broken: Counter[str] = Counter()
    for line, sample in samples_in(path):
        defect = "not JSON" if sample is None else _take(line, sample, found)
        if defect == _OURS and not found:
            return {}, Counter()
        broken.update([defect] if defect else [])
    return found, broken


def samples_in(path: Path) -> Iterator[tuple[bytes, Any]]:
    """Yield the lines of a samples file, each with its value; None if it is not JSON."""
    try:
        with lines_of_samples(path).open("rb") as file, of_file(path) as progress:
            for line in filter(bytes.strip, file):
                sample = None
                with suppress(ValueError, RecursionError):
                    sample = parsed_line(line)
                yield line, sample
                progress.update(len(line))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def lines_of(run: Run) -> dict[Any, Mapping[str, Any]]:
    """The first line of each document of a run, from its files."""
    found: dict[Any, Mapping[str, Any]] = {}
    for path in run.files:
        for _, sample in samples_in(path):
            key = number_of(sample)
            if key is not None and sample.get("filter", "none") == run.filter:
                found.setdefault(key, sample)
    return found


def number_of(sample: Any) -> int | None:
    """The number of the document of a complete line; None for another line."""
    key = sample.get("doc_id") if isinstance(sample, dict) else None
    is_complete = type(key) is int and "doc" in sample and isinstance(sample.get("filter", "none"), str)
    return key if is_complete else None


def _take(line: bytes, sample: Any, found: dict[str, _Lines]) -> str:
    """Add a line to `found`; return the reason if it cannot be used, else an empty text."""
    if is_ours(sample):
        return _OURS
    if (key := number_of(sample)) is None:
        return "incomplete or altered"
    target, prompt = (str(sample.get(f"{part}_hash"))[:_HASH] for part in ("target", "prompt"))
    lines = found.setdefault(sample.get("filter", "none"), _Lines())
    if key in lines.hashes:  # the first of several lines of a document counts
        lines.repeated += 1
        return ""
    lines.hashes[key] = (_doc_hash(sample, line), target, prompt)
    names = sample.get("metrics", sample)  # older versions of the harness do not list the metrics
    for name in names if isinstance(names, list | dict) else ():
        if isinstance(name, str) and name in sample and name not in _NO_METRIC:
            if not isinstance(value := sample[name], bool | int | float):
                lines.unusable[name] = f"values of the type {type(value).__name__}"
            elif not isfinite(value):
                lines.unusable.setdefault(name, "nan or infinite for some documents")
            else:
                lines.values.setdefault(name, {})[key] = float(value)
    return ""


def _doc_hash(sample: Mapping[str, Any], line: bytes) -> str:
    """The harness' hash of a document; without addresses, if the document contains objects with addresses."""
    known = sample.get("doc_hash")
    if known is None or b" at 0x" in line:
        text = json.dumps(sample["doc"], sort_keys=True)
        if known is None or ADDRESS.search(text):
            known = sha256(ADDRESS.sub("", text).encode()).hexdigest()
    return str(known)[:_HASH]


@dataclass
class _Lines:
    """The lines of one filter of a samples file: hashes and values by document."""

    hashes: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    values: dict[str, dict[int, float]] = field(default_factory=dict)  # of each metric
    unusable: dict[str, str] = field(default_factory=dict)  # why a metric has no mean over the documents
    repeated: int = 0  # further lines of a document, which are left out

    def run(self, file: SamplesFile, name: str, notes: Sequence[str], *, alone: bool) -> Run:
        """Make the run of a filter."""
        hashes = dict(sorted(self.hashes.items()))
        estimates, more = self._estimates(file, name, [*hashes])
        if self.repeated:
            more.append(f"left out {counted(self.repeated, 'repeated line')} of a document")
        return Run(
            model=file.model,
            name=file.task,
            files=(file.path,),
            data=Data(),
            probe=_NO_PROBE,
            scores=Documents(estimates, len(hashes), hashes=hashes),
            filter=name,
            part="" if alone else name,
            results=file.results,
            notes=(*notes, *more),
            date=file.date,
        )

    def _estimates(self, file: SamplesFile, name: str, ids: Sequence[int]) -> tuple[dict[str, Estimate], list[str]]:
        """The metrics that are means over documents, and notes about the others."""
        printed = part_of(part_of(file.results, "results"), file.task)
        expected = evaluated(file, len(ids))
        is_checked = file.results and expected == len(ids)
        estimates: dict[str, Estimate] = {}
        left_out, unchecked, notes = dict(self.unusable), [], []
        for metric in sorted(self.values.keys() - self.unusable.keys()):
            found = self.values[metric]
            estimate = estimate_of(np.array([found.get(key, nan) for key in ids]))
            value = printed.get(f"{metric},{name}")
            if not isfinite(estimate.value):
                left_out[metric] = "its values are too large"
            elif is_checked and value is not None and not _is_close(value, estimate.value):
                left_out[metric] = (
                    f"the results file has {shorten(str(value), 20)}, the mean over documents is {estimate.value:.6g}"
                )
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
            notes.append(
                f"the results file has {expected:,} documents, the samples have {len(ids):,}, so the means are "
                "not checked against it"
            )
        elif unchecked:
            named = first_few(shorten(metric, 40) for metric in unchecked)
            notes.append(f"not checked, because the results file does not have them: {named}")
        return estimates, notes


def evaluated(file: SamplesFile, found: int) -> int:
    """Number of documents according to the results file; the number of documents found if it does not say."""
    counts = part_of(part_of(file.results, "n-samples"), file.task)
    original, effective = counts.get("original"), counts.get("effective")
    if not isinstance(effective, int) or not isinstance(original, int):
        return found
    if effective >= found:
        return effective
    # lm-eval 0.4.12 counts the values of the last metric, which only some documents may have.
    limit = part_of(file.results, "config").get("limit") or original
    return int(min(original, ceil(original * limit) if limit < 1 else limit))


def estimate_of(values: Floats) -> Estimate:
    """Mean of one value per document; values that are all 0 or 1 are a share."""
    members = ~np.isnan(values)
    low, high = float(values[members].min()), float(values[members].max())
    if low >= 0 and high <= 1:
        return mean_of(values, members)
    if low == high:
        return Estimate(low, nan)  # without limits, the error of equal values is unknown
    # The limits of other metrics (BLEU, log-likelihoods) are unknown: the lowest and highest value take their place.
    with np.errstate(over="ignore", invalid="ignore"):
        return mean_of(values, members, between=(low, high))


def _is_close(printed: Any, found: float) -> bool:
    return isinstance(printed, int | float) and isclose(printed, found, rel_tol=1e-6, abs_tol=1e-9)


# ---- answers to multiple-choice questions
_OWN = ("exact_match", "acc")  # the metrics of a document that say whether its answer is right
# What a chat template puts around the turns, and before a first word of the model.
_AROUND_TURNS = re.compile(r"<[|｜][^<>|｜]{1,40}[|｜]>|</?(?:s|start_of_turn|end_of_turn)>|\[/?INST\]")


class _Document(NamedTuple):
    """A document of a task, and what the model said: responses, or the likelihood of each option."""

    question: Rendered
    cluster: str = ""
    prompt: str = ""
    said: Sequence[Any] = (None,)
    is_scored: bool = False


def read_other_task(file: SamplesFile) -> list[Logged]:
    """Read the answers to a task; nothing if the file has none. Raise a UserError if the options cannot be found."""
    documents: dict[int, _Document] = {}
    own: dict[str, dict[int, float]] = defaultdict(dict)
    for _, sample in samples_in(file.path):
        key = number_of(sample)
        if key is None or is_ours(sample):
            continue
        named = sample.get("metrics")
        for name in (*_OWN, *(named if isinstance(named, list) else ())):
            value = sample.get(name) if isinstance(name, str) else None
            if isinstance(value, bool | int | float) and 0 <= value <= 1:
                own[f"{name},{sample.get('filter', 'none')}"].setdefault(key, float(value))
                break
        if key not in documents:
            documents[key] = _document(sample)
    if not documents:
        return []
    settle([one.question for one in documents.values()], file.task)
    lost = evaluated(file, len(documents)) - len(documents)
    notes = [f"{lost:,} documents of the run are missing, because the samples are cut off"] if lost > 0 else []
    means = {name: fmean(scores.values()) for name, scores in own.items()}
    best = max(means, key=means.__getitem__, default="")
    printed = part_of(part_of(file.results, "results"), file.task)
    for name, mean in means.items():
        if name != best:
            notes.append(f"{_spoken(name)} says {mean:.4g}")
        value = printed.get(name)
        if isinstance(value, int | float) and not isclose(value, mean, rel_tol=1e-9, abs_tol=1e-12):
            notes.append(f"the results file has {value:.6g} for {_spoken(name)}, the samples have {mean:.6g}")
    answers = [(key, one, said) for key, one in documents.items() for said in one.said]
    found = Logged(file.model, file.task, [], notes, own=_spoken(best))
    return logged(file.path, found, answers, lambda answer: {**_row(*answer), "own": own[best].get(answer[0])})


def _spoken(name: str) -> str:
    """The name of a metric and its filter in a sentence."""
    metric, _, chosen = name.partition(",")
    return metric if chosen == "none" else f"{metric} of the filter {chosen!r}"


def _document(sample: Mapping[str, Any]) -> _Document:
    """Read the first line of a document."""
    try:
        requests, prompt, target = arguments_in(sample), prompt_in(sample), sample["target"]
        # Some tasks also score the options without the question.
        scored = [answer for context, answer in requests if context == requests[0][0] and isinstance(answer, str)]
        written = parse_cell(target)  # the harness writes an index, or a list of one, as text
        if scored and type(written) in (int, list):
            target = written
        if len(scored) == 1:
            raise UserError("expected one prompt, got one for each option")
        question = rendered(_AROUND_TURNS.sub("\n", prompt), target, scored or None)
        said = [sample["filtered_resps"][: len(scored)]] if scored else sample["resps"][0]
        return _Document(question, passage_in(sample["doc"]), prompt, said, bool(scored))
    except UserError as error:
        return _Document(Rendered.unusable(str(error)))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return _Document(Rendered.unusable("an incomplete or altered line"))


def _row(key: int, document: _Document, said: Any) -> Columns:
    """The columns of one answer to a document; there are several if it was asked repeatedly."""
    question = document.question
    if question.error:
        raise question.error
    options = options_of(question.choices, question.answer, question.printed.labels if question.printed else LETTERS)
    row = {**options, "question": str(key), "cluster": document.cluster}
    if not document.is_scored:
        opening = OPENING_MARK if opens_reasoning(document.prompt) else ""
        return {**row, "response": said if isinstance(said, str) else "", "prompt": opening}
    values = [-inf if isnan(value) else value for value in map(number_in, said)]
    picked = None if max(values) == -inf else question.choices[values.index(max(values))]
    return {**row, "picked": picked, "answer": question.choices[question.answer]}
