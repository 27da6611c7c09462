"""Draw any chart as a figure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import cycle, groupby
from math import ceil, isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.renderers.canvas import (
    INK,
    LINE,
    MARKS,
    Canvas,
    Medium,
    columns,
    joined,
    short_labels,
    shown_interval,
    wrapped,
)
from lm_eval_cora.report.content import (
    Band,
    Chart,
    Curve,
    Dots,
    HeatMap,
    History,
    Line,
    Ranges,
    Retention,
    RetentionChart,
)
from lm_eval_cora.tables.number import Number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dashes distinguish levels such as MCQA. Dots are left for guessing.
_DASHES: tuple[Any, ...] = ((0, (6, 2)), (0, (6, 2, 1, 2)), (0, (3, 3)), (0, (6, 2, 1, 2, 1, 2)))
_GUESSING: Any = (0, (1, 1.8))
_Y_AXIS = 10  # characters that the labels of the y axis take, and the gaps between labels of the x axis
_BOXED = 5  # smallest number of values that are summarized by a box
_KEPT: dict[str, Any] = {"alpha": 0.75, "linewidth": 0}
_LOST: dict[str, Any] = {"facecolor": "none", "linewidth": 1}
_GAINED: dict[str, Any] = {"facecolor": "none", "linewidth": 1, "hatch": "/////"}
_STYLE: dict[Any, Any] = (
    dict.fromkeys(("text.parse_math", "axes.spines.top", "axes.spines.right", "legend.frameon"), False)
    | dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none")
    | {"svg.hashsalt": "lm-eval-cora", "axes.axisbelow": True, "grid.alpha": 0.2, "hatch.linewidth": 0.8}
    | {"pdf.fonttype": 42}  # TrueType, which publishers ask for
)
_COLOURED = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color")


def curve(canvas: Canvas, chart: Curve) -> float:
    """Draw curves with confidence bands; return the height of the figure without its legend, as the others do."""
    axes = canvas.axes
    marks = dict(zip(dict.fromkeys(name for line in chart.lines for name, _ in line.marks), cycle(_DASHES)))
    if chart.chance:
        look = {"color": INK, "linestyle": _GUESSING, "linewidth": 1.6}
        axes.plot(*zip(*chart.chance, strict=True), gid=canvas.tip(chart.chance_label), **look)
    count = len(chart.lines)
    for series, line in enumerate(chart.lines):
        _curve(canvas, line, series, count, marks)
    for name, dashes in marks.items():
        whose = " (colour and marker of the model)" if count > 1 else ""
        canvas.add(f"{name}{whose}", linestyle=dashes, color=canvas.of_all(count))
    if chart.chance:
        canvas.add(chart.chance_label, linestyle=_GUESSING)
    label = canvas.name(chart.y_label, canvas.medium.full * 3 // 4)
    width = _end_of(len(chart.lines))
    axes.set(xlim=(-0.02, width), ylim=(-0.02, 1.02), xlabel=canvas.name(chart.x_label), ylabel=label)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.grid(True)
    return 3.0 if len(chart.lines) <= 4 else 3.8


def _end_of(series: int) -> float:
    """The end of the lines of a model, at the right of the curves, where its markers do not cover those of others."""
    return 1.04 + 0.04 * series


def _curve(canvas: Canvas, line: Line, series: int, count: int, marks: Mapping[str, Any]) -> None:
    colour, marker = canvas.look(series)
    xs, numbers = [x for x, _ in line.points], [number for _, number in line.points]
    ends = np.array(list(map(shown_interval, numbers)), dtype=float).reshape(-1, 2).T
    if count == 1:
        canvas.axes.fill_between(xs, *ends, color=colour, alpha=0.15, linewidth=0)
    else:  # bars beside each other: bands would cover each other
        beside = [x + 0.012 * (series - (count - 1) / 2) for x in xs]
        canvas.axes.vlines(beside, *ends, color=colour, linewidth=1.2, alpha=0.8)
    canvas.axes.plot(xs, [number.value for number in numbers], color=colour, linewidth=1.8)
    for x, number in line.points:
        tip = f"{line.name}, {x:.2f}: {number}"
        canvas.point(series, x, number.value, tip, markersize=5)
    for name, number in line.marks:
        if not isnan(number.value):
            end = _end_of(series)
            canvas.axes.plot([0, end], [number.value] * 2, color=colour, linestyle=marks[name], linewidth=1.4)
            # The marker at the end of the line identifies the model without colour.
            canvas.point(series, end, number.value, f"{line.name}, {name}: {number}", fillstyle="none")
    canvas.add(line.name, color=colour, marker=marker)


def dots(canvas: Canvas, chart: Dots) -> float:
    """Draw dots with error bars."""
    axes, step, count = canvas.axes, 0.15, len(chart.models)
    rows, figure_height = canvas.named_rows(chart.rows, step * count, 0.14)
    for index, (name, (middle, height)) in enumerate(zip(chart.rows, rows, strict=True)):
        if chart.reference and not isnan(value := chart.reference[index]):
            half = height / 2 - 0.02
            ys = [middle - half, middle + half]
            axes.plot([value, value], ys, color=INK, linewidth=1.6, alpha=0.75)
        for series, (model, numbers) in enumerate(chart.models):
            if (number := numbers.get(name)) is None:
                continue
            y = middle + (series - (count - 1) / 2) * step
            ends, label = shown_interval(number), f"{joined(model, name)}: {number}"
            if chart.is_difference:
                ends, label = number.ends, f"{label}, 95% {number.interval}"
            axes.plot(ends, [y, y], color=canvas.look(series)[0], linewidth=1.4)
            canvas.point(series, number.value, y, label, zorder=3)
    canvas.add_models([model for model, _ in chart.models])
    if chart.reference:
        look = {"marker": "|", "markersize": 13, "markeredgewidth": 1.6, "linestyle": "none", "alpha": 0.75}
        canvas.add(chart.reference_label, **look)
    shown = [number for _, of_rows in chart.models for number in of_rows.values()]
    if not chart.is_difference:
        canvas.fit(chart.x_label, [*shown, *map(Number, chart.reference)])
    else:  # centre the x axis on 0, fit it to the intervals, and print the signs
        axes.set_xlabel(canvas.name(chart.x_label, canvas.medium.full * 3 // 4))
        known = [value for number in shown for value in (number.value, *number.ends) if isfinite(value)]
        limit = 1.08 * max(map(abs, known)) or 0.1
        axes.set_xlim(-limit, limit)
        axes.axvline(0, color=INK, linewidth=1.2)
        axes.locator_params(axis="x", nbins=max(2, canvas.medium.full // 7))
        axes.xaxis.set_major_formatter(
            lambda value, _: f"{value:+.6g}".replace("-", "\u2212") if abs(value) > limit / 1e6 else "0"
        )
    return figure_height


def ranges(canvas: Canvas, chart: Ranges) -> float:
    """Draw a row per model, with its name above the row so that the row has the full width on a phone."""
    axes = canvas.axes
    top = 0.0
    for series, line in enumerate(chart.lines):
        name, ((label, beside),) = canvas.name(line.name), line.marks
        top += 0.12 + LINE * (1 + name.count("\n"))
        axes.text(0, top, name, transform=axes.get_yaxis_transform(), ha="left", va="bottom")
        colour, _ = canvas.look(series)
        _box(canvas, line, top + 0.2, series)
        axes.plot(shown_interval(beside), [top + 0.48] * 2, color=colour, linewidth=1.6)
        tip = f"{line.name}, {label}: {beside}"
        canvas.point(series, beside.value, top + 0.48, tip, marker="D")
        top += 0.66
    colour = canvas.of_all(len(chart.lines))
    canvas.add("one value", marker="o", markersize=4, alpha=0.7, linestyle="none", color=colour)
    canvas.add("lowest to highest value", linewidth=5, alpha=0.3, color=colour)
    if any(sum(not isnan(number.value) for _, number in line.points) >= _BOXED for line in chart.lines):
        canvas.add("middle half and median", linewidth=10, alpha=0.45, color=colour)
    canvas.add(f"{label}, 95% interval", marker="D", color=colour)
    canvas.fit(chart.y_label, [number for line in chart.lines for _, number in (*line.points, *line.marks)])
    return canvas.rows(top)


def _box(canvas: Canvas, line: Line, y: float, series: int) -> None:
    if not (known := [(name, number) for name, number in line.points if not isnan(number.value)]):
        return
    least, low, middle, high, most = np.percentile([number.value for _, number in known], [0, 25, 50, 75, 100])
    look: dict[str, Any] = {"color": canvas.look(series)[0], "solid_capstyle": "butt"}
    canvas.axes.plot([least, most], [y, y], linewidth=5, alpha=0.3, **look)
    if len(known) >= _BOXED:
        canvas.axes.plot([low, high], [y, y], linewidth=16, alpha=0.35, **look)
        canvas.axes.plot([middle, middle], [y - 0.13, y + 0.13], linewidth=2, **look)
    for index, (name, number) in enumerate(known):
        beside = y + (index % 3 - 1) * 0.05  # so that each of several equal values is visible
        tip = f"{line.name}, {name}: {number}"
        canvas.point(series, number.value, beside, tip, marker="o", markersize=4, alpha=0.8)


def changes(canvas: Canvas, chart: RetentionChart) -> float:
    """Draw a bar per kind and model: kept and lost to the right of 0, gained to the left of it."""
    axes, count = canvas.axes, len(chart.models)
    step = {1: 0.22, 2: 0.16, 3: 0.13}.get(count, 0.11)
    rows, figure_height = canvas.named_rows(chart.rows, step * count, 0.1)
    bars: dict[int, list[tuple[Retention, float]]] = {}
    for name, (middle, _) in zip(chart.rows, rows, strict=True):
        for series, (model, of_kinds) in enumerate(chart.models):
            change = of_kinds.get(name)
            if change is not None and not isnan(sum(change)):
                y = middle + (series - (count - 1) / 2) * step
                bars.setdefault(series, []).append((change, y))
                tip = ", ".join(f"{part} {share:.3f}" for part, share in change._asdict().items())
                corner, size = (-change.gained, y - step / 2), (sum(change), step)
                canvas.spot(corner, size, f"{joined(model, name)}: {tip}")
    for series, own in bars.items():
        _bars(canvas, own, 0.4 * step, series, count > 1)
    axes.axvline(0, color=INK, linewidth=1.2)
    if count > 1:  # the bars of a single model have no marker
        canvas.add_models([model for model, _ in chart.models])
    colour = canvas.of_all(count)
    canvas.add_box("kept: right in both", facecolor=colour, **_KEPT)
    canvas.add_box("lost: right in the original only", edgecolor=colour, **_LOST)
    canvas.add_box("gained: right in this kind only", edgecolor=colour, **_GAINED)
    shown = [change for own in bars.values() for change, _ in own]
    left, right = max(change.gained for change in shown), max(change.kept + change.lost for change in shown)
    # Room for the marker at 0.
    axes.set(xlim=(-max(left + 0.02, 0.06), max(right + 0.02, 0.2)), xlabel="share of the questions")
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):.6g}")
    axes.locator_params(axis="x", nbins=max(2, canvas.medium.full // 6))
    return figure_height


def _bars(canvas: Canvas, bars: list[tuple[Retention, float]], half: float, series: int, marked: bool) -> None:
    """Draw the bars of a model. A marker at the end of what was kept identifies it without colour."""
    colour, marker = canvas.look(series)
    kept = [(0.0, y - half, change.kept, y + half) for change, y in bars if change.kept > 0]
    lost = [(change.kept, y - half, change.kept + change.lost, y + half) for change, y in bars if change.lost > 0]
    gained = [(-change.gained, y - half, 0.0, y + half) for change, y in bars if change.gained > 0]
    canvas.rectangles(kept, facecolor=colour, **_KEPT)
    canvas.rectangles(lost, edgecolor=colour, **_LOST)
    canvas.rectangles(gained, edgecolor=colour, **_GAINED)
    if marked:
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4.5, "linestyle": "none", "zorder": 3}
        canvas.axes.plot([change.kept for change, _ in bars], [y for _, y in bars], clip_on=False, **look)


def heat_map(canvas: Canvas, chart: HeatMap) -> float:
    """Draw a heat map, with as many labels of rows and columns as there is room for."""
    axes, medium = canvas.axes, canvas.medium
    count, width = len(chart.bands), len(chart.columns)
    step = min(0.26, max(0.075, 3.2 / count))
    cells: dict[float, list[tuple[float, float, float, float]]] = {}
    for row, band in enumerate(chart.bands):
        levels = [-1.0 if isnan(share) else round(share * 10) / 10 for share in band.values]
        for level, group in groupby(range(width), key=levels.__getitem__):  # one rectangle for equal neighbours
            places = list(group)
            cells.setdefault(level, []).append((places[0], row * step, places[-1] + 1, (row + 1) * step))
    gap: dict[str, Any] = {"edgecolor": INK, "facecolor": "none", "alpha": 0.5, "hatch": "////"}
    for level, boxes in sorted(cells.items()):
        look = gap if level < 0 else _tint(level)
        canvas.rectangles(boxes, linewidth=0, **look)
    for row, band in enumerate(chart.bands):
        canvas.spot((0, row * step), (width, step), _tip_of(band, chart.columns), band.link)
    axes.set(xlim=(0, width))
    canvas.rows(count * step)
    axes.grid(False)
    axes.spines[:].set(visible=True, alpha=0.4)
    axes.tick_params(axis="x", length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
    axes.tick_params(axis="both", labelsize=9 * medium.scale)
    names = [wrapped(band.label, medium.half, 2) for band in chart.bands]
    every = ceil(max(name.count("\n") + 1 for name in names) * LINE / step)
    axes.set_yticks([(row + 0.5) * step for row in range(0, count, every)], names[::every])
    room = (medium.full - medium.half) / width  # in characters of 0.1 inches
    every = ceil(1.4 / room)
    names = [wrapped(name, 20, 2 if room >= 2.8 else 1) for name in chart.columns[::every]]
    axes.set_xticks([column + 0.5 for column in range(0, width, every)], names, rotation=90)
    scale = {"0: all wrong": 0.0, "0.5: half right": 0.5, "1: all right": 1.0}
    for label, level in scale.items():
        canvas.add_box(label, **_tint(level))
    if -1.0 in cells:
        canvas.add_box("no answer", linewidth=0, **gap)
    return count * step + (0.12 + 0.09 * max(map(columns, names))) + 0.2


def _tint(share: float) -> dict[str, Any]:
    """The look of a share: 0 is visible as a faint tint, to distinguish it from an empty background."""
    return {"facecolor": MARKS[0], "alpha": min(1.0, 0.08 + 0.92 * share)}


def _tip_of(band: Band, columns: Sequence[str]) -> str:
    """The name of a band, with the column that breaks it most."""
    known = {name: share for share, name in zip(band.values, columns, strict=True) if not isnan(share)}
    if len(set(known.values())) < 2:
        return band.label
    lowest = min(known, key=known.__getitem__)
    return f"{band.label}; fewest in {wrapped(lowest, 60, 1)}: {known[lowest]:.2f}"


def history(canvas: Canvas, chart: History) -> float:
    """Draw lines over versions."""
    chart = replace(chart, versions=short_labels(chart.versions))
    axes = canvas.axes
    for series, line in enumerate(chart.lines):
        _versions(canvas, chart, line, series)
    canvas.add_models([line.name for line in chart.lines])
    shown = range(0, len(chart.versions), ceil(len(chart.versions) / 12))
    labels = [canvas.name(chart.versions[place], 24) for place in shown]
    longest = max(len(part) for label in labels for part in label.split("\n"))
    fits = longest * len(labels) < canvas.medium.full - _Y_AXIS
    look: dict[str, Any] = {} if fits else {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(list(shown), labels, **look)
    numbers = [number for line in chart.lines for _, number in line.points]
    values = [end for number in numbers for end in (number.value, *shown_interval(number)) if isfinite(end)]
    low, high = min(values), max(values)
    margin = max(0.05 * (high - low), (0.1 - (high - low)) / 2)
    ylim = (max(-0.02, low - margin), min(1.02, high + margin))
    axes.set(xlim=(-0.5, len(chart.versions) - 0.5), ylabel=chart.y_label, ylim=ylim)
    axes.grid(True, axis="y")
    return 2.6 + (0 if fits else 0.055 * longest)


def _versions(canvas: Canvas, chart: History, line: Line, series: int) -> None:
    """Draw a line with a gap at each of its breaks."""
    colour, _ = canvas.look(series)
    shift = (series - (len(chart.lines) - 1) / 2) * min(0.06, 0.5 / len(chart.lines))
    parts: list[list[tuple[float, float]]] = []
    for place, number in ((place, number) for place, number in line.points if not isnan(number.value)):
        if place in line.breaks or not parts:
            parts.append([])
        x = place + shift
        parts[-1].append((x, number.value))
        canvas.axes.plot([x, x], shown_interval(number), color=colour, linewidth=1.2, alpha=0.8)
        tip = f"{line.name}, {chart.versions[int(place)]}: {number}"
        canvas.point(series, x, number.value, tip, markersize=5, zorder=3)
    for part in parts:
        canvas.axes.plot(*zip(*part, strict=True), color=colour, linewidth=1.6)


def check_drawing() -> None:
    """Check that charts can be drawn."""
    if find_spec("matplotlib") is None:
        raise UserError(
            "charts need matplotlib, which is not installed: pip install 'lm-eval-cora[report]'. Or use "
            "--format md, which does not need it"
        )


@contextmanager
def drawn(chart: Chart, medium: Medium) -> Iterator[tuple[Figure, list[str]]]:
    """Draw a chart."""
    check_drawing()
    import matplotlib
    from matplotlib.figure import Figure

    # The files and their texts do not depend on the settings of the user.
    with matplotlib.rc_context(), warnings.catch_warnings():
        # On the page the browser draws the text. In a file, a character that no font has becomes a box.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE | dict.fromkeys(_COLOURED, INK))
        matplotlib.rcParams.update({"font.size": 10 * medium.scale, "font.family": list(medium.fonts)})
        matplotlib.rcParams["svg.fonttype"] = "none" if medium.is_interactive else "path"
        if medium.is_interactive and isinstance(chart, History):  # it has the width of the page
            medium = replace(medium, width=3 * medium.width)
        figure = Figure(layout="constrained")
        canvas = Canvas(figure.add_subplot(), medium)
        if all(map(isnan, _values(chart))):
            height = 1.0
            canvas.axes.set_axis_off()
            canvas.axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=canvas.axes.transAxes)
        else:
            height = _DRAWN[type(chart)](canvas, chart) + _legend(figure, canvas)
        figure.set_size_inches(medium.width, height * medium.scale)
        yield figure, canvas.tips


_DRAWN: dict[type[Chart], Callable[[Canvas, Any], float]] = {
    Curve: curve,
    Dots: dots,
    Ranges: ranges,
    RetentionChart: changes,
    HeatMap: heat_map,
    History: history,
}


def _values(chart: Any) -> Iterator[float]:
    if isinstance(chart, HeatMap):
        return (value for band in chart.bands for value in band.values)
    if isinstance(chart, RetentionChart):
        return (sum(change) for _, of_kinds in chart.models for change in of_kinds.values())
    if isinstance(chart, Dots):
        return (number.value for _, of_rows in chart.models for number in of_rows.values())
    return (number.value for line in chart.lines for _, number in (*line.points, *line.marks))


def _legend(figure: Figure, canvas: Canvas) -> float:
    """Draw the legend below the chart; return its height in inches."""
    if not canvas.legend:
        return 0.0
    count = 2 if all(columns(label) <= canvas.medium.half for _, label in canvas.legend) else 1
    artists, texts = zip(*((artist, canvas.name(label)) for artist, label in canvas.legend), strict=True)
    figure.legend(artists, texts, loc="outside lower left", ncols=count, handlelength=2.4, labelspacing=0.3)
    lines = sum(1 + text.count("\n") for text in texts)
    return float(LINE * ceil(lines / count) * 1.15 + 0.15)
