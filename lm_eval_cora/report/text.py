"""Write a report as Markdown, and the metrics of runs as JSON or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from io import StringIO
from math import isnan
from typing import Any

from tabulate import tabulate

from lm_eval_cora import __version__
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.content import Cell, Examples, Number, Report, Section, Table
from lm_eval_cora.runs.model_run import Run


def table_as_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Format a table as Markdown, also for terminals."""
    # In Markdown a line break ends the row and a bar ends the cell.
    cells = [[one_line(cell) for cell in row] for row in rows]
    align = ["left", *("left" if _is_text(rows, place) else "right" for place in range(1, len(columns)))]
    headers = [one_line(name) for name in columns]
    return str(tabulate(cells, headers, "pipe", colalign=align if rows else None, disable_numparse=True))


def _is_text(rows: Sequence[Sequence[Cell]], place: int) -> bool:
    """Whether a column has text, which is aligned to the left."""
    cells = [row[place] for row in rows]
    return all(isinstance(cell, str) and not cell[:1].isdigit() for cell in cells)


def one_line(cell: Cell) -> str:
    """A cell as Markdown on one line, without HTML."""
    text = f"{cell:,}" if isinstance(cell, int) else str(cell)
    if isinstance(cell, Number) and cell.best:
        return f"**{text}**"
    # Escape the ends of Markdown cells and the starts of HTML tags, because responses are untrusted text.
    return " ".join(text.split()).translate({ord("\\"): "\\\\", ord("|"): "\\|", ord("<"): "&lt;"})


def as_markdown(report: Report) -> str:
    """Write the tables of a report, and the numbers of its charts, as Markdown."""
    lines = [f"# {one_line(report.title)}", "", f"Made by lm-eval-cora {__version__}."]
    for table in report.overview:
        lines += ["", f"## {one_line(table.title)}", "", table_as_text(table.columns, table.rows)]
    for section in report.sections:
        lines += ["", f"## {one_line(section.title)}", "", _sentence(section.subtitle), *_notes(section)]
        if section.headline:
            lines += ["", f"**{one_line(' '.join(section.headline.sentences))}**"]
        for block in (*section.blocks, *section.more):
            if isinstance(block, Examples):
                continue  # too long without folding; only the page shows them
            table = block if isinstance(block, Table) else block.numbers
            lines += ["", f"### {one_line(block.title)}", "", table_as_text(table.columns, table.rows)]
            if isinstance(block, Table) and block.note:  # the note of a chart explains the drawing
                lines += ["", one_line(block.note)]
        for model, signature in section.signatures:
            lines += ["", f"`{' '.join(signature.split())}` ({one_line(model)})"]
    if report.glossary:
        lines += ["", f"## {report.glossary.title}", "", table_as_text(report.glossary.columns, report.glossary.rows)]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _notes(section: Section) -> list[str]:
    return ["", *(f"- {one_line(model)}: {one_line(note)}" for model, note in section.notes)] if section.notes else []


def as_json(runs: Sequence[Run]) -> str:
    """Write every metric of every run with its error and 95% interval as JSON; undefined numbers are null."""
    return json.dumps([_run_as_json(run) for run in runs], indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run_as_json(run: Run) -> dict[str, Any]:
    return {
        "model": run.model,
        "task": run.task,
        "probe": run.probe.name,
        "form": run.form,
        "reader": run.reader,
        "benchmark": run.data.name or None,
        "data": run.data.digest or None,
        "signature": run.signature or None,
        "questions": len(run.table.sizes),
        "answers": run.table.answers,
        "files": [str(path) for path in run.files],
        "notes": run.warnings,
        "differs_from_results": run.differences,
        "metrics": for_json(run.estimates),
        "study": for_json(run.studies),
    }


_COLUMNS = (
    *("model", "task", "metric", "value", "stderr", "low", "high"),
    *("questions", "answers", "signature", "reader", "benchmark", "data"),
)


def as_csv(runs: Sequence[Run]) -> str:
    """Write a CSV line per model, task and metric; undefined numbers are empty.

    A text that a spreadsheet would compute as a formula gets an apostrophe in front of it, as OWASP recommends.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(row for run in runs for row in _rows(run))
    return text.getvalue()


def _rows(run: Run) -> Iterator[list[object]]:
    for name, estimate in run.estimates.items():
        numbers = ["" if isnan(number) else repr(number) for number in (*estimate, *estimate.interval)]
        counts = [len(run.table.sizes), run.table.answers]
        texts = [
            without_formula(text) for text in (run.model, run.task, name, run.signature, run.reader or "", *run.data)
        ]
        yield [*texts[:3], *numbers, *counts, *texts[3:]]


def without_formula(text: str) -> str:
    """Put an apostrophe before a text that begins like a formula.

    Example:
        >>> without_formula("=1+1"), without_formula("an-org/model")
        ("'=1+1", 'an-org/model')
    """
    text = text.replace("\r", " ")  # before Python 3.13, csv does not quote it
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) or text[:1].isspace() else text
