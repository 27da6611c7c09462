"""Export the main scores as tables for papers and README files: LaTeX (booktabs) and Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan

from lm_eval_cora.questions.question import printable
from lm_eval_cora.report.content import FALLS, Cell, Number, Table
from lm_eval_cora.report.headline import lead_of
from lm_eval_cora.report.result_tables import model_table, number_of_questions
from lm_eval_cora.report.text import one_line, table_as_text
from lm_eval_cora.runs.model_run import Run, by_task, not_comparable

_NAMES = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater", "|": "bar"}
_ESCAPED = {ord(character): rf"\text{name}{{}}" for character, name in _NAMES.items()} | {
    ord(character): f"\\{character}" for character in "&%$#_{}"
}
_ESCAPED[ord(FALLS)] = r"$\searrow$"
"""Characters with a meaning in LaTeX."""


def _tables(runs: Sequence[Run]) -> Iterator[Table]:
    """The table of models of each task, with marks if its models were asked the same."""
    for task, of_task in by_task(runs).items():
        if lead := lead_of(of_task):
            comparable = not any(not_comparable(of_task[0], run) for run in of_task[1:])
            yield replace(
                model_table(of_task, lead, comparable=comparable), title=f"{task}, {number_of_questions(of_task)}"
            )


def tables_as_markdown(runs: Sequence[Run]) -> str:
    """Write the main scores of each task as a Markdown table, the best models in bold."""
    return "\n".join(
        f"### {one_line(table.title)}\n\n{table_as_text(table.columns, table.rows)}\n\n{table.note}\n"
        for table in _tables(runs)
    )


def as_latex(runs: Sequence[Run]) -> str:
    """Write the main scores of each task as a LaTeX table with caption and label, the best models in bold."""
    return "\n".join(_latex(table) for table in _tables(runs))


def _latex(table: Table) -> str:
    label = "".join(character if character.isascii() and character.isalnum() else "-" for character in table.title)
    rows = "\n".join(" & ".join(map(_cell, row)) + r" \\" for row in table.rows)
    return rf"""\begin{{table}}
\centering
\caption{{{escaped(table.title)}. {escaped(table.note)}}}
\label{{tab:{label}}}
\begin{{tabular}}{{l{"r" * (len(table.columns) - 1)}}}
\toprule
{" & ".join(map(escaped, table.columns))} \\
\midrule
{rows}
\bottomrule
\end{{tabular}}
\end{{table}}
"""


def _cell(cell: Cell) -> str:
    if isinstance(cell, Number) and not isnan(cell.value):
        text = str(cell).replace("±", r"\pm").replace(FALLS, r"\searrow")
        return rf"$\mathbf{{{text}}}$" if cell.best else f"${text}$"
    return escaped(f"{cell:,}" if isinstance(cell, int) else str(cell))


def escaped(text: str) -> str:
    """Escape the characters that LaTeX would interpret, and put the text on one line."""
    return printable(text).translate(_ESCAPED)
