"""The command `report`, which makes a page or text of runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lm_eval_cora.cli.arguments import (
    add_command,
    add_out,
    add_reader,
    between,
)
from lm_eval_cora.cli.output import STDOUT, check_folder, check_output, read_runs_of, say, write_text
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.charts import check_drawing
from lm_eval_cora.report.figures import write_figures
from lm_eval_cora.report.page import render
from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "report",
        write_report,
        "make a page (or text) of one or more runs, with the models side by side",
        "lm-eval-cora report out/\n"
        "  lm-eval-cora report out/small out/large -o both.html\n"
        "  lm-eval-cora report out/ --format md\n"
        "  lm-eval-cora report out/ --figures figures/",
    )
    add_out(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="output file; - is stdout. Default: report.html in the current folder, stdout for other formats",
    )
    parser.add_argument(
        "--format",
        choices=["html", "md", "json", "csv"],
        help="html: a page with charts; md: its tables; json, csv: every metric. Default: by the file name of -o, else "
        "html",
    )
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="DIR",
        help="also write every chart to this folder, as SVG, PDF and PNG for a paper",
    )
    parser.add_argument(
        "--width",
        type=between(2, 20, float),
        metavar="INCHES",
        help="width of the figures (default: 3.4, a column of a two-column paper)",
    )
    add_reader(parser)
    parser.add_argument("--title", default="Consistency of the answers", help="title of the html or md report")


def write_report(given: argparse.Namespace) -> None:
    """Write the report of runs as a page, text or numbers, and its charts as files."""
    kind = given.format or _format_of(given.output)
    if kind == "html" or given.figures:
        check_drawing()  # reading the runs may take minutes
    if given.width and not given.figures:
        given.parser.error("--width: expected --figures DIR, too")
    output = given.output or (Path("report.html") if kind == "html" else STDOUT)
    check_output(output)
    if given.figures:
        check_folder(given.figures, "--figures")
    runs = read_runs_of(given)
    report = make_report(runs, given.title) if kind in ("html", "md") or given.figures else None
    if kind == "json":
        text = as_json(runs)
    elif kind == "csv":
        text = as_csv(runs)
    else:
        assert report is not None
        text = as_markdown(report) if kind == "md" else render(report)
    write_text(text, output)
    if given.figures and report is not None:
        paths = write_figures(charts_of(report), given.figures, given.width)
        say(f"wrote {len(paths)} files to {given.figures}")


_FORMAT_OF = {".html": "html", ".htm": "html", ".md": "md", ".json": "json", ".csv": "csv"}


def _format_of(output: Path | None) -> str:
    """The format of a report by the name of its file."""
    if output is None or output == STDOUT or not output.suffix:
        return "html"
    found = _FORMAT_OF.get(output.suffix.lower())
    if found is None:
        raise UserError(
            f"-o {output}: expected a name that ends in {', '.join(_FORMAT_OF)}, or --format. For charts as PDF, SVG "
            "and PNG: --figures DIR. For a table in LaTeX: lm-eval-cora export --format latex"
        )
    return found
