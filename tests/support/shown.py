"""What the tables of a report show, and names that try to break them."""

from typing import Any

from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table

HOSTILE_NAMES = {
    "line breaks": "two\nlines\r\n\u2028and\x85more",
    "right to left": "safe\u202egpj.exe\u202c",
    "HTML": "<script>window.hacked=1</script><b title=\"x\">& 'bold'",
    "long": "x" * 500,
    "markup": "|_a_|`b`*c*\\textbf{d}$e$%f#g~h^i&j",
}


def value_in(table: Table, row: int, column: str) -> Any:
    """The value of a cell: a number, or the cell itself."""
    cell = table.rows[row][list(table.columns).index(column)]
    return cell.value if isinstance(cell, Number) else cell


def marked(table: Table) -> dict[str, list[str]]:
    """For each column with marks, the names of the rows that are marked."""
    found: dict[str, list[str]] = {}
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            if isinstance(cell, Number) and cell.best:
                found.setdefault(column, []).append(str(row[0]))
    return found


def widths(table: Table) -> set[int]:
    """The numbers of cells of the rows."""
    return {len(row) for row in (table.columns, *table.rows)}
