"""The command `compare`, and its `--history` of the versions of a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lm_eval_cora.cli.arguments import (
    ERROR_STATUS,
    add_command,
    add_json,
    add_out,
    add_reader,
    labels_of,
)
from lm_eval_cora.cli.output import STDOUT, check_folder, print_json, say, write_bytes
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.charts import check_drawing
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.figures import FORMATS, figure
from lm_eval_cora.report.history import NOTE, as_json, chart_of, read_history, report_of, tables_of
from lm_eval_cora.report.page import render
from lm_eval_cora.report.text import table_as_text


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "compare",
        _compare,
        "compare models on the same questions, with standard errors and tests",
        "lm-eval-cora compare out/small out/large\n"
        "  lm-eval-cora compare out/small out/medium out/large --baseline out/small\n"
        "  lm-eval-cora compare --history checkpoints/ -o history.html\n\n"
        "Differences are new minus old: a run minus one before it, or minus the baseline. With two models, every\n"
        "metric is compared. With more, all pairs are compared, or each model with the baseline, with intervals that\n"
        "hold for all pairs together and p-values corrected by Holm's method. Runs of other tasks of the harness are\n"
        "compared document by document.",
    )
    add_out(parser)
    parser.add_argument(
        "--baseline", metavar="MODEL", help="path or name of the model with which the others are compared"
    )
    parser.add_argument(
        "--history",
        action="store_true",
        help="take the runs as versions of one model, sorted by date, and compare each with the version before",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="with --history, also write a chart of the versions: a page (html) or a figure (svg, pdf, png)",
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="metric to compare; may be repeated. Default: all metrics of two models; of more models the task's "
        "leading metric, such as cora, and mcqa and bmca@1.0; with --history the leading metric",
    )
    add_reader(parser)
    add_json(parser)


def _compare(given: argparse.Namespace) -> None:
    """Compare models, or the versions of one."""
    if given.history:
        print_history(given)
    else:
        print_comparison(given)


def print_comparison(given: argparse.Namespace) -> None:
    """Print the differences between models."""
    if given.output:
        given.parser.error("-o: expected --history, too")
    found = compare_models(
        given.out,
        reader=given.reader,
        labels=labels_of(given),
        baseline=given.baseline,
        metrics=given.metric,
    )
    for note in found.notes:
        say(note)
    if found.values and given.json:
        print_json(found.values)
    elif found.values:
        for table in found.tables:
            print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n")
        print(found.explanation)
    if found.refused:
        raise UserError("\n".join(found.refused))


_PAGES = (".html", ".htm")


def print_history(given: argparse.Namespace) -> None:
    """Print the versions of a model by date, and write their chart."""
    given.error_status = ERROR_STATUS
    if given.baseline:
        raise UserError("--baseline: expected no --history, which compares each version with the one before")
    if given.output:
        _check(given.output)
    histories, notes = read_history(given.out, reader=given.reader, labels=labels_of(given), metrics=given.metric)
    for note in notes:
        say(note)
    if given.json:
        print_json(as_json(histories))
    else:
        for table in tables_of(histories):
            print(f"{table.title}\n\n{table_as_text(table.columns, table.rows)}\n")
        print(NOTE)
    if given.output:
        suffix = given.output.suffix.lower()
        if suffix in _PAGES:
            content = render(report_of(histories, notes, "History")).encode("utf-8", "backslashreplace")
        else:
            content = figure(chart_of(histories), suffix.removeprefix("."))
        write_bytes(content, given.output)


def _check(path: Path) -> None:
    """Check the output path before the runs are read."""
    suffixes = (*_PAGES, *(f".{name}" for name in FORMATS))
    if path == STDOUT or path.is_dir() or path.suffix.lower() not in suffixes:
        raise UserError(f"-o {path}: expected the name of a file that ends in {', '.join(suffixes)}")
    check_folder(path.parent, "-o")
    check_drawing()
