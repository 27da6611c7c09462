"""The command `leaderboard`, which makes a page of many runs."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from lm_eval_cora.cli.arguments import (
    ERROR_STATUS,
    add_command,
    add_label,
    add_reader,
    labels_of,
)
from lm_eval_cora.cli.output import STDOUT, check_file, check_folder, say, write_text
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import counted
from lm_eval_cora.report.board_page import RunReports, as_csv, leaderboard_page
from lm_eval_cora.report.board_sources import Sources
from lm_eval_cora.report.charts import check_drawing


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "leaderboard",
        write_leaderboard,
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


def write_leaderboard(given: argparse.Namespace) -> None:
    """Write the page, and on request a CSV file and a report page per run."""
    check_file(given.output, "-o", (".html", ".htm"))
    if given.csv:
        check_file(given.csv, "--csv", (".csv",))
    if given.reports:
        check_drawing()  # reading the runs may take minutes
        check_folder(given.reports, "--reports")
    sources = Sources(given.out, given.reader, labels_of(given))
    folder = Path() if given.output == STDOUT else given.output.parent
    with RunReports(given.reports) if given.reports else nullcontext() as reports:
        boards = sources.boards(reports.write if reports else lambda run: None)
        for note in sources.notes:
            say(note)
        if given.strict and (count := len(sources.left_out)):
            raise UserError(
                f"--strict: something was left out ({counted(count, 'note')} above). Repair or remove these files, or "
                "omit --strict"
            )
        page = leaderboard_page(boards, given.title, folder, sources.notes)
    for text, path in ((page, given.output), *([(as_csv(boards), given.csv)] if given.csv else [])):
        write_text(text, path)
