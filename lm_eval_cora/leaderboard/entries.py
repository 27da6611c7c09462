"""The scores of one model on one task, from its answers, with little more than a number per question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from lm_eval_cora.data import Data
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.report.answers_file import AnswersRun
from lm_eval_cora.report.compare import how_asked
from lm_eval_cora.report.run import Run
from lm_eval_cora.report.signature import signature_parts

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
