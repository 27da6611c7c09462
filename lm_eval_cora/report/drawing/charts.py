"""Draw any chart as a figure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil, isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.content import Changes, Chart, Curve, Dots, HeatMap, History, Number, Ranges, Spread
from lm_eval_cora.report.drawing import changes, heat_map
from lm_eval_cora.report.drawing.canvas import LINE, Canvas, Medium, columns, is_known, joined, shown_interval
from lm_eval_cora.report.drawing.curves import curve
from lm_eval_cora.report.drawing.history import history

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STEP = 0.15
"""Distance between two models in a row."""


def dots(canvas: Canvas, chart: Dots) -> float:
    """Draw dots; return the height of the figure without its legend."""
    axes, ink = canvas.axes, canvas.medium.ink
    names = [canvas.name(row, canvas.medium.half) for row in chart.rows]
    ticks, top = [], 0.0
    for index, name in enumerate(names):
        height = 0.14 + max(_STEP * len(chart.models), LINE * (1 + name.count("\n")))
        middle = top + height / 2
        if index % 2:
            canvas.stripe(top, top + height)
        if index < len(chart.reference) and not isnan(chart.reference[index]):
            half, value = height / 2 - 0.02, chart.reference[index]
            axes.plot([value, value], [middle - half, middle + half], color=ink, linewidth=1.6, alpha=0.75)
        for series, (model, numbers) in enumerate(chart.models):
            if index < len(numbers):
                y = middle + (series - (len(chart.models) - 1) / 2) * _STEP
                _dot(canvas, joined(model, chart.rows[index]), numbers[index], y, series, chart.is_difference)
        ticks.append(middle)
        top += height
    canvas.add_models([model for model, _ in chart.models])
    if chart.reference:
        look = {"marker": "|", "markersize": 13, "markeredgewidth": 1.6, "linestyle": "none", "alpha": 0.75}
        canvas.add(chart.reference_label, **look)
    axes.set(xlim=(0, 1), xlabel=canvas.name(chart.x_label, canvas.medium.full * 3 // 4))
    if chart.is_difference:
        _around_zero(canvas, chart)
    height = canvas.rows(top)
    axes.set_yticks(ticks, names)
    return height


def _dot(canvas: Canvas, name: str, number: Number, y: float, series: int, is_difference: bool) -> None:
    colour, marker = canvas.look(series)
    ends = number.ends if is_difference else shown_interval(number)
    canvas.axes.plot(ends, [y, y], color=colour, linewidth=1.4)
    look = {"color": colour, "marker": marker, "markersize": 6, "zorder": 3}
    tip = f"{name}: {number}, 95% {number.interval}" if is_difference else f"{name}: {number}"
    canvas.point(number.value, y, tip, **look)


def _around_zero(canvas: Canvas, chart: Dots) -> None:
    """Centre the x axis on 0, fit it to the intervals, and print the signs."""
    numbers = [number for _, row in chart.models for number in row]
    values = [value for number in numbers for value in (number.value, *number.ends)] + list(chart.reference)
    limit = 1.08 * max((abs(value) for value in values if isfinite(value)), default=1.0) or 0.1
    canvas.axes.set_xlim(-limit, limit)
    canvas.axes.axvline(0, color=canvas.medium.ink, linewidth=1.2)
    canvas.axes.locator_params(axis="x", nbins=max(2, canvas.medium.full // 7))
    canvas.axes.xaxis.set_major_formatter(lambda value, _: f"{value:+.6g}" if abs(value) > limit / 1e6 else "0")


def ranges(canvas: Canvas, chart: Ranges) -> float:
    """Draw a row per model, with its name above the row so that the row has the full width on a phone."""
    axes = canvas.axes
    top = 0.0
    for series, spread in enumerate(chart.spreads):
        name = canvas.name(spread.name)
        top += 0.12 + LINE * (1 + name.count("\n"))
        axes.text(0, top, name, transform=axes.get_yaxis_transform(), ha="left", va="bottom")
        _box(canvas, spread, top + 0.2, series)
        _beside(canvas, spread.name, chart.beside_label, spread.beside, top + 0.48, series)
        top += 0.66
    canvas.add("one value", marker="o", markersize=4, alpha=0.7, linestyle="none")
    canvas.add("lowest to highest value", linewidth=5, alpha=0.3)
    if any(_is_boxed(spread) for spread in chart.spreads):
        canvas.add("middle half and median", linewidth=10, alpha=0.45)
    canvas.add(f"{chart.beside_label}, 95% interval", marker="D")
    axes.set(xlim=(0, 1), xlabel=canvas.name(chart.y_label))
    return canvas.rows(top)


def _is_boxed(spread: Spread) -> bool:
    return sum(is_known(number) for _, number in spread.values) >= 5


def _box(canvas: Canvas, spread: Spread, y: float, series: int) -> None:
    colour, _ = canvas.look(series)
    known = [(name, number) for name, number in spread.values if is_known(number)]
    if not known:
        return
    values = [number.value for _, number in known]
    plot = canvas.axes.plot
    plot([min(values), max(values)], [y, y], color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt")
    if _is_boxed(spread):
        low, middle, high = np.percentile(values, [25, 50, 75])
        plot([low, high], [y, y], color=colour, linewidth=16, alpha=0.35, solid_capstyle="butt")
        plot([middle, middle], [y - 0.13, y + 0.13], color=colour, linewidth=2)
    for index, (name, number) in enumerate(known):
        # Shift equal values so that each point is visible.
        beside = y + (index % 3 - 1) * 0.05
        tip = f"{spread.name}, {name}: {number}"
        canvas.point(number.value, beside, tip, color=colour, marker="o", markersize=4, alpha=0.8)


def _beside(canvas: Canvas, model: str, label: str, number: Number, y: float, series: int) -> None:
    colour, _ = canvas.look(series)
    canvas.axes.plot(shown_interval(number), [y, y], color=colour, linewidth=1.6)
    canvas.point(number.value, y, f"{model}, {label}: {number}", color=colour, marker="D", markersize=6)


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
