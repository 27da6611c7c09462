"""Curves with confidence bands, such as BMCA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lm_eval_cora.report.content import Curve, Line
from lm_eval_cora.report.drawing.canvas import Canvas, is_known, shown_interval

# Dashes distinguish levels such as MCQA. Dots are left for guessing.
_DASHES: tuple[Any, ...] = ((0, (6, 2)), (0, (6, 2, 1, 2)), (0, (3, 3)), (0, (6, 2, 1, 2, 1, 2)))
_GUESSING: Any = (0, (1, 1.8))


def curve(canvas: Canvas, chart: Curve) -> float:
    """Draw curves; return the height of the figure without its legend."""
    axes, ink = canvas.axes, canvas.medium.ink
    marks = list(dict.fromkeys(name for line in chart.lines for name, _ in line.marks))
    if chart.chance:
        look = {"color": ink, "linestyle": _GUESSING, "linewidth": 1.6}
        axes.plot(*zip(*chart.chance, strict=True), gid=canvas.tip("guessing"), **look)
    for series, line in enumerate(chart.lines):
        _line(canvas, line, series, marks)
    for index, name in enumerate(marks):
        canvas.add(f"{name} (colour and marker of the model)", linestyle=_DASHES[index % len(_DASHES)])
    if chart.chance:
        canvas.add("guessing", linestyle=_GUESSING)
    label = canvas.name(chart.y_label, canvas.medium.full * 3 // 4)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=canvas.name(chart.x_label), ylabel=label)
    axes.grid(True)
    return 3.0 if len(chart.lines) <= 4 else 3.8


def _line(canvas: Canvas, line: Line, series: int, marks: Sequence[str]) -> None:
    colour, marker = canvas.look(series)
    xs = np.array([x for x, _ in line.points], dtype=float)
    ys = np.array([number.value for _, number in line.points], dtype=float)
    lows, highs = np.array([shown_interval(number) for _, number in line.points], dtype=float).reshape(-1, 2).T
    canvas.axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    canvas.axes.plot(xs, ys, color=colour, linewidth=1.8)
    for x, number in line.points:
        tip = f"{line.name}, {x:.2f}: {number}"
        canvas.point(x, number.value, tip, color=colour, marker=marker, markersize=5)
    for name, number in line.marks:
        if is_known(number):
            dashes = _DASHES[marks.index(name) % len(_DASHES)]
            canvas.axes.axhline(number.value, color=colour, linestyle=dashes, linewidth=1.4)
            # The marker at the end of the line identifies the model without colour.
            look = {"color": colour, "marker": marker, "markersize": 6, "fillstyle": "none"}
            canvas.point(1.05, number.value, f"{line.name}, {name}: {number}", **look)
    canvas.add(line.name, color=colour, marker=marker)
