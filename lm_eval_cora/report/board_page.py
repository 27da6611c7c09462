"""Write a leaderboard as a static page and as CSV."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from lm_eval_cora.report.boards import Board, Row
from lm_eval_cora.report.page import framed, render
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import csv_of
from lm_eval_cora.report.writing import free_name
from lm_eval_cora.runs.model_run import Run


@contextmanager
def run_reports(folder: Path) -> Iterator[Callable[[Run], Path]]:
    """Yield a function that writes the page of a run, and returns the path that it will have.

    The pages are written beside the folder, and moved into it at the end if nothing failed.
    """
    names: set[str] = set()
    parent = next(parent for parent in folder.absolute().parents if parent.is_dir())
    with TemporaryDirectory(prefix=".lm-eval-cora-", suffix=".partial", dir=parent) as written:

        def write(run: Run) -> Path:
            title = f"{run.model}, {run.task}"
            name = f"{free_name(title, names)}.html"
            text = render(make_report([run], title))
            Path(written, name).write_text(text, encoding="utf-8", errors="backslashreplace")
            return folder / name

        yield write
        if names:
            folder.mkdir(parents=True, exist_ok=True)
        for page in Path(written).iterdir():
            page.replace(folder / page.name)


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
