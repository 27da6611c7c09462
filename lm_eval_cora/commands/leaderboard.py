"""The command `leaderboard`, which makes a page of many runs or records."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from lm_eval_cora.commands.output import STDOUT, check_folder, say, write_text
from lm_eval_cora.commands.reports import labels_of
from lm_eval_cora.leaderboard.page import as_csv, leaderboard_page
from lm_eval_cora.leaderboard.reading import Sources
from lm_eval_cora.leaderboard.run_reports import RunReports
from lm_eval_cora.report import ReportError
from lm_eval_cora.report.drawing.charts import check_drawing


def write_leaderboard(given: argparse.Namespace) -> None:
    """Write the page, and on request a CSV file and a report page per run."""
    _check_file(given.output, "-o", (".html", ".htm"))
    if given.csv:
        _check_file(given.csv, "--csv", (".csv",))
    if given.reports:
        check_drawing()  # reading the runs may take minutes
        check_folder(given.reports, "--reports")
    sources = Sources(given.out, given.reader, labels_of(given))
    folder = Path() if given.output == STDOUT else given.output.parent
    with RunReports(given.reports) if given.reports else nullcontext() as reports:
        boards = sources.boards(reports.write if reports else lambda run: None)
        for note in sources.notes:
            say(note)
        page = leaderboard_page(boards, given.title, folder, sources.notes)
    for text, path in ((page, given.output), *([(as_csv(boards), given.csv)] if given.csv else [])):
        write_text(text, path)


def _check_file(path: Path, option: str, suffixes: tuple[str, ...]) -> None:
    """Check an output path before the runs are read.

    Raises:
        ReportError: If it is a folder, is inside of a file, or its name has another suffix.
    """
    if path == STDOUT:
        return
    if path.is_dir():
        raise ReportError(f"{option} {path}: expected a file, got a folder")
    if path.suffix.lower() not in suffixes and not path.exists():  # /dev/stdout exists
        raise ReportError(f"{option} {path}: expected a name that ends in {' or '.join(suffixes)}")
    check_folder(path.parent, option)
