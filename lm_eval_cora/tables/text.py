"""A table as Markdown, which terminals show, too, and rows as CSV."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from math import isnan

from tabulate import tabulate

from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell


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
