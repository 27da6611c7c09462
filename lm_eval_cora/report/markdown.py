"""Write a report as Markdown, and the metrics of runs as JSON or CSV."""

import json
from collections.abc import Sequence

from lm_eval_cora import __version__
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.content import Examples, Report
from lm_eval_cora.runs.model_run import Run, check_metrics
from lm_eval_cora.tables.table import Table
from lm_eval_cora.tables.text import csv_of, one_line, table_as_text


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
