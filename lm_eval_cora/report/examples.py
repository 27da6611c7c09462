"""Example answers of a model: its least consistent questions and its invalid answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lm_eval_cora.formats import FORMATS, format_of
from lm_eval_cora.metrics.consistency import agreement
from lm_eval_cora.question import LETTERS, shorten
from lm_eval_cora.records import Record
from lm_eval_cora.report.content import Answered, Cell, Example, Examples, Number, PrintedOption, Table
from lm_eval_cora.report.runs import Run

_SHOWN = 10
_LONGEST = 2_000
_LONGEST_EXCERPT = 200


def least_consistent(run: Run) -> Examples | None:
    """Select the ten questions whose variants agree least; None if no question has comparable variants."""
    shares = agreement(run.table)
    defined = np.flatnonzero(np.isfinite(shares))
    chosen = [int(number) for number in defined[np.argsort(shares[defined], kind="stable")][:_SHOWN]]
    if not chosen:
        return None
    examples = [
        _example(run, run.answers_to(run.table.question_ids[number]), float(shares[number])) for number in chosen
    ]
    return Examples(
        f"The least consistent questions of {run.model}",
        examples,
        "The questions whose variants agree least. The right option and the picked option are marked.",
    )


def _example(run: Run, records: Sequence[Record], share: float) -> Example:
    lines = [run.line(record) for record in records]
    doc = lines[0]["doc"]
    hits = sum(record.correct for record in records)
    reference = f"; reference answer: {shorten(doc['answer'], 60)}" if format_of(doc).is_open else ""
    return Example(
        question_id=records[0].question_id,
        stem=_cut(str(doc.get("question", ""))),
        summary=f"{hits} of {len(records)} right, {share:.2f} of the pairs agree{reference}: "
        f"{shorten(doc.get('question', ''), 60)}",
        answers=[_answered(record, line) for record, line in zip(records, lines, strict=True)],
    )


def _answered(record: Record, line: Mapping[str, Any]) -> Answered:
    verdict = "invalid" if record.invalid else "right" if record.correct else "wrong"
    texts = [str(text) for text in line["doc"].get("choices") or ()]
    chosen = set(record.selected or ())
    options = [
        PrintedOption(
            LETTERS[place],
            _cut(text),
            right=identity == record.answer,
            picked=place == record.position or identity in chosen,
        )
        for place, (text, identity) in enumerate(zip(texts, record.printed, strict=False))
    ]
    read = FORMATS[record.ask].said(record, letters=True)
    said = str(record.reason) if record.reason else shorten(read or "", 80)
    return Answered(record.kind, verdict, said, _cut(response_text(line)), options)


def response_text(line: Mapping[str, Any]) -> str:
    """Return the response of a samples line, or the scores of its answers, as text."""
    responses = line.get("filtered_resps") or [""]
    if isinstance(responses[0], str):
        return responses[0]
    answers = format_of(line["doc"]).scored(line["doc"])
    values = [response[0] if isinstance(response, list) and response else response for response in responses]
    if len(values) == 1:
        return str(values[0])
    return ", ".join(f"{answer} {value}" for answer, value in zip(answers, values, strict=False))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def invalid_answers(runs: Sequence[Run]) -> Table | None:
    """Tabulate the reasons for invalid answers, with counts and an example each; None if all answers are valid."""
    rows: list[list[Cell]] = []
    for run in runs:
        by_reason: dict[str, list[Record]] = {}
        for record in run.invalid:
            by_reason.setdefault(str(record.reason), []).append(record)
        for reason, records in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            example = response_text(run.line(records[0]))
            shown = shorten(example, _LONGEST_EXCERPT) if example.strip() else "(empty)"
            name = [reason] if len(runs) == 1 else [reason, run.model]
            rows.append([*name, len(records), Number(len(records) / len(run.table.picked)), shown])
    if not rows:
        return None
    head = ["reason"] if len(runs) == 1 else ["reason", "model"]
    return Table("Invalid answers", [*head, "answers", "share", "example"], rows, sortable=True)
