"""Charts of a report as SVG elements that adopt the colours (light or dark) and the width of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from hashlib import sha256
from xml.etree import ElementTree

from lm_eval_cora.report.content import Chart
from lm_eval_cora.report.drawing.canvas import TIP
from lm_eval_cora.report.drawing.charts import drawn
from lm_eval_cora.report.drawing.medium import PAGE, for_the_page
from lm_eval_cora.report.drawing.names import printable


def draw(chart: Chart) -> str:
    """Draw a chart."""
    file = io.BytesIO()
    with drawn(chart, PAGE, svg_fonttype="none") as (figure, tips):
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _for_a_page(file.getvalue(), chart.title, tips)


# Depending on its version, matplotlib writes the font family alone or after the size.
_FAMILY = re.compile(r"(font-family: |font: [^;]*?px )[^;]*")
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+|(?<=^#).+")
_STEP = re.compile(r"([A-Zz])([^A-Zz]*)")


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
        element.attrib.pop("target", None)  # links stay on the page
        element.tail = None  # indentation
        if element.tag != "text" and len(element):
            element.text = None
        if "d" in element.attrib:
            element.set("d", _short(element.attrib["d"]))
    for element in list(root.iter()):
        if (identity := element.get("id", "")).startswith(TIP):
            _add_tip(element, printable(tips[int(identity.removeprefix(TIP))]))
    _rename(list(root.iter()), f"c{sha256(svg).hexdigest()[:10]}-")
    # The links in a picture would be hidden from screen readers.
    role = "img" if root.find(".//a") is None else "group"
    box = root.attrib["viewBox"]
    root.attrib.clear()
    # These replace matplotlib's style element, which would apply to the whole page.
    shape = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    page = {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", "role": role, "width": "100%"}
    root.attrib |= {**page, "aria-label": printable(title), "viewBox": box, **shape}
    return ElementTree.tostring(root, encoding="unicode")


def _add_tip(element: ElementTree.Element, text: str) -> None:
    """Add a tooltip, which is also the name of the links inside."""
    tip = ElementTree.Element("title")
    tip.text = text
    element.insert(0, tip)
    for link in element.iter("a"):
        link.set("aria-label", text)


def _local(name: str) -> str:
    """A tag or attribute name without its XML namespace."""
    return name.rpartition("}")[2]


def _style(value: str) -> str:
    return _FAMILY.sub(r"\1system-ui, sans-serif", for_the_page(value))


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
        if letter == "L" and at[1] == before[1]:
            parts.append(f"H{at[0]}")
        elif letter == "L" and at[0] == before[0]:
            parts.append(f"V{at[1]}")
        else:
            parts.append(letter + " ".join(at))
        before = at[-2:] or before
    return "".join(parts)


def _rename(elements: Sequence[ElementTree.Element], prefix: str) -> None:
    """Add a prefix to the ids that are referenced and remove all other ids. Links have anchors of the page."""
    names = [element for element in elements if element.tag != "a"]
    used = {found for element in names for value in element.attrib.values() for found in _REFERENCE.findall(value)}
    for element in names:
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for name, value in element.attrib.items():
            element.set(name, prefix + value if name == "id" else _REFERENCE.sub(rf"{prefix}\g<0>", value))
