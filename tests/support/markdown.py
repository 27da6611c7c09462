"""What a page of the documentation contains: code blocks, headings, links. Read as a code host reads it."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMENT = re.compile(r"<!-- (?P<text>.*?) -->\s*", re.DOTALL)


def tokens(text):
    """The tokens of a page."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(text)


@dataclass(frozen=True)
class Block:
    """A code block."""

    language: str
    """Empty for an indented block, too."""
    code: str
    comment: str
    """The text of the comment directly before it."""
    line: int
    is_output: bool
    """Whether it follows directly after another code block."""


def blocks(text):
    """The code blocks of a page."""
    found = []
    parts = tokens(text)
    for number, token in enumerate(parts):
        if token.type in ("fence", "code_block"):
            before = parts[number - 1] if number else None
            comment = COMMENT.fullmatch(before.content) if before is not None and before.type == "html_block" else None
            is_output = before is not None and before.type == "fence"
            name = token.info.strip().partition(" ")[0]
            found.append(Block(name, token.content, comment["text"] if comment else "", token.map[0] + 1, is_output))
    return found


@lru_cache
def anchors(text):
    """The anchors of the headings, as code hosts make them."""
    parts = tokens(text)
    titles = [parts[number + 1] for number, token in enumerate(parts) if token.type == "heading_open"]
    found = set()
    for title in titles:
        words = "".join(child.content for child in title.children if child.type in ("text", "code_inline"))
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        numbers = (f"{name}-{number}" if number else name for number in range(len(titles)))
        found.add(next(each for each in numbers if each not in found))
    return found


def links(text):
    """Where the links and images of a page lead."""
    inline = [child for token in tokens(text) for child in token.children or []]
    targets = [
        child.attrGet("href") or child.attrGet("src") for child in inline if child.type in ("link_open", "image")
    ]
    html = [token.content for token in [*tokens(text), *inline] if token.type in ("html_block", "html_inline")]
    return [*map(str, targets), *(found for part in html for found in re.findall(r'(?:href|src)="([^"]+)"', part))]


def broken(page):
    """The relative links of a page that lead to no file, or to no heading of a page."""
    wrong = []
    for link in links(page.read_text()):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        is_found = target.is_file()
        if is_found and anchor and target.suffix == ".md":
            is_found = anchor in anchors(target.read_text())
        if not is_found:
            wrong.append(link)
    return wrong
