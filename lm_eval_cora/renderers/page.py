"""Render reports and leaderboards as HTML pages that need neither a network nor other files."""

import os
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from itertools import groupby
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from lm_eval_cora import __version__
from lm_eval_cora.metrics.accuracy import ALL_RIGHT
from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.renderers.canvas import template_text
from lm_eval_cora.renderers.figures import draw
from lm_eval_cora.report.boards import Board, BoardRow
from lm_eval_cora.report.content import Block, Examples, Report
from lm_eval_cora.report.sections import KIND, make_report
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.tables.number import FALLS, Number, with_minus
from lm_eval_cora.tables.table import Cell, Table
from lm_eval_cora.tables.table_formats import csv_of
from lm_eval_cora.writing import free_name

# HTML does not allow control characters. Show their Unicode pictures instead.
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
COLUMNS = (
    *("model", "task", "table", "metric", "value", "stderr", "low", "high", "group", "mcqa", "mcqa_stderr"),
    *(ALL_RIGHT, f"{ALL_RIGHT}_stderr", "invalid", "questions", "date", "signature", "rank", "cora_falls"),
    *("cora", "cora_stderr"),
)  # of the CSV file


def render(report: Report) -> str:
    """Render a report as a page."""
    return _framed("page.html.j2", report.title, ["page.js"], report=report)


def _framed(template: str, title: str, scripts: Sequence[str], styles: Sequence[str] = (), **content: Any) -> str:
    """Render a template that extends the frame of our pages: head, style sheets, title and theme button."""
    script = "".join(map(template_text, scripts))
    # The Content-Security-Policy allows only this script, so an injected script would not run.
    digest = b64encode(sha256(script.encode()).digest()).decode()
    style, dark = "".join(map(template_text, ("style.css", *styles))), template_text("dark.css")
    return _environment().get_template(template).render(
        title=title, version=__version__, script=Markup(script), script_hash=digest,
        style=Markup(style), dark=Markup(dark), **content,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    look: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "finalize": _visible}
    environment = Environment(loader=FunctionLoader(template_text), autoescape=True, undefined=StrictUndefined, **look)
    environment.filters |= {
        "groups": _groups,
        "meanings": _meanings,
        "draw": lambda chart: Markup(draw(chart)),
        "data_value": _data_value,
        "text": lambda cell: f"{cell:,}" if isinstance(cell, int) else with_minus(str(cell)),
        "with_minus": with_minus,
        "breakable": lambda text: Markup(re.sub("(?<=[_/])(?=.)", "<wbr>", escape(_visible(text)))),
        "with_names": _with_names,
        "is_numeric": lambda cell: not isinstance(cell, str),
        "is_best": lambda cell: isinstance(cell, Number) and cell.best,
    }
    return environment


def _visible(value: Any) -> Any:
    return value.translate(_CONTROLS) if type(value) is str else value


def _meanings(report: Report) -> dict[Cell, str]:
    """The meanings of the metrics and of the kinds of variants, by name."""
    rows = report.glossary.rows if report.glossary else ()
    return {name.removeprefix(KIND): str(meaning) for called, meaning in rows for name in str(called).split(", ")}


def _groups(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Group consecutive blocks of one kind, because the page shows charts side by side where they fit."""
    kinds = {Table: "tables", Examples: "examples"}
    yield from ((name, list(group)) for name, group in groupby(blocks, lambda block: kinds.get(type(block), "charts")))


def _with_names(sentence: str, names: Sequence[str]) -> Markup:
    """A sentence in which the names of models do not wrap. A name inside a word, such as the A of CoRA, is not one."""
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    name = rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)"
    parts = re.split(name, sentence) if longest_first else [sentence]
    model = Markup('<bdi class="model">{}</bdi>')
    return Markup("").join(model.format(part) if part in names else escape(with_minus(part)) for part in parts)


def _data_value(cell: int | Number) -> str:
    """The sort key of a cell; empty if the value is undefined."""
    value = cell.value if isinstance(cell, Number) else cell
    return "" if isnan(value) else f"{value:.12g}"


@contextmanager
def run_reports(folder: Path) -> Iterator[Callable[[Run], Path]]:
    """Yield a function that writes the page of a run beside the folder; all are moved into it if nothing failed."""
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


def leaderboard_page(boards: Sequence[Board], title: str, folder: Path, notes: Sequence[str] = ()) -> str:
    """Render boards as one page that needs neither a network nor other files."""
    content: dict[str, Any] = {"boards": boards, "models": _by_model(boards), "notes": notes}
    content |= {"falls": f"{FALLS} {CORA_FALLS}", "href": lambda path: href(path, folder)}
    content["csv"] = b64encode(boards_as_csv(boards).encode("utf-8", "backslashreplace")).decode()
    return _framed("leaderboard.html.j2", title, ["page.js", "leaderboard.js"], ["leaderboard.css"], **content)


def _by_model(boards: Sequence[Board]) -> dict[str, list[BoardRow | None]]:
    """The row of each model on each board; the best model of the first board comes first."""
    by_board = [{row.run.model: row for row in board.rows} for board in boards]
    models = dict.fromkeys(row.run.model for board in boards for row in board.rows)
    return {model: [rows.get(model) for rows in by_board] for model in models}


def href(path: Path, folder: Path) -> str:
    """A relative link to a file."""
    relative = Path(os.path.relpath(path, folder)).as_posix()
    return quote(relative.encode("utf-8", "surrogateescape"))


def boards_as_csv(boards: Sequence[Board]) -> str:
    """Write a CSV line per model and board."""
    return csv_of(COLUMNS, (_line(board, row) for board in boards for row in board.rows))


def _line(board: Board, row: BoardRow) -> Sequence[str | float]:
    mcqa, kept, cora, run = row.number("mcqa"), row.number(ALL_RIGHT), row.number("cora"), row.run
    return [
        *(run.model, board.task, board.title, board.metric, row.lead.value, row.lead.stderr, *row.lead.ends),
        *(row.group or "", mcqa.value, mcqa.stderr, kept.value, kept.stderr, row.number("invalid").value),
        *(run.count, run.date, run.signature, row.rank, int(cora.falls), cora.value, cora.stderr),
    ]
