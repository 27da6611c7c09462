"""The scores of one model on one task, from its answers, with little more than a number per question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Any

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.questions.data import Data
from lm_eval_cora.runs.answers_file import AnswersRun
from lm_eval_cora.runs.files import files_in, part_of, read_json
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.signature import how_asked, is_two_phase, signature_parts
from lm_eval_cora.variants.probes import PROBES, Probe

_NAME = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\.json")
"""Name of a record as the schema asks for it."""


def find_records(path: Path) -> tuple[list[Entry], list[str]]:
    """Find the records of lm-eval-cora in a folder, or read one."""
    if path.is_dir():
        files = files_in(path, lambda name: name.endswith(".json") and not name.startswith("results_"))
    else:
        files = [path] if path.suffix == ".json" else []
    entries: list[Entry] = []
    notes = []
    for file in files:
        record = read_json(file)
        if not record and _NAME.fullmatch(file.name):
            notes.append(f"left out {file}: it is not a JSON object")
        elif part_of(record, "source_metadata").get("source_name") == "lm-eval-cora":
            try:
                entries += _entries(record, file)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
                notes.append(f"left out {file}: it is not a record as lm-eval-cora writes it ({error!r:.80})")
    return entries, notes


def _entries(record: Mapping[str, Any], file: Path) -> Iterator[Entry]:
    """Yield an entry for each evaluation in a record."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for result in record["evaluation_results"]:
        by_name.setdefault(str(result["evaluation_name"]), []).append(result)
    for evaluation, results in by_name.items():
        details = results[0]["score_details"]["details"]
        signature, probe = str(details.get("signature", "")), str(details.get("probe", ""))
        parts = signature_parts(signature)
        data = Data(parts.get("benchmark", ""), str(details.get("data", "")))
        leads = PROBES[probe].leads if probe in PROBES else Probe.leads
        found = {result["metric_config"]["metric_name"]: result["score_details"] for result in results}
        name, *others = evaluation.split("/")
        date = datetime.fromtimestamp(float(results[0]["evaluation_timestamp"]), timezone.utc)
        settings = settings_of(signature, data, details.get("reader"), is_two_phase=is_two_phase(signature))
        yield Entry(
            model=str(record["model_info"]["id"]),
            name=name,
            part="/".join(other for other in others if not data.name or not other.startswith(data.name)),
            data=data,
            settings=settings,
            # The digest of a file of answers includes the variants.
            asked="" if signature else data.digest,
            size=parts.get("n", str(details["questions"])),
            questions=int(details["questions"]),
            leads=leads,
            scores={metric: _estimate(found[metric]) for metric in (*leads, *BESIDE) if metric in found},
            signature=signature,
            is_paired=False,
            date=date.strftime(RUN_DATE),
            source=file,
        )


def _estimate(score: Mapping[str, Any]) -> Estimate:
    uncertainty = part_of(score, "uncertainty")
    ends = part_of(uncertainty, "confidence_interval")
    low, high = (_number(ends[end]) if end in ends else nan for end in ("lower", "upper"))
    error = part_of(uncertainty, "standard_error")
    stderr = _number(error["value"], least=0.0) if error else nan
    return Estimate(_number(score["score"]), stderr, ends=(low, high))


def _number(value: Any, least: float = -2.0) -> float:
    """A number from a record."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 2:
        raise ValueError(f"{value!r:.40} is not a score or its error")
    return float(value)


BESIDE = ("mcqa", "bmca@1.0", "invalid")
"""Metrics beside the one that ranks the models."""

RUN_DATE = "%Y-%m-%dT%H-%M-%S"
"""Format of the date in the harness' file names, without the fraction."""


@dataclass(frozen=True, eq=False)
class Entry:
    """The scores of a model on a task.

    Attributes:
        model: Name of the model. Untrusted text, like all names.
        name: Name of the task.
        part: Name of the filter if the task has several; else empty.
        data: Identity of the questions.
        settings: How the questions were asked, from the signature, and how the responses were read.
        asked: Digest of the questions and their variants; empty if only the scores are known, as in a record.
        size: Questions and variants as text, such as `100x26`; empty if unknown.
        questions: Number of questions.
        leads: The metric that ranks the models of this task; the next one if an entry does not define it.
        scores: Value and error of these metrics and of those beside them.
        signature: The signature of the scores; empty if unknown.
        is_paired: Whether the scores can be compared question by question.
        date: Date of the run as in the harness' file names; empty if unknown.
        source: The newest file of the run.
        report: Page of the run; None without one.
    """

    model: str
    name: str
    part: str
    data: Data
    settings: Mapping[str, str]
    asked: str
    size: str
    questions: int
    leads: Sequence[str]
    scores: Mapping[str, Estimate]
    signature: str
    is_paired: bool
    date: str
    source: Path
    report: Path | None = None


def entry_of(run: Run, date: str) -> Entry:
    """Make the entry of a run. It does not keep the answers."""
    names = (*run.probe.leads, *BESIDE)
    entries = {entry["metric"]: entry for entry in run.entries if entry["metric"] in names}
    found = {name: run.function(entry)(run.table) for name, entry in entries.items()}
    return Entry(
        model=run.model,
        name=run.name,
        part=run.part,
        data=run.data,
        settings=settings_of(run.signature, run.data, run.reader, is_two_phase=run.is_two_phase),
        asked=_asked(run),
        size=signature_parts(run.signature).get("n", ""),
        questions=len(run.table.sizes),
        leads=run.probe.leads,
        scores={name: value for name, value in found.items() if isinstance(value, Estimate)},
        signature=run.signature,
        is_paired=not run.is_two_phase,
        date=date,
        source=run.files[0],
    )


def settings_of(signature: str, data: Data, reader: str | None, *, is_two_phase: bool) -> dict[str, str]:
    """How the questions of a run were asked and its responses read. Runs with other settings are not comparable."""
    found = how_asked(signature, known_data=bool(data.digest))
    if is_two_phase:
        found["target"] = signature_parts(signature)["target"]
    if reader:
        found["reader"] = reader
    return found


def _asked(run: Run) -> str:
    """Digest of the questions and variants of a run. Without a signature it includes the prompts."""
    if isinstance(run, AnswersRun):
        return run.data.digest
    variants, prompts = run.samples.digests_of(run.rows)
    digest = sha256(repr(run.table.question_ids).encode("utf-8", "backslashreplace"))
    for array in (run.table.sizes, variants, *(() if run.signature else (prompts,))):
        digest.update(array.tobytes())
    return digest.hexdigest()
