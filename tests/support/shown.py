"""What the tables of a report show, and names that try to break them."""

from lm_eval_cora.report.score_views import data_tables
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table_formats import as_csv

HOSTILE_NAMES = {
    "line breaks": "two\nlines\r\n\u2028and\x85more",
    "right to left": "safe\u202egpj.exe\u202c",
    "HTML": "<script>window.hacked=1</script><b title=\"x\">& 'bold'",
    "long": "x" * 500,
    "markup": "|_a_|`b`*c*\\textbf{d}$e$%f#g~h^i&j",
}


def value_in(table, row, column):
    """The value of a cell: a number, or the cell itself."""
    cell = table.rows[row][list(table.columns).index(column)]
    return cell.value if isinstance(cell, Number) else cell


def scores_as_csv(runs, names=()):
    """Every metric of runs, or some, as CSV."""
    return as_csv(data_tables(runs, names))


def marked(table):
    """For each column with marks, the names of the rows that are marked."""
    found = {}
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            if isinstance(cell, Number) and cell.best:
                found.setdefault(column, []).append(str(row[0]))
    return found


def widths(table):
    """The numbers of cells of the rows."""
    return {len(row) for row in (table.columns, *table.rows)}
