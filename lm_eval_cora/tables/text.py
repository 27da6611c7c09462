"""A table as Markdown, which terminals show, too, and rows as CSV."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from math import isnan
from unicodedata import category, east_asian_width

from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Cell


def table_as_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Format a table as Markdown, also for terminals."""
    # In Markdown a line break ends the row and a bar ends the cell.
    lines = [[one_line(cell) for cell in line] for line in (columns, *rows)]
    shown = []
    for place, texts in enumerate(zip(*lines, strict=True)):
        cells = [row[place] for row in rows]
        is_left = not place or all(isinstance(cell, str) and not cell[:1].isdigit() for cell in cells)
        width = max(_width(texts[0]) + 2, *map(_width, texts))
        gaps = [" " * (width - _width(text)) for text in texts]
        pairs = zip(texts, gaps, strict=True)
        head, *padded = [f" {text}{gap} " if is_left else f" {gap}{text} " for text, gap in pairs]
        line, end = "-" * (width + 1), ":" if rows else "-"
        shown.append([head, f"{end}{line}" if is_left else f"{line}{end}", *padded])
    return "\n".join(f"|{'|'.join(line)}|" for line in zip(*shown, strict=True))


def _width(text: str) -> int:
    """The number of columns of a terminal that a text takes."""
    shown = [one for one in text if category(one) not in ("Mn", "Me", "Cf")]
    return len(shown) + sum(east_asian_width(one) in "WF" for one in shown)


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
