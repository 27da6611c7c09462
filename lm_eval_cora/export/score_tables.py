"""Export scores and differences as tables for papers and README files: LaTeX (booktabs), Markdown and CSV."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan

from lm_eval_cora.questions.question import printable
from lm_eval_cora.report.comparison import Comparisons
from lm_eval_cora.report.result_tables import model_table, number_of_questions
from lm_eval_cora.report.writing import free_name
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.model_run import Run, by_task, check_metrics, lead_of
from lm_eval_cora.runs.task_files import printed_name
from lm_eval_cora.tables.number import FALLS, Number
from lm_eval_cora.tables.table import Cell, Table
from lm_eval_cora.tables.text import csv_of, one_line, table_as_text

_NAMES = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
_ESCAPED = {ord(character): rf"\text{name}{{}}" for character, name in _NAMES.items()} | {
    ord(character): f"\\{character}" for character in "&%$#_{}"
}
_ESCAPED[ord("\u2212")] = "$-$"
_ESCAPED[ord(FALLS)] = r"$\searrow$"
"""Characters with a meaning in LaTeX."""


_INTERVAL = re.compile(r"([-+]?[\d.]+) to ([-+]?[\d.]+)")
_POWER = re.compile(r"([\d.]+)e([-+]\d+)")
_OF_A_COLUMN = 4  # largest number of columns of a table that fits into a column of text


def _scores(runs: Sequence[Run], metrics: Sequence[str]) -> Iterator[Table]:
    """The table of models of each task, with marks if its models were asked the same."""
    check_metrics(metrics, runs)
    for task, of_task in by_task(runs).items():
        chosen = [name for name in metrics if all(name in run.estimates for run in of_task)]
        if (lead := lead_of(of_task)) and (chosen or not metrics):
            comparable = not any(not_comparable(of_task[0], run) for run in of_task[1:])
            table = model_table(of_task, lead, comparable=comparable, chosen=chosen)
            columns = [" ".join(map(printed_name, column.split(" "))) for column in table.columns]
            note = f"{number_of_questions(of_task)}. {table.note}"
            yield replace(table, title=task, columns=columns, note=note)


def tables_as_markdown(runs: Sequence[Run], metrics: Sequence[str] = ()) -> str:
    """Write the main or chosen scores of each task as a Markdown table, the best models in bold."""
    return _markdown(_scores(runs, metrics))


def as_latex(runs: Sequence[Run], metrics: Sequence[str] = ()) -> str:
    """Write the main or chosen scores of each task as a LaTeX table with caption and label, the best models in bold."""
    return _latex(_scores(runs, metrics))


DIFFERENCES: Mapping[str, Callable[[Comparisons], str]] = {
    "latex": lambda found: _latex(found.tables),
    "markdown": lambda found: _markdown(found.tables),
    "csv": lambda found: csv_of(list(found.rows[0]), (list(row.values()) for row in found.rows)),
}
"""The formats of differences, by name."""


def _markdown(tables: Iterable[Table]) -> str:
    return "\n".join(
        f"### {one_line(table.title)}\n\n{table_as_text(table.columns, table.rows)}\n\n{table.note}\n"
        for table in tables
    )


def _latex(tables: Iterable[Table]) -> str:
    taken = set[str]()
    return "\n".join(_latex_table(table, taken) for table in tables)


def _latex_table(table: Table, taken: set[str]) -> str:
    label = free_name(table.title.replace("_", "-"), taken)
    rows = "\n".join(" & ".join(map(_cell, row)) + r" \\" for row in table.rows)
    kind = "table*" if len(table.columns) > _OF_A_COLUMN else "table"  # over both columns of the page
    return rf"""\begin{{{kind}}}
\centering
\small
\setlength{{\tabcolsep}}{{4pt}}
\caption{{{escaped(table.title.rstrip("."))}. {escaped(table.note)}}}
\label{{tab:{label}}}
\begin{{tabular}}{{l{"r" * (len(table.columns) - 1)}}}
\toprule
{" & ".join(map(escaped, table.columns))} \\
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{{kind}}}
"""


def _cell(cell: Cell) -> str:
    text = f"{cell:,}" if isinstance(cell, int) else str(cell)
    if isinstance(cell, Number) and not isnan(cell.value):
        text = text.replace("±", r"\pm").replace(FALLS, r"\searrow")
        return rf"$\mathbf{{{text}}}$" if cell.best else f"${text}$"
    if interval := _INTERVAL.fullmatch(text):
        return f"$[{interval[1]}, {interval[2]}]$"
    if power := _POWER.fullmatch(text):
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    return escaped(text).replace(" - ", " $-$ ")


def escaped(text: str) -> str:
    """Escape the characters that LaTeX would interpret, and put the text on one line."""
    return printable(text).translate(_ESCAPED)
