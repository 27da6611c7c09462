"""Questions by kinds of variants, with the share of right answers as colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil, isnan, nan

from lm_eval_cora.report.content import Band, HeatMap
from lm_eval_cora.report.drawing.canvas import LINE, Canvas, columns, wrapped

_LEVELS = 10
"""Number of steps from 0 to 1 that the colours distinguish."""

_LABEL = 9
"""Size of the labels in points on the page."""

_COLUMN = 20
"""Number of characters of a column's label."""


def heat_map(canvas: Canvas, chart: HeatMap) -> float:
    """Draw a heat map; return the height of the figure without its legend."""
    axes, ink = canvas.axes, canvas.medium.ink
    count, width = len(chart.bands), len(chart.columns)
    step = min(0.26, max(0.075, 3.2 / count))
    cells: dict[float, list[tuple[float, float, float, float]]] = {}
    for row, band in enumerate(chart.bands):
        for level, left, right in _runs(band.values, width):
            cells.setdefault(level, []).append((left, row * step, right, (row + 1) * step))
    for level, boxes in sorted(cells.items()):
        if level < 0:
            canvas.rectangles(boxes, facecolor="none", edgecolor=ink, linewidth=0, alpha=0.5, hatch="////")
        else:
            canvas.rectangles(boxes, facecolor=canvas.medium.series[0], linewidth=0, alpha=_opacity(level))
    for row, band in enumerate(chart.bands):
        canvas.spot((0, row * step), (width, step), _said(chart, band), band.link)
    axes.set(xlim=(0, width))
    canvas.rows(count * step)
    axes.grid(False)
    axes.spines[:].set(visible=True, alpha=0.4)
    axes.tick_params(axis="x", length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
    axes.tick_params(axis="both", labelsize=_LABEL * canvas.medium.scale)
    _label_rows(canvas, chart, step)
    taken = _label_columns(canvas, chart)
    _explain(canvas, any(level < 0 for level in cells))
    return count * step + taken + 0.2


def values(chart: HeatMap) -> Iterator[float]:
    """The values of a chart."""
    return (value for band in chart.bands for value in band.values[: len(chart.columns)])


def _runs(shares: Sequence[float], width: int) -> Iterator[tuple[float, int, int]]:
    """Runs of cells of one level: (level, first column, end). The level of an undefined cell is -1."""
    padded = [*shares[:width], *[nan] * (width - len(shares))]
    levels = [-1.0 if isnan(share) else round(share * _LEVELS) / _LEVELS for share in padded]
    left = 0
    for level, run in groupby(levels):
        right = left + sum(1 for _ in run)
        yield level, left, right
        left = right


def _opacity(level: float) -> float:
    """0 is visible as a faint tint, to distinguish it from an empty background."""
    return min(1.0, 0.08 + 0.92 * level)


def _said(chart: HeatMap, band: Band) -> str:
    """The label of a band, and the column that breaks it most."""
    known = [(share, name) for share, name in zip(band.values, chart.columns, strict=False) if not isnan(share)]
    share, name = min(known, default=(nan, ""), key=lambda pair: pair[0])
    if not known or share == max(known, key=lambda pair: pair[0])[0]:
        return band.label
    return f"{band.label}; fewest in {wrapped(name, 60, 1)}: {share:.2f}"


def _label_rows(canvas: Canvas, chart: HeatMap, step: float) -> None:
    """Label as many rows as there is room for."""
    names = [wrapped(band.label, canvas.medium.half, 2) for band in chart.bands]
    lines = max(name.count("\n") + 1 for name in names)
    every = ceil(lines * LINE / step)
    shown = range(0, len(names), every)
    canvas.axes.set_yticks([(row + 0.5) * step for row in shown], [names[row] for row in shown])


def _label_columns(canvas: Canvas, chart: HeatMap) -> float:
    """Label as many columns as there is room for, above the map; return the height of the labels."""
    room = (canvas.medium.full - canvas.medium.half) / len(chart.columns)  # in characters of 0.1 inches
    names = [wrapped(name, _COLUMN, 2 if room >= 2.8 else 1) for name in chart.columns]
    every = ceil(1.4 / room)
    shown = range(0, len(names), every)
    canvas.axes.set_xticks([column + 0.5 for column in shown], [names[column] for column in shown], rotation=90)
    return 0.12 + 0.09 * max(columns(names[column]) for column in shown)


def _explain(canvas: Canvas, has_gaps: bool) -> None:
    colour, ink = canvas.medium.series[0], canvas.medium.ink
    for level, label in ((0.0, "0: all wrong"), (0.5, "0.5: half right"), (1.0, "1: all right")):
        canvas.add_box(label, facecolor=colour, alpha=_opacity(level))
    if has_gaps:
        canvas.add_box("no answer", facecolor="none", edgecolor=ink, alpha=0.5, linewidth=0, hatch="////")
