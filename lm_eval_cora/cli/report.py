"""Make a page (or text) of one or more runs, with the models side by side.

lm-eval-cora report out/
lm-eval-cora report out/small out/large -o both.html
lm-eval-cora report out/ --format md
lm-eval-cora report out/ --figures figures/
"""

from pathlib import Path
from typing import Any

from lm_eval_cora.cli import console
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.output_formats import NAMES
from lm_eval_cora.renderers.charts import check_drawing
from lm_eval_cora.renderers.figures import write_figures
from lm_eval_cora.renderers.markdown import as_markdown
from lm_eval_cora.renderers.page import render
from lm_eval_cora.report.score_views import as_json, data_tables
from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.runs.model_run import Runs
from lm_eval_cora.tables.table_formats import as_csv
from lm_eval_cora.writing import STDOUT, check_folder


def _as_csv(runs: Runs) -> str:
    return as_csv(data_tables(runs))


# The formats of all numbers, which are made of the runs, and those of a report.
_NUMBERS, _TEXTS = {"json": as_json, "csv": _as_csv}, {"html": render, "md": as_markdown}
_FORMATS = (*_TEXTS, *_NUMBERS)
_FORMAT_OF = {".html": "html", ".htm": "html", **{f".{name}": name for name in _FORMATS}}


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.shared("label", "out")
    parser.argument(
        "-o --output",
        "FILE",
        "output file; - is stdout. Default: report.html in the current folder, stdout for other formats",
    )
    parser.argument(
        "--format",
        None,
        """html: a page with charts; md: its tables; json, csv: every metric. Default: by the file name of -o, else
        html""",
        choices=_FORMATS,
    )
    parser.argument("--figures", "DIR", "also write charts to this folder: SVG, PDF, PNG, and numbers in LaTeX")
    parser.argument("--only", "NAMES", "the figures to write: bmca,models. Default: all", **NAMES)
    parser.argument(
        "--width",
        "INCHES",
        "width of the figures (default: 3.4, a column of a two-column paper)",
        type=console.between(2, 20, float),
    )
    parser.shared("select", "reader")
    parser.argument("--title", "TITLE", "title of the html or md report", default="Consistency of the answers")


def run(given: console.Given) -> None:
    """Write the report of runs as a page, text or numbers, and its charts as files."""
    kind = given.format or _format_of(given.output)
    if kind == "html" or given.figures:
        check_drawing()  # reading the runs may take minutes
    if (given.width or given.only) and not given.figures:
        given.parser.error("--width and --only: expected --figures DIR, too")
    output = given.output or (Path("report.html") if kind == "html" else STDOUT)
    console.check_output(output)
    if given.figures:
        check_folder(given.figures, "--figures")
    runs = console.read_runs_of(given)
    report: Any = make_report(runs, given.title) if given.figures or kind not in _NUMBERS else None
    console.write(_NUMBERS[kind](runs) if kind in _NUMBERS else _TEXTS[kind](report), output)
    if given.figures:
        paths = write_figures(charts_of(report), given.figures, given.width, given.only)
        console.say(f"wrote {len(paths)} files to {given.figures}")


def _format_of(output: Path | None) -> str:
    """The format of a report by the name of its file."""
    suffix = output.suffix.lower() if output else ""
    if suffix and suffix not in _FORMAT_OF:
        raise UserError(
            f"-o {output}: expected a name that ends in {', '.join(_FORMAT_OF)}, or --format. For charts as PDF, SVG "
            "and PNG: --figures DIR. For a table in LaTeX: lm-eval-cora export --format latex"
        )
    return _FORMAT_OF.get(suffix, "html")
