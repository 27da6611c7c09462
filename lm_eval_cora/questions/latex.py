r"""Boxes around answers in LaTeX: "\boxed{5}"."""

import re

BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_WITHOUT_BRACES = re.compile(r"-?\d+(?:\.\d+)?|\\(?!boxed|fbox)[a-zA-Z]+(?:\{[^{}]*\})*|[a-zA-Z](?![a-zA-Z])")


def boxes(text: str) -> list[str]:
    """Return the contents of all closed boxes of a text, in order; a nested box is part of the outer one."""
    contents, end = [], 0
    for box in BOX.finditer(text):
        if box.start() >= end and (content := box_content(text, box.end())) is not None:
            contents.append(content.strip())
            end = box.end() + len(content)
    return contents


def is_box(text: str, start: int) -> bool:
    """Whether a box begins at an index: with a brace, or without one as TeX allows."""
    return text.startswith("{", start) or _WITHOUT_BRACES.match(text, start) is not None


def box_content(text: str, start: int) -> str | None:
    """Return the content of the box that begins at an index; None if the box is not closed."""
    if not text.startswith("{", start):
        without = _WITHOUT_BRACES.match(text, start)
        return without.group() if without else ""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)  # an escaped brace does not count
        if depth == 0:
            return text[start + 1 : brace.start()]
    return None
