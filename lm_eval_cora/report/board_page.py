"""Write a leaderboard as a static page and as CSV."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from math import inf, isnan
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import TracebackType
from urllib.parse import quote

from lm_eval_cora.report.boards import Board, Row
from lm_eval_cora.report.page import framed, render
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import csv_of
from lm_eval_cora.report.writing import free_name
from lm_eval_cora.runs.model_run import Run


class RunReports:
    """Writes the page of each run beside the folder of the pages, and moves all of them into it if nothing failed.

    Example:
        >>> with RunReports(Path("no/such/folder")) as reports:  # nothing is written for no run
        ...     Path("no").exists()
        False
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: Path | None = None
        self._names: set[str] = set()

    def __enter__(self) -> RunReports:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._written is None:
            return
        try:
            if error is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                for page in self._written.iterdir():
                    page.replace(self._folder / page.name)
        finally:
            rmtree(self._written, ignore_errors=True)

    def write(self, run: Run) -> Path:
        """Write the page of a run; return the path that it will have."""
        if self._written is None:
            parent = next(parent for parent in self._folder.absolute().parents if parent.is_dir())
            self._written = Path(mkdtemp(prefix=".lm-eval-cora-", suffix=".partial", dir=parent))
        title = f"{run.model}, {run.task}"
        name = f"{free_name(title, self._names)}.html"
        text = render(make_report([run], title))
        (self._written / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        return self._folder / name


COLUMNS = (
    *("model", "task", "table", "metric", "value", "stderr", "low", "high", "group", "mcqa", "mcqa_stderr"),
    *("bmca@1.0", "bmca@1.0_stderr", "invalid", "questions", "date", "signature"),
)
"""Columns of the CSV file."""


def leaderboard_page(boards: Sequence[Board], title: str, folder: Path, notes: Sequence[str] = ()) -> str:
    """Render boards as one page that needs neither a network nor other files."""
    return framed(
        "leaderboard.html.j2",
        title,
        ["page.js", "leaderboard.js"],
        ["leaderboard.css"],
        boards=boards,
        models=_by_model(boards),
        tasks=list(dict.fromkeys(board.task for board in boards)),
        all_settings=list(dict.fromkeys(board.settings for board in boards)),
        csv=b64encode(as_csv(boards).encode("utf-8", "backslashreplace")).decode(),
        notes=notes,
        href=lambda path: href(path, folder),
        beside=beside,
    )


def _by_model(boards: Sequence[Board]) -> dict[str, list[Row | None]]:
    """The row of each model on each board; the best model of the first board comes first."""
    by_model: dict[str, list[Row | None]] = {}
    places: dict[str, list[float]] = {}
    for number, board in enumerate(boards):
        for place, row in enumerate(board.rows):
            by_model.setdefault(row.entry.model, [None] * len(boards))[number] = row
            places.setdefault(row.entry.model, [inf] * len(boards))[number] = place
    return {model: by_model[model] for model in sorted(by_model, key=lambda model: (places[model], model))}


def href(path: Path, folder: Path) -> str:
    """A relative link to a file.

    Example:
        >>> href(Path("/runs/a b/report.html"), Path("/runs"))
        'a%20b/report.html'
    """
    relative = Path(os.path.relpath(path, folder)).as_posix()
    return quote(relative.encode("utf-8", "surrogateescape"))


def as_csv(boards: Sequence[Board]) -> str:
    """Write a CSV line per model and board."""
    return csv_of(COLUMNS, (_line(board, row) for board in boards for row in board.rows))


def _line(board: Board, row: Row) -> Sequence[str | float]:
    mcqa, kept, entry = row.number("mcqa"), row.number("bmca@1.0"), row.entry
    return [
        *(entry.model, board.task, board.title, board.metric, row.lead.value, row.lead.stderr, *row.lead.ends),
        *(row.group or "", mcqa.value, mcqa.stderr, kept.value, kept.stderr, row.number("invalid").value),
        *(entry.questions, entry.date, entry.signature),
    ]


def beside(row: Row) -> str:
    """The interval and the usual accuracy of a row, such as `[0.250, 0.750] MCQA 0.500`, below its score."""
    low, high = row.lead.ends
    mcqa = row.number("mcqa").value
    known = "" if isnan(low) else f"[{low:.3f}, {high:.3f}]"
    return " ".join(filter(None, (known, "" if isnan(mcqa) else f"MCQA {mcqa:.3f}")))
