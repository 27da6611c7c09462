"""The arguments of `report`, `compare`, `export` and `leaderboard`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, get_args

from lm_eval_cora.arguments.parser import (
    ERROR_STATUS,
    Command,
    add_command,
    add_json,
    add_label,
    add_out,
    add_reader,
    between,
)
from lm_eval_cora.export.every_eval_ever import Relationship

EXPORTS = ["eval-results", "eval-yaml", "every-eval-ever", "model-index", "latex", "markdown", "csv"]
"""The formats of `export`."""


def add_report(commands: Any, run: Command) -> None:
    """Add the command `report`."""
    parser = add_command(
        commands,
        "report",
        run,
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
        help="output file; - is stdout. Default: report.html for html, stdout for the other formats",
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


def add_compare(commands: Any, run: Command) -> None:
    """Add the command `compare`."""
    parser = add_command(
        commands,
        "compare",
        run,
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


def add_export(commands: Any, run: Command) -> None:
    """Add the command `export`."""
    parser = add_command(
        commands,
        "export",
        run,
        "export results in the formats of leaderboards and model cards",
        "lm-eval-cora export out/ --format every-eval-ever -o records/\n"
        "  lm-eval-cora export out/ --format model-index -o card.yml     # paste it between the --- of a model card\n"
        "  lm-eval-cora export out/ --format latex -o table.tex           # needs \\usepackage{booktabs}\n"
        "  lm-eval-cora export out/ --format csv -o scores.csv\n"
        "  lm-eval-cora export out/ --format eval-results --dataset ORG/BENCHMARK --task-id cora_medqa -o cora.yaml\n"
        "  lm-eval-cora export out/ --format eval-yaml --dataset ORG/BENCHMARK -o eval.yaml\n\n"
        "eval-results is a file for .eval_results/ of a model repository on the Hub; eval-yaml makes a dataset on the\n"
        "Hub a benchmark. Nothing is uploaded. Exit status 3: one of these two cannot be made, nothing is written.",
    )
    add_out(parser)
    parser.add_argument("--format", choices=EXPORTS, required=True)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PATH",
        help="a folder for every-eval-ever (default: every_eval_ever), else a file (default: stdout)",
    )
    add_reader(parser)
    submitter = parser.add_argument_group("for every-eval-ever")
    submitter.add_argument("--organization", default="", metavar="NAME", help="who evaluated the models")
    submitter.add_argument(
        "--relationship",
        choices=get_args(Relationship),
        help="relationship of the organization to the makers of the models (default: other)",
    )
    _add_hub(parser)


def _add_hub(parser: argparse.ArgumentParser) -> None:
    hub = parser.add_argument_group("for eval-results and eval-yaml")
    for name, value, about in (
        ("dataset", "ORG/NAME", "id of the benchmark dataset on the Hub; required"),
        ("metric", "NAME", "metric on the leaderboard. Default: the task's leading one, such as cora"),
        ("task-id", "ID", "a task id in the dataset's eval.yaml; required for eval-results"),
        ("task", "NAME", "the task of the run to export, if there are several; only eval-results"),
        ("source-url", "URL", "address of logs or of a report; only eval-results"),
        ("source-name", "NAME", "name to show for this address; only eval-results"),
        ("source-user", "NAME", "user or organization on the Hub that made the result; only eval-results"),
    ):
        hub.add_argument(f"--{name}", default="", metavar=value, help=about)
    hub.add_argument(
        "--percent",
        action="store_true",
        help="write the value from 0 to 100, as some leaderboards have it, instead of 0 to 1; only eval-results",
    )


def add_leaderboard(commands: Any, run: Command) -> None:
    """Add the command `leaderboard`."""
    parser = add_command(
        commands,
        "leaderboard",
        run,
        "make a page that ranks many models on many benchmarks",
        "lm-eval-cora leaderboard runs/ -o index.html\n"
        "  lm-eval-cora leaderboard runs/ -o site/index.html --reports site/reports --csv site/scores.csv\n"
        "  lm-eval-cora leaderboard records/ -o index.html    # records of export --format every-eval-ever\n\n"
        "Models that were not asked the same questions in the same way are never in one table. Models are compared\n"
        "question by question if the samples are there, else by their standard errors, which is conservative. The\n"
        "page links to a report.html beside the files of a run. Exit status: 0 on success, 3 after an error.",
        error_status=ERROR_STATUS,
    )
    add_label(parser)
    parser.add_argument(
        "out",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="a folder with outputs of runs with --log_samples, or with records; it is searched recursively",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("index.html"), metavar="FILE", help="the page (default: index.html)"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the scores as CSV; - is stdout")
    parser.add_argument(
        "--reports", type=Path, metavar="DIR", help="also write a report page per run to this folder, and link to it"
    )
    parser.add_argument("--title", default="Leaderboard", help="title of the page (default: Leaderboard)")
    parser.add_argument(
        "--strict", action="store_true", help="end with status 3, and write nothing, if anything was left out"
    )
    add_reader(parser)
