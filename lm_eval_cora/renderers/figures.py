"""Charts of a report as files for a paper: SVG, PDF and PNG."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from lm_eval_cora.bars import bar
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import printable
from lm_eval_cora.renderers.canvas import PAGE, TIP, Medium, for_the_page
from lm_eval_cora.renderers.charts import drawn
from lm_eval_cora.report.content import Chart
from lm_eval_cora.tables.table_formats import as_latex
from lm_eval_cora.writing import free_name, replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.4  # in inches: a column of usual two-column papers
FORMATS = ("svg", "pdf", "png")
# TrueType fonts for characters that matplotlib's own font lacks. They are used if the machine has them.
_OTHER_SCRIPTS = (
    *("Arial Unicode MS", "Droid Sans Fallback", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei"),
    *("Microsoft YaHei", "MS Gothic", "Malgun Gothic", "Unifont"),
)
_NO_METADATA: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
# Depending on its version, matplotlib writes the font family alone or after the size.
_FAMILY = re.compile(r"(font-family: |font: [^;]*?px )[^;]*")
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+|(?<=^#).+")
_STEP = re.compile(r"([A-Zz])([^A-Zz]*)")


def draw(chart: Chart) -> str:
    """Draw a chart as an element of a page."""
    with drawn(chart, PAGE) as (figure, tips):
        return _for_a_page(_saved(figure, "svg", **_NO_METADATA), chart.title, tips)


def _for_a_page(svg: bytes, title: str, tips: Sequence[str]) -> str:
    """Turn matplotlib's SVG file into an element with unique ids and with the colours and fonts of the page."""
    root = ElementTree.fromstring(svg)
    for parent in list(root.iter()):
        for child in (child for child in list(parent) if child.tag.endswith(("}metadata", "}style"))):
            parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # without the XML namespace
        element.attrib = {
            name.rpartition("}")[2]: for_the_page(_FAMILY.sub(r"\1system-ui, sans-serif", value))
            for name, value in element.attrib.items()
        }
        element.attrib.pop("target", None)  # links stay on the page
        element.tail = None  # indentation
        if element.tag != "text" and len(element):
            element.text = None
        if "d" in element.attrib:
            element.set("d", _short(element.attrib["d"]))
    for element in list(root.iter()):
        if (identity := element.get("id", "")).startswith(TIP):
            tip = ElementTree.Element("title")
            tip.text = printable(tips[int(identity.removeprefix(TIP))])
            element.insert(0, tip)
            for link in element.iter("a"):
                link.set("aria-label", tip.text)
    # Links have anchors of the page.
    _rename([element for element in root.iter() if element.tag != "a"], f"c{sha256(svg).hexdigest()[:10]}-")
    # The links in a picture would be hidden from screen readers.
    role = "img" if root.find(".//a") is None else "group"
    box = root.attrib["viewBox"]
    root.attrib.clear()
    # These replace matplotlib's style element, which would apply to the whole page.
    shape = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    page = {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", "role": role, "width": "100%"}
    root.attrib |= {**page, "aria-label": printable(title), "viewBox": box, **shape}
    return ElementTree.tostring(root, encoding="unicode")


def _short(path: str) -> str:
    """Shorten the data of a path: two decimals, and one number for a horizontal or vertical line.

    Example:
        >>> _short("M 1.004 2 L 3 2 L 3 4.56789 z")
        'M1 2H3V4.57z'
    """
    parts: list[str] = []
    before: list[str] = []
    for letter, numbers in _STEP.findall(path):
        at = [f"{round(float(number), 2) + 0.0:.10g}" for number in numbers.split()]
        is_flat, is_steep = (letter == "L" and at[axis] == before[axis] for axis in (1, 0))
        parts.append(f"H{at[0]}" if is_flat else f"V{at[1]}" if is_steep else letter + " ".join(at))
        before = at[-2:] or before
    return "".join(parts)


def _rename(elements: Sequence[ElementTree.Element], prefix: str) -> None:
    """Add a prefix to the ids that are referenced and remove all other ids."""
    used = {found for element in elements for value in element.attrib.values() for found in _REFERENCE.findall(value)}
    for element in elements:
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for name, value in element.attrib.items():
            element.set(name, prefix + value if name == "id" else _REFERENCE.sub(rf"{prefix}\g<0>", value))


def write_figures(
    charts: Sequence[tuple[str, Chart]], folder: Path, width: float | None = None, only: Sequence[str] = ()
) -> list[Path]:
    """Write charts, or those with some names, as files for a paper, which has captions, with their numbers as LaTeX."""
    width = WIDTH if width is None else width
    if not 2 <= width <= 20:
        raise UserError(f"the width of a figure is 2 to 20 inches, not {width:g}")
    names = dict.fromkeys(chart.name.partition("-")[0] for _, chart in charts)
    if unknown := set(only) - names.keys():
        raise UserError(f"--only {min(unknown)}: there is no such figure. The figures are {', '.join(names)}")
    paths, taken, several = [], set[str](), len(dict(charts)) > 1
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [pair for pair in charts if pair[1].name.partition("-")[0] in (only or names)]
    for task, chart in bar(chosen, "drawing", unit="figure"):
        name = free_name("_".join(map(_stable, filter(None, (task if several else "", chart.name)))), taken)
        with drawn(chart, _paper(width)) as (drawing, _):
            for suffix in FORMATS:
                paths.append(folder / f"{name}.{suffix}")
                replace_file(paths[-1], _content(drawing, suffix, printable(chart.title)))
        paths.append(folder / f"{name}.tex")
        replace_file(paths[-1], as_latex([chart.numbers]).encode())
    return paths


def _stable(text: str) -> str:
    """A part of a file name that depends on the text alone; its digest follows if characters are replaced or missing.

    Example:
        >>> _stable("cora_demo"), _stable("org/model")
        ('cora_demo', 'org-model-c87c0c64')
    """
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", text)[:40].strip("-")
    return safe if safe == text else f"{safe}-{sha256(text.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def figure(chart: Chart, suffix: str, width: float = WIDTH) -> bytes:
    """Draw one chart as the content of a file for a paper."""
    with drawn(chart, _paper(width)) as (drawing, _):
        return _content(drawing, suffix, printable(chart.title))


def _content(figure: Figure, suffix: str, title: str) -> bytes:
    if suffix == "pdf":
        return _saved(figure, suffix, Title=title, CreationDate=None)
    if suffix == "png":  # on white, because slides may be dark
        dpi = min(300, 60_000 / figure.get_size_inches()[1])  # matplotlib draws at most 65,535 pixels
        return _saved(figure, suffix, dpi, "white", Title=title, Software=None)
    svg = _saved(figure, suffix, Title=title, **_NO_METADATA).decode()
    # matplotlib writes the title as an element, too. The file has no references to other files.
    svg = re.sub(r"<!DOCTYPE[^>]*>\s*", "", svg, count=1)
    return re.sub(r"<metadata>.*?</metadata>\s*", "", svg, count=1, flags=re.DOTALL).encode()


def _saved(figure: Figure, kind: str, dpi: float = 72, facecolor: str = "none", **metadata: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi, facecolor=facecolor, metadata=metadata)
    return file.getvalue()


def _paper(width: float) -> Medium:
    return Medium(width, 0.8, fonts=("DejaVu Sans", *_installed()))  # 8 points


@cache
def _installed() -> tuple[str, ...]:
    """The fonts for other scripts that the machine has. matplotlib complains about missing ones."""
    from matplotlib.font_manager import fontManager

    found = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _OTHER_SCRIPTS if name in found)
