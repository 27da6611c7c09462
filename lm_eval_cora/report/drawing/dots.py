"""Dots with error bars: a row per name, a dot per model."""

from __future__ import annotations

from math import isfinite, isnan

from lm_eval_cora.report.content import Dots
from lm_eval_cora.report.drawing.canvas import LINE, Canvas, joined, shown_interval
from lm_eval_cora.report.numbers import Number

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
