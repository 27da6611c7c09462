"""Export the main scores as tables for papers and README files: LaTeX (booktabs) and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from lm_eval_cora.report.content import Cell, Number, Table
from lm_eval_cora.report.headline import lead_of
from lm_eval_cora.report.result_tables import model_table, number_of_questions
from lm_eval_cora.report.text import one_line, table_as_text
from lm_eval_cora.runs.comparable import not_comparable
from lm_eval_cora.runs.model_run import Run

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
"""Characters with a meaning in LaTeX."""


def _tables(runs: Sequence[Run]) -> list[Table]:
    """The table of models of each task, with marks if its models were asked the same."""
    by_task: dict[str, list[Run]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    tables = []
    for task, own in by_task.items():
        if lead := lead_of(own):
            first, *others = own
            table = model_table(own, lead, alike=not any(not_comparable(first, run) for run in others))
            tables.append(Table(f"{task}, {number_of_questions(own)}", table.columns, table.rows, table.note))
    return tables


def tables_as_markdown(runs: Sequence[Run]) -> str:
    """Write the main scores of each task as a Markdown table, the best models in bold."""
    parts = [
        f"### {one_line(table.title)}\n\n{table_as_text(table.columns, table.rows)}\n\n{table.note}\n"
        for table in _tables(runs)
    ]
    return "\n".join(parts)


def as_latex(runs: Sequence[Run]) -> str:
    r"""Write the main scores of each task as a LaTeX table, the best models in bold.

    The tables need the package booktabs. Each is a `tabular` in a `table` with a caption and a label.
    """
    return "\n".join(_latex(table) for table in _tables(runs))


def _latex(table: Table) -> str:
    header = " & ".join(escaped(column) for column in table.columns)
    rows = "\n".join(" & ".join(map(_cell, row)) + r" \\" for row in table.rows)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{escaped(table.title)}. {escaped(table.note)}}}",
            f"\\label{{tab:{''.join(c if c.isascii() and c.isalnum() else '-' for c in table.title)}}}",
            f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
            r"\toprule",
            f"{header} \\\\",
            r"\midrule",
            rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, Number) and not isnan(cell.value):
        value, *error = str(cell).split(" ± ")
        text = value + "".join(rf" \pm {each}" for each in error)
        return rf"$\mathbf{{{text}}}$" if cell.best else f"${text}$"
    return escaped(f"{cell:,}" if isinstance(cell, int) else str(cell))


def escaped(text: str) -> str:
    r"""Escape the characters that LaTeX would interpret, and put the text on one line."""
    line = " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text).split())
    return "".join(_ESCAPED.get(character, character) for character in line)
