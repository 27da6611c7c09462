"""`compare --history`, which shows the versions of a model over time."""

from __future__ import annotations

import argparse
from pathlib import Path

from lm_eval_cora.arguments.parser import ERROR_STATUS
from lm_eval_cora.commands.output import STDOUT, check_folder, print_json, say, write_bytes
from lm_eval_cora.commands.reports import labels_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.drawing.charts import check_drawing
from lm_eval_cora.report.figures import FORMATS, figure
from lm_eval_cora.report.history import NOTE, as_json, chart_of, read_history, report_of, tables_of
from lm_eval_cora.report.page import render
from lm_eval_cora.report.text import table_as_text

_PAGES = (".html", ".htm")


def print_history(given: argparse.Namespace) -> None:
    """Print the versions of a model by date, and write their chart."""
    given.error_status = ERROR_STATUS
    if given.baseline:
        raise UserError("--baseline: expected no --history, which compares each version with the one before")
    if given.output:
        _check(given.output)
    histories, notes = read_history(given.out, reader=given.reader, labels=labels_of(given), metrics=given.metric)
    for note in notes:
        say(note)
    if given.json:
        print_json(as_json(histories))
    else:
        for table in tables_of(histories):
            print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n")
        print(NOTE)
    if given.output:
        suffix = given.output.suffix.lower()
        if suffix in _PAGES:
            content = render(report_of(histories, notes, "History")).encode("utf-8", "backslashreplace")
        else:
            content = figure(chart_of(histories), suffix.removeprefix("."))
        write_bytes(content, given.output)


def _check(path: Path) -> None:
    """Check the output path before the runs are read."""
    suffixes = (*_PAGES, *(f".{name}" for name in FORMATS))
    if path == STDOUT or path.is_dir() or path.suffix.lower() not in suffixes:
        raise UserError(f"-o {path}: expected the name of a file that ends in {', '.join(suffixes)}")
    check_folder(path.parent, "-o")
    check_drawing()
