"""The harness' `process_results` hook, and how a Record travels through the harness to the aggregations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval_cora.answers import Reader
from lm_eval_cora.equivalence import EquivalenceChecker
from lm_eval_cora.formats import FORMATS
from lm_eval_cora.harness.compat import RecordCell, RecordScore, SampleRow
from lm_eval_cora.harness.docs import Doc
from lm_eval_cora.reading import read_response
from lm_eval_cora.records import Record

CHECKER = EquivalenceChecker()
"""Compares written answers for all tasks of the process. Each pair is compared once."""


def score_response(doc: Doc, results: Sequence[Any], reader: Reader = "flexible") -> Record:
    """Read a response and return its Record."""
    return read_response(doc, results, CHECKER.verdict, reader=reader)


def written_by_question(records: Iterable[Record]) -> dict[str, list[str]]:
    """Group written answers by the id of their question. They are compared with each other."""
    written: dict[str, list[str]] = {}
    for record in records:
        if record.written is not None:
            written.setdefault(record.question_id, []).append(record.written)
    return written


def metric_keys(metrics: Iterable[str]) -> list[str]:
    """The keys of a scored variant: each metric, followed by its standard error."""
    return [key for metric in metrics for key in (metric, f"{metric}_stderr")]


def spread(record: Record, keys: Sequence[str]) -> SampleRow:
    """Put a Record under each key.

    Four keys describe a single variant and are written to the samples file: `acc` is the score, `consistency_rate` (or
    else `sc@original`) is the identity of the option that was picked, or yes or no, `invalid` is the reason, and `ties`
    marks a tie. The samples file also gets the `rule` that read the answer, `cut_off` if the token limit ended the
    response, `opened` if it begins inside reasoning, and what `came` instead of text.
    """
    said = "consistency_rate" if "consistency_rate" in keys else "sc@original"
    empty = RecordCell(record)
    row: dict[str, RecordScore | RecordCell] = {key: empty for key in ("acc", said, "invalid", "ties") if key in keys}
    if "acc" in row:
        row["acc"] = RecordScore.of(record) if not record.skipped else RecordCell(record, "skipped")
    if said in row and not record.skipped and not record.invalid:
        row[said] = RecordCell(record, FORMATS[record.ask].said(record, letters=False) or "")
    if "invalid" in row and record.reason is not None:
        row["invalid"] = RecordCell(record, record.reason.value)
    if "ties" in row and record.tied:
        row["ties"] = RecordCell(record, "tied")
    known = {name: getattr(record, name) for name in ("rule", "cut_off", "opened", "came")}
    return SampleRow({**row, **{name: value for name, value in known.items() if value}}, keys, empty)
