"""The range of a score over the kinds of a probe, and one more score beside it."""

from __future__ import annotations

import numpy as np

from lm_eval_cora.report.content import Ranges, Spread
from lm_eval_cora.report.drawing.canvas import LINE, Canvas, is_known, shown_interval
from lm_eval_cora.report.numbers import Number


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
