"""The formats of tables: Markdown, which terminals show, too, LaTeX (booktabs) and CSV."""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from math import isnan
from typing import NamedTuple
from unicodedata import category, east_asian_width

from lm_eval_cora.questions.question import printable
from lm_eval_cora.tables.number import FALLS, Number
from lm_eval_cora.tables.table import Cell, Table
from lm_eval_cora.writing import free_name


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


def as_markdown(tables: Iterable[Table]) -> str:
    """Write tables as Markdown, each with its title and note."""
    return "\n".join(
        f"### {one_line(table.title)}\n\n{table_as_text(table.columns, table.rows)}\n\n{table.note}\n"
        for table in tables
    )


# ---- LaTeX
_NAMES = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
_ESCAPED = {ord(character): rf"\text{name}{{}}" for character, name in _NAMES.items()} | {
    ord(character): f"\\{character}" for character in "&%$#_{}"
}
_ESCAPED[ord("\u2212")] = "$-$"
_ESCAPED[ord(FALLS)] = r"$\searrow$"
_ESCAPED[0] = r"\allowbreak{}"
"""Characters with a meaning in LaTeX."""

_STARS = re.compile(r"\*+")
_PART_OF_A_WORD = re.compile(r"[/_-](?=\S)|[^\s/_-]{16}(?=\S)")  # after which a line may break

_INTERVAL = re.compile(r"([-+]?[\d.]+) to ([-+]?[\d.]+)")
_POWER = re.compile(r"([\d.]+)e([-+]\d+)")
_OF_A_COLUMN = 64  # number of characters of a row that fits into a column of text
_LONGEST = 24  # longest name on one line


def as_latex(tables: Iterable[Table]) -> str:
    """Write tables as LaTeX, each with a caption, a label and its note below; it needs booktabs and graphicx."""
    taken = set[str]()
    return "\n".join(_latex_table(table, taken) for table in tables)


def _latex_table(table: Table, taken: set[str]) -> str:
    label = free_name(table.title.partition(" on ")[0].replace("_", "-"), taken)
    rows = "\n".join(" & ".join(map(_cell, row)) + r" \\" for row in table.rows)
    width = sum(3 + min(_LONGEST, len(str(cell))) for cell in next(iter(table.rows), ()))
    kind = "table*" if width > _OF_A_COLUMN and not table.narrow else "table"  # over both columns of the page
    note = rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {escaped(table.note)}}}" if table.note else ""
    return rf"""\begin{{{kind}}}
\centering
\small
\setlength{{\tabcolsep}}{{4pt}}
\caption{{{escaped(table.title.rstrip("."))}.}}
\label{{tab:{label}}}
\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
\begin{{tabular}}{{l{"r" * (len(table.columns) - 1)}}}
\toprule
{_heads(table)}
\midrule
{rows}
\bottomrule
\end{{tabular}}}}
{note}
\end{{{kind}}}
"""


def _heads(table: Table) -> str:
    """The line of the heads, below that of the groups of columns."""
    heads, groups = [_cell(head) for head in table.columns], ""
    if table.groups:
        spans = (rf"\multicolumn{{{len(table.heads)}}}{{c}}{{{_cell(group)}}}" for group in table.groups)
        groups = rf" & {' & '.join(spans)} \\ \cmidrule{{2-{len(heads)}}}" + "\n"
        heads[1:] = [_cell(head) for _ in table.groups for head in table.heads]
    return rf"{groups}{' & '.join(heads)} \\"


def _cell(cell: Cell) -> str:
    text = f"{cell:,}" if isinstance(cell, int) else str(cell)
    if isinstance(cell, Number) and not isnan(cell.value):
        text = _STARS.sub(r"^{\g<0>}", text).replace(" [", r"\;[").replace("±", r"\pm").replace(FALLS, r"\searrow")
        return rf"$\mathbf{{{text}}}$" if cell.best else f"${text}$"
    if interval := _INTERVAL.fullmatch(text):
        return f"$[{interval[1]}, {interval[2]}]$"
    if power := _POWER.fullmatch(text):
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    latex = escaped(text).replace(" - ", " $-$ ")
    return rf"\parbox[t]{{12em}}{{\raggedright {latex}}}" if len(text) > _LONGEST else latex


def escaped(text: str) -> str:
    """Escape the characters that LaTeX would interpret, put the text on one line, and let long words break."""
    return _PART_OF_A_WORD.sub("\\g<0>\0", printable(text)).translate(_ESCAPED)


# ---- CSV
def as_csv(tables: Iterable[Table]) -> str:
    """Write tables with the same columns as one of CSV."""
    every = list(tables)
    return csv_of(every[0].columns, (row for table in every for row in table.rows)) if every else ""


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write rows as CSV; undefined numbers are empty."""
    # A text that a spreadsheet would compute as a formula gets an apostrophe in front of it, as OWASP recommends.
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _csv_cell(cell: Cell) -> str:
    if isinstance(cell, Number):
        cell = cell.value
    if not isinstance(cell, str):
        return "" if isnan(cell) else repr(cell)
    text = cell.replace("\r", " ")  # before Python 3.13, csv does not quote it
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) or text[:1].isspace() else text


class TableFormat(NamedTuple):
    """A format of tables for papers and spreadsheets."""

    write: Callable[[Iterable[Table]], str]
    has_all_digits: bool = False  # it gets one table with all digits, instead of those that a paper prints


TABLE_FORMATS = {
    "latex": TableFormat(as_latex),
    "markdown": TableFormat(as_markdown),
    "csv": TableFormat(as_csv, has_all_digits=True),
}
"""The formats of the commands `export` and `compare`, by name."""
