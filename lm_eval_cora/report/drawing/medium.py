"""What a chart is drawn for: its width, the size of its text and its colours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SERIES = tuple(f"series-{number}" for number in range(1, 9))
"""Names of the colours of the models in the style sheet."""

_LAYOUT_WIDTH = 4.4
"""Width of a chart on the page in inches. Its 317 points are about the pixels of a phone's width, so text keeps its
size there."""

_CHARACTERS = 42
"""Number of characters of 10 points that fit into the width of a chart on the page."""


@dataclass(frozen=True)
class Medium:
    """What a chart is drawn for.

    Attributes:
        width: Width of the chart in inches.
        scale: Size of its text and rows, relative to the page.
        ink: Colour of text and axes.
        series: Colours of the models.
        is_interactive: Whether its parts have tooltips and links to places on the page.
        fonts: Font families, the preferred one first.
    """

    width: float
    scale: float
    ink: str
    series: tuple[str, ...]
    is_interactive: bool = False
    fonts: tuple[str, ...] = ("DejaVu Sans",)

    @property
    def full(self) -> int:
        """Number of characters that fit into the whole width."""
        return round(_CHARACTERS * self.width / self.scale / _LAYOUT_WIDTH)

    @property
    def half(self) -> int:
        """Number of characters that fit into a legend column or the labels on the left."""
        return round(self.full * 3 / 7)


@cache
def light_colours() -> dict[str, str]:
    """The colours of the light theme by name, from the style sheet of the page."""
    return colours((files("lm_eval_cora.report") / "templates" / "style.css").read_text(encoding="utf-8"))


def colours(style_sheet: str) -> dict[str, str]:
    """Return the colours that a style sheet defines, by name."""
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", style_sheet))


# Placeholder colours: the page has others in each theme, so its style sheet has the last word.
_INK = "#0b0a01"
_MARKS = tuple(f"#0b0a1{number}" for number in range(1, len(SERIES) + 1))
PAGE = Medium(_LAYOUT_WIDTH, 1.0, _INK, _MARKS, is_interactive=True)
"""The page of a report. Its colours are placeholders that `for_the_page` replaces."""


def for_the_page(style: str) -> str:
    """Replace the placeholder colours in a style attribute by those of the page's style sheet.

    Each has the colour of the light theme as a fallback, which a copy of the chart shows.
    """
    return _PLACEHOLDER.sub(lambda found: _variable(_NAMES[found[0]]), style)


def _variable(name: str) -> str:
    return f"var(--{name}, {light_colours()[name]})"


_NAMES = {_INK: "text", **dict(zip(_MARKS, SERIES, strict=True))}
_PLACEHOLDER = re.compile("|".join(_NAMES))
