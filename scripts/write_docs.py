"""Write the generated parts of the documentation, and name the files that changed.

- The tables of a page: from `<!-- table: NAME -->` to `<!-- end of table -->`, for each NAME in `TABLES`. The text
  around them is written by hand.
- `docs/api.md`: the public functions and classes with their signatures and docstrings.
- `docs/llms.txt`: the pages that `docs/index.md` lists, for language models (https://llmstxt.org).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.docs_api import api_page
from scripts.docs_tables import ROOT, TABLES, TASKS

DOCS = ROOT / "docs"

TABLE = re.compile(r"(<!-- table: (?P<name>[\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def documents() -> Iterator[tuple[Path, str]]:
    """Yield the path and the content of each file with generated parts."""
    for page in sorted([*DOCS.glob("*.md"), *TASKS.glob("**/README.md")]):
        text = page.read_text(encoding="utf-8")
        if TABLE.search(text):
            yield page, with_tables(text)
    yield DOCS / "api.md", api_page()
    yield DOCS / "llms.txt", llms((DOCS / "index.md").read_text(encoding="utf-8"))


def main() -> None:
    """Write the files that are missing or out of date, and name them."""
    for path, content in documents():
        if not path.is_file() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")


def with_tables(text: str) -> str:
    """A page with its tables written again."""
    return TABLE.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n{found[3]}", text)


def llms(index: str) -> str:
    """The overview for language models: title, summary and pages of the start page."""
    title, summary, rest = re.fullmatch(r"(# .+?)\n\n(.+?)\n\n(## .+)", index.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    return f"{title}\n\n> {' '.join(summary.split())}\n\n{rest}\n"


if __name__ == "__main__":
    main()
