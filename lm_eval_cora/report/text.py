"""Write a report as Markdown, and the metrics of runs as JSON or CSV."""

import csv
import json
from collections.abc import Iterable, Sequence
from io import StringIO
from math import isnan

from tabulate import tabulate

from lm_eval_cora import __version__
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.content import Cell, Examples, Number, Report, Table
from lm_eval_cora.runs.model_run import Run, check_metrics


def table_as_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Format a table as Markdown, also for terminals."""
    # In Markdown a line break ends the row and a bar ends the cell.
    cells = [[one_line(cell) for cell in row] for row in rows]
    is_text = [
        all(isinstance(cell, str) and not cell[:1].isdigit() for cell in column) for column in zip(*rows, strict=True)
    ]
    align = ["left", *("left" if text else "right" for text in is_text[1:])]
    headers = [one_line(name) for name in columns]
    return str(tabulate(cells, headers, "pipe", colalign=align if rows else None, disable_numparse=True))


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

    def add(title: str, table: Table) -> None:
        lines.extend(["", title, "", table_as_text(table.columns, table.rows)])

    for table in report.overview:
        add(f"## {one_line(table.title)}", table)
    for section in report.sections:
        lines += ["", f"## {one_line(section.title)}", "", f"{section.subtitle[:1].upper()}{section.subtitle[1:]}."]
        if section.headline:
            lines += ["", f"**{one_line(' '.join(section.headline.sentences))}**"]
        if section.notes:
            lines += ["", *(f"- {one_line(model)}: {one_line(note)}" for model, note in section.notes)]
        for block in (section.scores, *section.blocks, *section.more):
            if not block or isinstance(block, Examples):
                continue  # too long without folding; only the page shows them
            add(f"### {one_line(block.title)}", block if isinstance(block, Table) else block.numbers)
            if isinstance(block, Table) and block.note:  # the note of a chart explains the drawing
                lines += ["", one_line(block.note)]
        for model, signature in section.signatures:
            lines += ["", f"`{' '.join(signature.split())}` ({one_line(model)})"]
    if report.glossary:
        add(f"## {report.glossary.title}", report.glossary)
    return "\n".join(lines) + "\n"


def as_json(runs: Sequence[Run]) -> str:
    """Write every metric of every run with its error and 95% interval as JSON; undefined numbers are null."""
    found = [
        {
            "model": run.model,
            "task": run.task,
            "probe": run.probe.name,
            "form": run.form,
            **identity_of(run),
            "questions": len(run.table.sizes),
            "answers": run.table.answers,
            "files": [str(path) for path in run.files],
            "notes": run.warnings,
            "differs_from_results": run.differences,
            "metrics": for_json(run.estimates),
            "study": for_json(run.studies),
        }
        for run in runs
    ]
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def identity_of(run: Run) -> dict[str, str | None]:
    """What identifies a run: its model, reader, data and signature."""
    data = {"benchmark": run.data.name or None, "data": run.data.digest or None}
    return {"model": run.model, "reader": run.reader, **data, "signature": run.signature or None}


def as_csv(runs: Sequence[Run], metrics: Sequence[str] = ()) -> str:
    """Write a CSV line per model, task and metric, or per chosen metric."""
    check_metrics(metrics, runs)
    columns = ("model", "task", "metric", "value", "stderr", "low", "high", "questions", "answers", "signature")
    rows: list[list[str | float]] = []
    for run in runs:
        about = (len(run.table.sizes), run.table.answers, run.signature, run.reader or "", *run.data)
        for name in (name for name in metrics or run.estimates if name in run.estimates):
            estimate = run.estimates[name]
            rows.append([run.model, run.task, name, *estimate, *estimate.interval, *about])
    return csv_of((*columns, "reader", "benchmark", "data"), rows)


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    """Write rows as CSV; undefined numbers are empty."""
    # A text that a spreadsheet would compute as a formula gets an apostrophe in front of it, as OWASP recommends.
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _csv_cell(cell: str | float) -> str:
    if not isinstance(cell, str):
        return "" if isnan(cell) else repr(cell)
    text = cell.replace("\r", " ")  # before Python 3.13, csv does not quote it
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) or text[:1].isspace() else text
