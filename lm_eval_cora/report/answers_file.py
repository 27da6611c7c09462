"""Files of answers that were collected without the harness, as runs for reports, comparisons and exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_cora.answer_metrics import ENTRIES, compute_answers, notes_of, that_need, undefined_metrics
from lm_eval_cora.answer_rows import AnswerRows, read_answers
from lm_eval_cora.answers import Reader
from lm_eval_cora.data import Data
from lm_eval_cora.errors import UserError
from lm_eval_cora.messages import first_few
from lm_eval_cora.metrics.entries import Entry
from lm_eval_cora.probes.base import Probe, Setting
from lm_eval_cora.records import Record
from lm_eval_cora.report.answer_records import AnswerRecords
from lm_eval_cora.report.run import Run
from lm_eval_cora.report.samples import Samples
from lm_eval_cora.responses import ResponseTable

TASK = "answers"
"""The name of the task of all files of answers, and of their probe."""

_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")

_OF_THE_HARNESS = re.compile(r"samples.*\.jsonl|results.*\.json|.*\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d.*\.jsonl?")

_SAMPLE = re.compile(rb'"doc"\s*:\s*\{')

_HEAD = 2**20


def is_answers_file(path: Path) -> bool:
    """Whether a path is a file of answers that were collected without the harness."""
    if path.suffix.lower() not in _SUFFIXES or _OF_THE_HARNESS.fullmatch(path.name) or not path.is_file():
        return False
    if path.suffix.lower() != ".jsonl":
        return True
    with path.open("rb") as file:  # a renamed samples file
        return _SAMPLE.search(file.read(_HEAD)) is None


@dataclass(frozen=True, eq=False)
class AnswersRun(Run):
    """The answers in a file that was collected without the harness.

    Attributes:
        records: The answers as records, made when they are used.
        known: The columns that the file has.
        readers: The names in the column `reader`.
        asked: For each question a digest of its variants, their options and the right answers.
    """

    records: AnswerRecords  # type: ignore[assignment]  # it makes the records when they are used
    known: frozenset[str] = field(kw_only=True)
    readers: tuple[str, ...] = field(kw_only=True)
    asked: Mapping[str, str] = field(kw_only=True)

    @cached_property
    def entries(self) -> list[Entry]:
        """The metrics that the columns of the file define."""
        undefined = undefined_metrics(self.table, self.known)
        return [entry for entry in ENTRIES if entry["metric"] not in undefined]

    def function(self, entry: Entry) -> Callable[[ResponseTable], Any]:
        """The function that computes the metric of an entry from the answers."""
        return partial(compute_answers, entry)

    @cached_property
    def warnings(self) -> list[str]:
        """The notes. There is no results file to check the numbers against."""
        return list(self.notes)

    def line(self, record: Record) -> Mapping[str, Any]:
        """The answer as a line of a samples file."""
        return self.records.line(record)

    def answers_to(self, question: str) -> list[Record]:
        """The records of a question, in order."""
        return self.records.of(question)

    @cached_property
    def invalid(self) -> list[Record]:
        """The invalid answers."""
        return [
            record for question in self.table.question_ids for record in self.answers_to(question) if record.invalid
        ]


def read_answers_file(path: Path, reader: Reader | None = None) -> AnswersRun:
    """Read a file of answers, with the usual names of columns (`answer_columns.COLUMNS`)."""
    rows = read_answers(path)
    records = AnswerRecords(rows)
    asked = records.asked()
    notes = notes_of(rows)
    undefined = undefined_metrics(rows.table, rows.known)
    if why := undefined.get("cora"):
        notes.append(f"undefined: {', '.join(name for name in that_need('original') if undefined[name] == why)}: {why}")
    if reader:
        notes.append(f"--reader {reader} does not apply: the file has answers, not responses")
    return AnswersRun(
        model=path.stem,
        name=TASK,
        filter="none",
        part="",
        data=Data(digest=sha256(repr((asked, records.described)).encode()).hexdigest()[:8]),
        label="",
        probe=_probe(rows, records),
        form=None,
        files=(path,),
        results={},
        signature="",
        reader=None,
        read_before="",
        table=rows.table,
        records=records,
        samples=Samples(),
        rows=np.zeros(0, dtype=np.int64),
        references=frozenset(),
        metrics=frozenset(),
        notes=tuple(notes),
        known=rows.known,
        readers=rows.readers,
        asked=asked,
    )


def _probe(rows: AnswerRows, records: AnswerRecords) -> Probe:
    """The tables and charts that the columns of the file define."""
    has_kinds = "kind" in rows.known and len(rows.table.kinds) > 1
    has_picks = "picked" in rows.known
    charts = {
        "changes": has_kinds,
        "heat_maps": has_kinds,
        "bmca_curve": True,
        "accuracy_ranges": has_kinds and has_picks,
        "by_kind": has_kinds,
        "picks_by_letter": has_picks and records.are_balanced(),
    }
    sizes = set(rows.table.options.tolist())
    return Probe(
        name=TASK,
        study="your own",
        summary="answers from a file",
        expand=_cannot_expand,
        formats={},
        note=Probe.note if len(sizes) > 1 else "",
        charts=tuple(name for name, defined in charts.items() if defined),
        tables=("by_category",) if "category" in rows.known else (),
    )


def _cannot_expand(question: Any, setting: Setting) -> Any:
    raise UserError(f"{TASK}: the variants of a file of answers cannot be made again")


def not_the_same(before: Run, after: Run) -> str:
    """Reason why a file of answers cannot be compared with another run; empty if it can."""
    if not (isinstance(before, AnswersRun) and isinstance(after, AnswersRun)):
        which = "first" if isinstance(before, AnswersRun) else "second"
        return f"the {which} is a file of answers, the other is a run of the harness. Compare two of a kind"
    one, other = before.asked, after.asked
    for which, mine, others in (("first", one, other), ("second", other, one)):
        if only := [question for question in mine if question not in others]:
            return (
                f"{len(only):,} of {len(mine):,} questions are only in the {which} "
                f"({first_few(map(repr, only))}). Give both files the same questions"
            )
    for which, run, another in (("first", before, after), ("second", after, before)):
        if columns := [repr(name) for name in run.records.described if name not in another.records.described]:
            return (
                f"only the {which} has the column{'s' * (len(columns) > 1)} {', '.join(columns)} in every row, so it "
                "is unknown whether both were asked the same. Give both files the same columns"
            )
    if unlike := [question for question in one if one[question] != other[question]]:
        columns = [repr(name) for name in ("variant", *before.records.described)]
        return (
            f"{len(unlike):,} of {len(one):,} questions were asked differently ({first_few(map(repr, unlike))}): the "
            f"columns {', '.join(columns)} must be equal in both files"
        )
    if before.table.question_ids != after.table.question_ids:
        skipped = sorted(set(before.table.question_ids) ^ set(after.table.question_ids))
        return (
            f"in one of the two all variants of {len(skipped):,} of {len(one):,} questions were skipped "
            f"({first_few(map(repr, skipped))}). Give both files answers to the same questions"
        )
    return ""
