"""Write a report as Markdown, and the metrics of runs as JSON or CSV."""

from lm_eval_cora import __version__
from lm_eval_cora.report.content import Examples, Report
from lm_eval_cora.tables.table import Table
from lm_eval_cora.tables.table_formats import one_line, table_as_text


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
