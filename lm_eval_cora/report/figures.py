"""Charts of a report as files for a paper: SVG, PDF and PNG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.content import Chart
from lm_eval_cora.report.drawing.charts import drawn
from lm_eval_cora.report.drawing.medium import SERIES, Medium, light_colours
from lm_eval_cora.report.drawing.names import printable
from lm_eval_cora.report.writing import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.4
"""Width in inches of a column of usual two-column papers."""

FORMATS = ("svg", "pdf", "png")
"""The formats of figures."""

_NARROWEST, _WIDEST = 2.0, 20.0

_SCALE = 0.8
"""Size of the text relative to the page: 8 points."""

_DPI = 300
_PIXELS = 60_000
"""Largest height of a PNG file; matplotlib draws at most 65,535 pixels."""

_OTHER_SCRIPTS = (
    *("Arial Unicode MS", "Droid Sans Fallback", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei"),
    *("Microsoft YaHei", "MS Gothic", "Malgun Gothic", "Unifont"),
)
"""TrueType fonts for characters that matplotlib's own font lacks. They are used if the machine has them."""

_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)


def write_figures(charts: Sequence[tuple[str, Chart]], folder: Path, width: float | None = None) -> list[Path]:
    """Write charts as files for a paper.

    The files have the colours of the light theme, contain their fonts, and are the same for the same chart. The title
    of a chart is in the metadata only, because a paper has captions.
    """
    width = WIDTH if width is None else width
    if not _NARROWEST <= width <= _WIDEST:
        raise UserError(f"the width of a figure is {_NARROWEST:g} to {_WIDEST:g} inches, not {width:g}")
    medium = _paper(width)
    paths = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, chart) in zip(file_names(name for name, _ in charts), charts, strict=True):
        with drawn(chart, medium, svg_fonttype="path") as (drawing, _):
            for suffix in FORMATS:
                paths.append(folder / f"{name}.{suffix}")
                replace_file(paths[-1], _content(drawing, suffix, chart.title))
    return paths


def figure(chart: Chart, suffix: str, width: float | None = None) -> bytes:
    """Draw one chart as the content of a file for a paper."""
    with drawn(chart, _paper(WIDTH if width is None else width), svg_fonttype="path") as (drawing, _):
        return _content(drawing, suffix, chart.title)


def _content(drawing: Figure, suffix: str, title: str) -> bytes:
    title = printable(title)
    if suffix == "svg":
        return _svg(drawing, title)
    return _saved(drawing, "pdf", Title=title, CreationDate=None) if suffix == "pdf" else _png(drawing, title)


def file_names(names: Iterable[str]) -> list[str]:
    """Turn names into different file names, without suffix, that every system accepts.

    Example:
        >>> file_names(["MedQA: kept, lost", "MEDQA kept/lost", "con", "日本"])
        ['MedQA-kept-lost', 'MEDQA-kept-lost-2', 'con-figure', 'figure']
    """
    taken: set[str] = set()
    return [free_name(name, taken) for name in names]


def free_name(name: str, taken: set[str]) -> str:
    """Turn a name into a file name as `file_names` does, different from those in `taken`, and add it to them."""
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", name)[:80].strip("-") or "figure"
    safe = f"{safe}-figure" if _RESERVED.fullmatch(safe) else safe
    number, unique = 1, safe
    while unique.lower() in taken:  # some systems do not distinguish upper and lower case
        number += 1
        unique = f"{safe}-{number}"
    taken.add(unique.lower())
    return unique


def _paper(width: float) -> Medium:
    colours = light_colours()
    series = tuple(colours[name] for name in SERIES)
    return Medium(width, _SCALE, colours["text"], series, fonts=("DejaVu Sans", *_installed()))


@cache
def _installed() -> tuple[str, ...]:
    """The fonts for other scripts that the machine has. matplotlib complains about missing ones."""
    from matplotlib.font_manager import fontManager

    found = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _OTHER_SCRIPTS if name in found)


def _saved(figure: Figure, kind: str, dpi: float = 72, facecolor: str = "none", **metadata: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, facecolor=facecolor, metadata=metadata)
    return file.getvalue()


def _svg(figure: Figure, title: str) -> bytes:
    """The figure as SVG with its text as paths, without references to other files."""
    nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    svg = _saved(figure, "svg", Title=title, **nothing).decode()
    # matplotlib writes the title as an element, too.
    svg = re.sub(r"<!DOCTYPE[^>]*>\s*", "", svg, count=1)
    return re.sub(r"<metadata>.*?</metadata>\s*", "", svg, count=1, flags=re.DOTALL).encode()


def _png(figure: Figure, title: str) -> bytes:
    """The figure as PNG on white, because slides may be dark."""
    dpi = min(_DPI, _PIXELS / figure.get_size_inches()[1])
    return _saved(figure, "png", dpi, "white", Title=title, Software=None)
