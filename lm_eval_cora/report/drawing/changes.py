"""Bars of the right answers that were kept, lost and gained from the original to each kind of variant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from math import isnan, nan
from typing import Any

from lm_eval_cora.report.content import Change, Changes
from lm_eval_cora.report.drawing.canvas import LINE, Canvas, joined

_STEPS = (0.22, 0.16, 0.13, 0.11)
"""Distance between two models in a row, by the number of models."""

_KEPT: dict[str, Any] = {"alpha": 0.75, "linewidth": 0}
_LOST: dict[str, Any] = {"facecolor": "none", "linewidth": 1}
_GAINED: dict[str, Any] = {"facecolor": "none", "linewidth": 1, "hatch": "/////"}


def changes(canvas: Canvas, chart: Changes) -> float:
    """Draw a bar per kind and model: kept and lost to the right of 0, gained to the left of it.

    So all bars of a model end at its share of right answers in the original, and the solid part is what is left.
    """
    axes, ink, count = canvas.axes, canvas.medium.ink, len(chart.models)
    step = _STEPS[min(count, len(_STEPS)) - 1]
    bars: dict[int, list[tuple[Change, float]]] = {}
    ticks, top = [], 0.0
    names = [canvas.name(row, canvas.medium.half) for row in chart.rows]
    for index, name in enumerate(names):
        height = 0.1 + max(step * count, LINE * (1 + name.count("\n")))
        if index % 2:
            canvas.stripe(top, top + height)
        for series, (model, row) in enumerate(chart.models):
            change = row[index] if index < len(row) else None
            if change is not None and not isnan(sum(astuple(change))):
                y = top + height / 2 + (series - (count - 1) / 2) * step
                bars.setdefault(series, []).append((change, y))
                width = change.gained + change.kept + change.lost
                corner, size = (-change.gained, y - step / 2), (width, step)
                canvas.spot(corner, size, f"{joined(model, chart.rows[index])}: {_said(change)}")
        ticks.append(top + height / 2)
        top += height
    for series, own in bars.items():
        _bars(canvas, own, 0.4 * step, series, count > 1)
    axes.axvline(0, color=ink, linewidth=1.2)
    if count > 1:  # the bars of a single model have no marker
        canvas.add_models([model for model, _ in chart.models])
    _explain(canvas)
    shown = [change for own in bars.values() for change, _ in own]
    left, right = max(change.gained for change in shown), max(change.kept + change.lost for change in shown)
    # Room for the marker at 0.
    axes.set(xlim=(-max(left + 0.02, 0.06), max(right + 0.02, 0.2)), xlabel="share of the questions")
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):.6g}")
    axes.locator_params(axis="x", nbins=max(2, canvas.medium.full // 6))
    height = canvas.rows(top)
    axes.set_yticks(ticks, names)
    return height


def values(chart: Changes) -> Iterator[float]:
    """The values of a chart; nan where they are incomplete."""
    for _, row in chart.models:
        for _, change in zip(chart.rows, row, strict=False):
            yield sum(astuple(change)) if change is not None else nan


def _bars(canvas: Canvas, bars: list[tuple[Change, float]], half: float, series: int, marked: bool) -> None:
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


def _explain(canvas: Canvas) -> None:
    ink = canvas.medium.ink
    canvas.add_box("kept: right in both", facecolor=ink, **_KEPT)
    canvas.add_box("lost: right in the original only", edgecolor=ink, **_LOST)
    canvas.add_box("gained: right in this kind only", edgecolor=ink, **_GAINED)


def _said(change: Change) -> str:
    return f"kept {change.kept:.3f}, lost {change.lost:.3f}, gained {change.gained:.3f}"
