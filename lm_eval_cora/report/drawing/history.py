"""Lines of scores over versions, with intervals."""

from __future__ import annotations

from math import ceil, isfinite, isnan

from lm_eval_cora.report.content import History, HistoryLine
from lm_eval_cora.report.drawing.canvas import Canvas, shown_interval

_LABELS = 12
"""Largest number of versions whose names are printed."""

_NARROWEST = 0.1
"""Smallest range of the y axis."""


def history(canvas: Canvas, chart: History) -> float:
    """Draw lines over versions; return the height of the figure without its legend."""
    axes = canvas.axes
    for series, line in enumerate(chart.lines):
        shift = (series - (len(chart.lines) - 1) / 2) * min(0.06, 0.5 / len(chart.lines))
        _line(canvas, chart, line, series, shift)
    canvas.add_models([line.name for line in chart.lines])
    step = ceil(len(chart.versions) / _LABELS)
    shown = range(0, len(chart.versions), step)
    labels = [canvas.name(chart.versions[place], 24) for place in shown]
    axes.set_xticks(list(shown), labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.set(xlim=(-0.5, len(chart.versions) - 0.5), ylabel=chart.y_label, ylim=_limits(chart))
    axes.grid(True, axis="y")
    longest = max((len(part) for label in labels for part in label.split("\n")), default=0)
    return 2.6 + 0.055 * longest


def _line(canvas: Canvas, chart: History, line: HistoryLine, series: int, shift: float) -> None:
    """Draw a line with a gap at each of its breaks."""
    colour, marker = canvas.look(series)
    parts: list[tuple[list[float], list[float]]] = []
    for place, number in line.points:
        if isnan(number.value):
            continue
        if place in line.breaks or not parts:
            parts.append(([], []))
        x = place + shift
        parts[-1][0].append(x)
        parts[-1][1].append(number.value)
        canvas.axes.plot([x, x], shown_interval(number), color=colour, linewidth=1.2, alpha=0.8)
        tip = f"{line.name}, {chart.versions[place]}: {number}"
        canvas.point(x, number.value, tip, color=colour, marker=marker, markersize=5, zorder=3)
    for xs, ys in parts:
        canvas.axes.plot(xs, ys, color=colour, linewidth=1.6)


def _limits(chart: History) -> tuple[float, float]:
    """A range of the y axis that fits the intervals."""
    numbers = [number for line in chart.lines for _, number in line.points]
    values = [end for number in numbers for end in (number.value, *shown_interval(number)) if isfinite(end)]
    low, high = min(values), max(values)
    margin = max(0.05 * (high - low), (_NARROWEST - (high - low)) / 2)
    return max(-0.02, low - margin), min(1.02, high + margin)
