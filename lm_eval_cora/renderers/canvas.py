"""A chart under construction: its axes, its legend and its tooltips."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import isfinite
from os.path import commonprefix
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width
from urllib.parse import quote

import numpy as np

from lm_eval_cora.questions.question import printable
from lm_eval_cora.tables.number import Number, with_minus

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
PIECE = re.compile(r"[^\s_/-]*[\s_/-]|[^\s_/-]+")
SERIES = tuple(f"series-{number}" for number in range(1, 9))  # the colours of the models in the style sheet
# In inches. On the page a chart is 358 to 432 pixels wide, so its text of 10 points has 12 to 15 pixels, as notes have.
_LAYOUT_WIDTH = 4.0
_CHARACTERS = 38  # number of characters of 10 points that fit into the width of a chart on the page
LINE = 0.19  # height of a line of text in inches
TIP = "tip-"  # start of the id of an element that has a tooltip; its number follows
_PART = 0.1  # of an axis: values that need less get an axis that fits
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # to distinguish models without colour


def columns(text: str) -> int:
    """Return the width of a text in characters of the usual width."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def wrapped(text: str, width: int, lines: int | None = None) -> str:
    """Wrap a name after blanks, underscores, slashes and hyphens; split a longer piece anywhere."""
    text = printable(text) or "-"
    # matplotlib drops legend entries that start with an underscore.
    text = f" {text}" if text.startswith("_") else text
    width = max(8, width * len(text) // columns(text))
    wrapped = [""]
    for piece in PIECE.findall(text if lines is None else text[: (width + 1) * (lines + 1)]):
        if len((wrapped[-1] + piece).rstrip()) > width and wrapped[-1]:
            wrapped.append("")
        wrapped[-1] += piece
        while len(wrapped[-1].rstrip()) > width:
            wrapped[-1:] = [wrapped[-1][:width], wrapped[-1][width:]]
    wrapped = [line.rstrip() for line in wrapped]
    if lines is not None and len(wrapped) > lines:
        wrapped = [*wrapped[: lines - 1], wrapped[lines - 1][: width - 1].rstrip(" -_/") + "…"]
    return "\n".join(wrapped)


def short_labels(labels: Sequence[str]) -> list[str]:
    """Labels without the words that all of them have at their beginning and at their end."""
    words = [PIECE.findall(label) for label in labels]
    for _ in range(2):
        common = len(commonprefix(words))  # noqa: RUF071  # of lists, not of texts
        words = [own[common:][::-1] for own in words]
    found = ["".join(own).strip(" _/-") for own in words]
    return found if all(found) else list(labels)


@dataclass(frozen=True)
class Medium:
    """What a chart is drawn for."""

    width: float  # in inches
    scale: float  # size of the text and rows, relative to the page
    is_interactive: bool = False  # parts have tooltips, and links to places on the page
    fonts: tuple[str, ...] = ("DejaVu Sans",)

    @property
    def full(self) -> int:
        """Number of characters that fit into the whole width."""
        return round(_CHARACTERS * self.width / self.scale / _LAYOUT_WIDTH)

    @property
    def half(self) -> int:
        """Number of characters that fit into a legend column or the labels on the left."""
        return round(self.full * 3 / 7)


def template_text(name: str) -> str:
    """A file of the page's templates."""
    return (files("lm_eval_cora.renderers") / "templates" / name).read_text(encoding="utf-8")


@cache
def theme_colours(style_sheet: str = "style.css") -> dict[str, str]:
    """The colours that a style sheet of the page defines, by name; those of the light theme by default."""
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", template_text(style_sheet)))


_NAMES = {theme_colours()[name]: name for name in ("text", *SERIES)}
INK, *MARKS = _NAMES  # the colours of texts and axes, and of the models
PAGE = Medium(_LAYOUT_WIDTH, 1.0, is_interactive=True)
"""The page of a report."""
_COLOUR = re.compile("|".join(_NAMES))


def for_the_page(style: str) -> str:
    """Replace colours by the page's variables, which each theme defines. A copy of the chart keeps the colours."""
    return _COLOUR.sub(lambda found: f"var(--{_NAMES[found[0]]}, {found[0]})", style)


@dataclass
class Canvas:
    """A chart under construction. All heights are in inches on the page."""

    axes: Axes
    medium: Medium
    legend: list[tuple[Artist, str]] = field(default_factory=list)  # handle and label of each entry
    tips: list[str] = field(default_factory=list)

    def look(self, series: int) -> tuple[str, str]:
        """Colour and marker of a model. After eight models the colours repeat with other markers."""
        return MARKS[series % len(MARKS)], _MARKERS[(series + series // len(MARKS)) % len(_MARKERS)]

    def of_all(self, count: int) -> str:
        """The colour of a legend entry that is for each of some models: that of the only one, if there is one."""
        return MARKS[0] if count == 1 else INK

    def fit(self, label: str, numbers: Sequence[Number]) -> None:
        """Set up the x axis: from 0 to 1, or the part of it that fits if the values need less than a tenth of it."""
        known = [end for number in numbers for end in (number.value, *number.ends) if isfinite(end)]
        low, high = min(known), max(known)
        is_part = high - low < _PART
        margin = (0.11 - (high - low)) / 2
        limits = (max(0, low - margin), min(1, high + margin)) if is_part else (0, 1)
        self.axes.set(xlim=limits, xlabel=self.name(f"{label}{' (a part of 0 to 1)' * is_part}"))

    def tip(self, text: str) -> str:
        """Add a tooltip; return the id of the element that has it."""
        self.tips.append(with_minus(text))
        return f"{TIP}{len(self.tips) - 1}"

    def point(self, series: int, x: float, y: float, tip: str, **look: Any) -> None:
        """Draw the marker of a model, or another one, with a tooltip. The edge of the axes does not clip it."""
        colour, marker = self.look(series)
        look = {"color": colour, "marker": marker, "markersize": 6, "linestyle": "none", "clip_on": False, **look}
        self.axes.plot([x], [y], gid=self.tip(tip), **look)

    def spot(self, corner: tuple[float, float], size: tuple[float, float], tip: str, link: str = "") -> None:
        """Make a rectangle with a tooltip and a link; as good as invisible, because it must react to the mouse."""
        from matplotlib.patches import Rectangle

        if not self.medium.is_interactive:
            return
        look: dict[str, Any] = {"facecolor": INK, "alpha": 0.01, "linewidth": 0, "zorder": 4}
        url = f"#{quote(link, errors='replace')}" if link else None
        spot = self.axes.add_patch(Rectangle(corner, *size, gid=self.tip(tip), url=url, **look))
        spot.set_clip_on(False)  # a smaller file

    def rectangles(self, boxes: Sequence[tuple[float, float, float, float]], **look: Any) -> None:
        """Draw rectangles (left, top, right, bottom) with one look. They are one element, which keeps files small."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        if not boxes:
            return
        corners = np.array([((a, b), (c, b), (c, d), (a, d)) for a, b, c, d in boxes])
        self.axes.add_patch(PathPatch(Path.make_compound_path_from_polys(corners), **look))

    def name(self, text: str, width: int | None = None) -> str:
        """Wrap a name to a number of characters; to the width of the chart without one."""
        return wrapped(text, width or self.medium.full)

    def add(self, label: str, **look: Any) -> None:
        """Add a line or marker to the legend."""
        from matplotlib.lines import Line2D

        default = {"color": INK, "linewidth": 1.6, "markersize": 6, "solid_capstyle": "butt"}
        self.legend.append((Line2D([], [], **{**default, **look}), label))

    def add_box(self, label: str, **look: Any) -> None:
        """Add a box to the legend."""
        from matplotlib.patches import Patch

        self.legend.append((Patch(**{"linewidth": 1, **look}), label))

    def add_models(self, names: Sequence[str]) -> None:
        """Add the models to the legend. A single series without a name has no entry."""
        for series, name in enumerate(names):
            if name or len(names) > 1:
                colour, marker = self.look(series)
                self.add(name, color=colour, marker=marker)

    def rows(self, height: float) -> float:
        """Set up the axes for rows from top to bottom; return the height of the figure."""
        self.axes.set_ylim(height, 0)
        self.axes.set_yticks([])
        self.axes.tick_params(axis="y", length=0)
        self.axes.spines["left"].set_visible(False)
        self.axes.grid(True, axis="x")
        return height + 0.55

    def named_rows(self, names: Sequence[str], least: float, margin: float) -> tuple[list[tuple[float, float]], float]:
        """Set up rows with names; return the middle and height of each row, and the height of the figure."""
        labels = [self.name(name, self.medium.half) for name in names]
        rows, top = [], 0.0
        for index, label in enumerate(labels):
            height = margin + max(least, LINE * (1 + label.count("\n")))
            if index % 2:  # shaded, so that the eye can follow the row
                self.axes.axhspan(top, top + height, color=INK, alpha=0.06, linewidth=0)
            rows.append((top + height / 2, height))
            top += height
        total = self.rows(top)
        self.axes.set_yticks([middle for middle, _ in rows], labels)
        return rows, total


def joined(*names: str) -> str:
    """Join the names in a tooltip, without the empty ones."""
    return ", ".join(filter(None, names))


def shown_interval(number: Number) -> tuple[float, float]:
    """The 95% interval, clipped to [0, 1], because adjusted accuracies may exceed it; (nan, nan) if it is unknown."""
    low, high = np.clip(number.ends, 0, 1)
    return float(low), float(high)
