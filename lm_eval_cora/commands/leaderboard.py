"""The command `leaderboard`, which makes a page of many runs or records."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from lm_eval_cora.commands.output import STDOUT, check_file, check_folder, say, write_text
from lm_eval_cora.commands.reports import labels_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.leaderboard.page import as_csv, leaderboard_page
from lm_eval_cora.leaderboard.reading import Sources
from lm_eval_cora.leaderboard.run_reports import RunReports
from lm_eval_cora.messages import counted
from lm_eval_cora.report.drawing.charts import check_drawing


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
