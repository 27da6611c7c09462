"""Charts of a report as SVG elements that adopt the colours (light or dark) and the width of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from math import ceil, isnan
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width
from xml.etree import ElementTree

import numpy as np

from lm_eval_cora.report import ReportError
from lm_eval_cora.report.content import Chart, Curve, Dots, Line, Number, Ranges, Spread

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_WIDTH = 4.4
"""Width of a chart in inches. Its 317 points are about the pixels of a phone's width, so text keeps its size there."""

_LINE = 0.19
"""Height of a line of text in inches."""

_FULL, _HALF = 42, 18
"""Number of characters that fit into the whole width of a chart, and into a legend column or the labels on the left."""

# Placeholder colours. `_style` replaces them with the colours of the page's style sheet.
_INK = "#0b0a01"
_SERIES = tuple(f"#0b0a1{number}" for number in range(1, 9))
_COLOURS = {_INK: "currentColor"} | {mark: f"var(--series-{number})" for number, mark in enumerate(_SERIES, 1)}

# Markers distinguish models without colour; dashes distinguish levels such as MCQA.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_DASHES: tuple[Any, ...] = ((0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 3)))

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "lm-eval-cora",
    "text.parse_math": False,
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "axes.axisbelow": True,
    "grid.alpha": 0.2,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
    "grid.color": _INK,
}


@dataclass
class _Drawing:
    """A chart under construction: its axes, its legend entries and the tooltips of its points."""

    axes: Axes
    legend: list[tuple[Artist, str]] = field(default_factory=list)
    tips: list[str] = field(default_factory=list)

    def point(self, x: float, y: float, tip: str, **look: Any) -> None:
        """Draw a marker with a tooltip. The edge of the axes does not clip it."""
        self.axes.plot([x], [y], gid=f"tip-{len(self.tips)}", linestyle="none", clip_on=False, **look)
        self.tips.append(tip)


def check_drawing() -> None:
    """Check that charts can be drawn.

    Raises:
        ReportError: If matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise ReportError(
            "the HTML page needs matplotlib, which is not installed: pip install 'lm-eval-cora[report]'. Or use "
            "--format md, which does not need it"
        )


def draw(chart: Chart) -> str:
    """Draw a chart.

    Args:
        chart: What to draw.

    Returns:
        An `<svg>` element for a page whose CSS defines `--series-1` to `--series-8`. Text and axes have the page's
        text colour. Equal charts give identical elements; different charts have different ids.

    Raises:
        ReportError: If matplotlib is not installed.
    """
    check_drawing()
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), _no_warnings_of_fonts():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(layout="constrained")
        drawing = _Drawing(figure.add_subplot())
        height = _fill(drawing, chart)
        if drawing.legend:
            columns = 2 if all(_columns(label) <= _HALF for _, label in drawing.legend) else 1
            artists, texts = zip(*((artist, _name(label, _FULL)) for artist, label in drawing.legend), strict=True)
            spacing = {"handlelength": 2.4, "labelspacing": 0.3}
            figure.legend(artists, texts, loc="outside lower left", ncols=columns, **spacing)
            height += _LINE * ceil(sum(1 + text.count("\n") for text in texts) / columns) * 1.15 + 0.15
        figure.set_size_inches(_WIDTH, height)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _for_a_page(file.getvalue(), chart.title, drawing.tips)


@contextmanager
def _no_warnings_of_fonts() -> Iterator[None]:
    # matplotlib only measures the text. The browser draws it, so matplotlib's font need not have every character.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield


def _fill(drawing: _Drawing, chart: Chart) -> float:
    """Draw a chart into the axes; return the height of the figure in inches, without the legend."""
    if not any(not isnan(value) for value in _values(chart)):
        drawing.axes.set_axis_off()
        drawing.axes.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=drawing.axes.transAxes)
        return 1.0
    if isinstance(chart, Curve):
        return _curve(drawing, chart)
    return _ranges(drawing, chart) if isinstance(chart, Ranges) else _dots(drawing, chart)


def _values(chart: Chart) -> Iterator[float]:
    if isinstance(chart, Curve):
        numbers = [number for line in chart.lines for _, number in (*line.points, *line.marks)]
    elif isinstance(chart, Ranges):
        numbers = [number for spread in chart.spreads for number in (*_numbers(spread), spread.beside)]
    else:
        numbers = [number for _, row in chart.models for _, number in zip(chart.rows, row, strict=False)]
    return (number.value for number in numbers)


def _numbers(spread: Spread) -> list[Number]:
    return [number for _, number in spread.values]


def _curve(drawing: _Drawing, chart: Curve) -> float:
    axes = drawing.axes
    marks = list(dict.fromkeys(name for line in chart.lines for name, _ in line.marks))
    for series, line in enumerate(chart.lines):
        _line(drawing, line, series, marks)
    for index, name in enumerate(marks):
        drawing.legend.append(
            (_handle(linestyle=_DASHES[index % len(_DASHES)]), f"{name} (colour and marker of the model)")
        )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=_name(chart.x_label), ylabel=_name(chart.y_label, 32))
    axes.grid(True)
    return 3.0 if len(chart.lines) <= 4 else 3.8


def _line(drawing: _Drawing, line: Line, series: int, marks: Sequence[str]) -> None:
    colour, marker = _look(series)
    xs = np.array([x for x, _ in line.points], dtype=float)
    ys = np.array([number.value for _, number in line.points], dtype=float)
    lows, highs = np.array([_interval(number) for _, number in line.points], dtype=float).reshape(-1, 2).T
    drawing.axes.fill_between(xs, lows, highs, color=colour, alpha=0.15, linewidth=0)
    drawing.axes.plot(xs, ys, color=colour, linewidth=1.8)
    for x, number in line.points:
        tip = f"{line.name}, {x:.2f}: {number}"
        drawing.point(x, number.value, tip, color=colour, marker=marker, markersize=5)
    for name, number in line.marks:
        if not isnan(number.value):
            dashes = _DASHES[marks.index(name) % len(_DASHES)]
            drawing.axes.axhline(number.value, color=colour, linestyle=dashes, linewidth=1.4)
            # The marker at the end of the line identifies the model without colour.
            look = {"color": colour, "marker": marker, "markersize": 6, "fillstyle": "none"}
            drawing.point(1.05, number.value, f"{line.name}, {name}: {number}", **look)
    drawing.legend.append((_handle(color=colour, marker=marker), line.name))


def _ranges(drawing: _Drawing, chart: Ranges) -> float:
    """Draw a row per model, with its name above the row so that the row has the full width on a phone."""
    axes = drawing.axes
    top = 0.0
    for series, spread in enumerate(chart.spreads):
        name = _name(spread.name, _FULL)
        top += 0.12 + _LINE * (1 + name.count("\n"))
        axes.text(0, top, name, transform=axes.get_yaxis_transform(), ha="left", va="bottom")
        _box(drawing, spread, top + 0.2, series)
        _beside(drawing, spread.name, chart.beside_label, spread.beside, top + 0.48, series)
        top += 0.66
    drawing.legend.append((_handle(marker="o", markersize=4, alpha=0.7, linestyle="none"), "one value"))
    drawing.legend.append((_handle(linewidth=5, alpha=0.3), "lowest to highest value"))
    if any(_is_boxed(spread) for spread in chart.spreads):
        drawing.legend.append((_handle(linewidth=10, alpha=0.45), "middle half and median"))
    drawing.legend.append((_handle(marker="D"), f"{chart.beside_label}, 95% interval"))
    axes.set(xlim=(0, 1), xlabel=_name(chart.y_label))
    return _rows(axes, top)


def _is_boxed(spread: Spread) -> bool:
    return sum(not isnan(number.value) for number in _numbers(spread)) >= 5


def _box(drawing: _Drawing, spread: Spread, y: float, series: int) -> None:
    colour, _ = _look(series)
    known = [(name, number) for name, number in spread.values if not isnan(number.value)]
    if not known:
        return
    values = [number.value for _, number in known]
    plot = drawing.axes.plot
    plot([min(values), max(values)], [y, y], color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt")
    if _is_boxed(spread):
        low, middle, high = np.percentile(values, [25, 50, 75])
        plot([low, high], [y, y], color=colour, linewidth=16, alpha=0.35, solid_capstyle="butt")
        plot([middle, middle], [y - 0.13, y + 0.13], color=colour, linewidth=2)
    for index, (name, number) in enumerate(known):
        # Shift equal values so that each point is visible.
        beside = y + (index % 3 - 1) * 0.05
        tip = f"{spread.name}, {name}: {number}"
        drawing.point(number.value, beside, tip, color=colour, marker="o", markersize=4, alpha=0.8)


def _beside(drawing: _Drawing, model: str, label: str, number: Number, y: float, series: int) -> None:
    colour, _ = _look(series)
    low, high = _interval(number)
    drawing.axes.plot([low, high], [y, y], color=colour, linewidth=1.6)
    drawing.point(number.value, y, f"{model}, {label}: {number}", color=colour, marker="D", markersize=6)


def _dots(drawing: _Drawing, chart: Dots) -> float:
    axes = drawing.axes
    names = [_name(row, _HALF) for row in chart.rows]
    step = 0.15
    ticks, top = [], 0.0
    for index, name in enumerate(names):
        height = 0.14 + max(step * len(chart.models), _LINE * (1 + name.count("\n")))
        middle = top + height / 2
        if index % 2:
            axes.axhspan(top, top + height, color=_INK, alpha=0.06, linewidth=0)
        if index < len(chart.reference) and not isnan(chart.reference[index]):
            half, value = height / 2 - 0.02, chart.reference[index]
            axes.plot([value, value], [middle - half, middle + half], color=_INK, linewidth=1.6, alpha=0.75)
        for series, (model, numbers) in enumerate(chart.models):
            if index < len(numbers):
                y = middle + (series - (len(chart.models) - 1) / 2) * step
                _dot(drawing, f"{model}, {chart.rows[index]}", numbers[index], y, series)
        ticks.append(middle)
        top += height
    drawing.legend.extend(
        (_handle(marker=_look(i)[1], color=_look(i)[0]), model) for i, (model, _) in enumerate(chart.models)
    )
    if chart.reference:
        drawing.legend.append(
            (
                _handle(marker="|", markersize=13, markeredgewidth=1.6, linestyle="none", alpha=0.75),
                chart.reference_label,
            )
        )
    axes.set(xlim=(0, 1), xlabel=_name(chart.x_label, 32))
    height = _rows(axes, top)
    axes.set_yticks(ticks, names)
    return height


def _dot(drawing: _Drawing, name: str, number: Number, y: float, series: int) -> None:
    colour, marker = _look(series)
    drawing.axes.plot(_interval(number), [y, y], color=colour, linewidth=1.4)
    look = {"color": colour, "marker": marker, "markersize": 6, "zorder": 3}
    drawing.point(number.value, y, f"{name}: {number}", **look)


def _rows(axes: Axes, height: float) -> float:
    """Set up the axes for rows from top to bottom; return the height of the figure in inches."""
    axes.set_ylim(height, 0)
    axes.set_yticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")
    return height + 0.55


def _look(series: int) -> tuple[str, str]:
    # After eight models the colours repeat with other markers.
    return _SERIES[series % len(_SERIES)], _MARKERS[(series + series // len(_SERIES)) % len(_MARKERS)]


def _handle(**look: Any) -> Artist:
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"color": _INK, "linewidth": 1.6, "markersize": 6, "solid_capstyle": "butt", **look})


def _interval(number: Number) -> tuple[float, float]:
    """95% interval, clipped to [0, 1], because adjusted accuracies may exceed it; (nan, nan) if it is unknown."""
    low, high = np.clip(number.ends, 0, 1)
    return float(low), float(high)


def _columns(text: str) -> int:
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _printable(text: str) -> str:
    # XML does not allow control characters, and a text-direction character would affect the whole chart.
    return "".join(character if character.isprintable() else "\ufffd" for character in " ".join(text.split()))


def _name(text: str, width: int = _FULL) -> str:
    """Replace the unprintable characters of a name and wrap it into lines."""
    text = _printable(text) or "-"
    # matplotlib drops legend entries that start with an underscore.
    text = f" {text}" if text.startswith("_") else text
    return "\n".join(_wrapped(text, max(8, width * len(text) // _columns(text))))


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text after blanks, underscores, slashes and hyphens; split a longer piece anywhere."""
    lines = [""]
    for piece in _PIECE.findall(text):
        if len((lines[-1] + piece).rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.rstrip() for line in lines]


_PIECE = re.compile(r"[^\s_/-]*[\s_/-]|[^\s_/-]+")

# Depending on its version, matplotlib writes the font family alone or after the size.
_FAMILY = re.compile(r"(font-family: |font: [^;]*?px )[^;]*")
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+|(?<=^#).+")


def _for_a_page(svg: bytes, title: str, tips: Sequence[str]) -> str:
    """Turn matplotlib's SVG file into an element with unique ids and with the colours and fonts of the page."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): _style(value) for name, value in element.attrib.items()}
        identity = element.get("id", "")
        if identity.startswith("tip-"):
            tip = ElementTree.Element("title")
            tip.text = _printable(tips[int(identity.removeprefix("tip-"))])
            element.insert(0, tip)
    _rename(list(root.iter()), f"c{sha256(svg).hexdigest()[:10]}-")
    box = root.attrib["viewBox"]
    root.attrib.clear()
    # These replace matplotlib's style element, which would apply to the whole page.
    shape = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    page = {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", "role": "img", "width": "100%"}
    root.attrib |= {**page, "aria-label": _printable(title), "viewBox": box, **shape}
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """A tag or attribute name without its XML namespace."""
    return name.rpartition("}")[2]


def _style(value: str) -> str:
    value = re.sub("|".join(_COLOURS), lambda found: _COLOURS[found[0]], value)
    return _FAMILY.sub(r"\1system-ui, sans-serif", value)


def _rename(elements: Sequence[ElementTree.Element], prefix: str) -> None:
    """Add a prefix to the ids that are referenced and remove all other ids."""
    used = {found for element in elements for value in element.attrib.values() for found in _REFERENCE.findall(value)}
    for element in elements:
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for name, value in element.attrib.items():
            element.set(name, prefix + value if name == "id" else _REFERENCE.sub(rf"{prefix}\g<0>", value))
