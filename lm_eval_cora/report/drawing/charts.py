"""Draw any chart as a figure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.content import Changes, Chart, Curve, Dots, HeatMap, History, Ranges
from lm_eval_cora.report.drawing import changes, heat_map
from lm_eval_cora.report.drawing.canvas import LINE, Canvas, Medium, columns
from lm_eval_cora.report.drawing.curves import curve
from lm_eval_cora.report.drawing.dots import dots
from lm_eval_cora.report.drawing.history import history
from lm_eval_cora.report.drawing.ranges import ranges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "lm-eval-cora",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "axes.axisbelow": True,
    "grid.alpha": 0.2,
    "hatch.linewidth": 0.8,
    "pdf.fonttype": 42,  # TrueType, which publishers ask for
}
_COLOURED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")


def check_drawing() -> None:
    """Check that charts can be drawn."""
    if find_spec("matplotlib") is None:
        raise UserError(
            "charts need matplotlib, which is not installed: pip install 'lm-eval-cora[report]'. Or use --format md, "
            "which does not need it"
        )


@contextmanager
def drawn(chart: Chart, medium: Medium, **settings: Any) -> Iterator[tuple[Figure, list[str]]]:
    """Draw a chart."""
    check_drawing()
    import matplotlib
    from matplotlib.figure import Figure

    # The files and their texts do not depend on the settings of the user.
    with matplotlib.rc_context(), _no_warnings_of_fonts():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE | dict.fromkeys(_COLOURED, medium.ink))
        matplotlib.rcParams.update({"font.size": 10 * medium.scale, "font.family": list(medium.fonts)})
        matplotlib.rcParams.update({name.replace("_", "."): value for name, value in settings.items()})
        figure = Figure(layout="constrained")
        canvas = Canvas(figure.add_subplot(), medium)
        height = _fill(canvas, chart) + _legend(figure, canvas)
        figure.set_size_inches(medium.width, height * medium.scale)
        yield figure, canvas.tips


@contextmanager
def _no_warnings_of_fonts() -> Iterator[None]:
    # On the page matplotlib only measures the text: the browser draws it. In a file, a character that no font has
    # becomes a box.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield


def _fill(canvas: Canvas, chart: Chart) -> float:
    """Draw a chart into the axes; return the height of the figure in inches, without the legend."""
    if not any(not isnan(value) for value in _values(chart)):
        canvas.axes.set_axis_off()
        canvas.axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=canvas.axes.transAxes)
        return 1.0
    if isinstance(chart, Curve):
        return curve(canvas, chart)
    if isinstance(chart, Ranges):
        return ranges(canvas, chart)
    if isinstance(chart, Dots):
        return dots(canvas, chart)
    if isinstance(chart, History):
        return history(canvas, chart)
    return changes.changes(canvas, chart) if isinstance(chart, Changes) else heat_map.heat_map(canvas, chart)


def _values(chart: Chart) -> Iterator[float]:
    if isinstance(chart, Changes):
        return changes.values(chart)
    if isinstance(chart, HeatMap):
        return heat_map.values(chart)
    if isinstance(chart, Curve):
        numbers = [number for line in chart.lines for _, number in (*line.points, *line.marks)]
    elif isinstance(chart, History):
        numbers = [number for line in chart.lines for _, number in line.points]
    elif isinstance(chart, Ranges):
        numbers = [number for spread in chart.spreads for _, number in (*spread.values, ("", spread.beside))]
    else:
        numbers = [number for _, row in chart.models for _, number in zip(chart.rows, row, strict=False)]
    return (number.value for number in numbers)


def _legend(figure: Figure, canvas: Canvas) -> float:
    """Draw the legend below the chart; return its height in inches."""
    if not canvas.legend:
        return 0.0
    count = 2 if all(columns(label) <= canvas.medium.half for _, label in canvas.legend) else 1
    artists, texts = zip(*((artist, canvas.name(label)) for artist, label in canvas.legend), strict=True)
    spacing = {"handlelength": 2.4, "labelspacing": 0.3}
    figure.legend(artists, texts, loc="outside lower left", ncols=count, **spacing)
    lines = sum(1 + text.count("\n") for text in texts)
    return float(LINE * ceil(lines / count) * 1.15 + 0.15)
