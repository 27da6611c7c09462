"""Names in charts: without unprintable characters, and wrapped."""

from __future__ import annotations

import re
from unicodedata import east_asian_width


def columns(text: str) -> int:
    """Return the width of a text in characters of the usual width."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def printable(text: str) -> str:
    r"""Replace unprintable characters, and put the text on one line.

    XML does not allow control characters, and a text-direction character would affect the whole chart.
    """
    return "".join(character if character.isprintable() else "\ufffd" for character in " ".join(text.split()))


def wrapped(text: str, width: int, lines: int | None = None) -> str:
    r"""Wrap a name; replace its unprintable characters."""
    text = printable(text) or "-"
    # matplotlib drops legend entries that start with an underscore.
    text = f" {text}" if text.startswith("_") else text
    width = max(8, width * len(text) // columns(text))
    found = _wrapped(text if lines is None else text[: (width + 1) * (lines + 1)], width)
    if lines is not None and len(found) > lines:
        found = [*found[: lines - 1], found[lines - 1][: width - 1].rstrip(" -_/") + "…"]
    return "\n".join(found)


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
