"""Settings of the documentation site: `make docs` builds it with Sphinx.

The source is the Markdown of the repository, which reads the same on a code host: relative links between files, and
headings as anchors. The files contain no directives. The list of pages in `docs/index.md` is also the site's menu.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.addnodes import download_reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).resolve().parents[1]

project = "lm-eval-cora"
author = "The lm-eval-cora authors"
project_copyright = author
(version,) = re.findall(r'^__version__ = "(.+)"', (ROOT / "lm_eval_cora/__init__.py").read_text("utf-8"), re.MULTILINE)
release = version

root_doc = "docs/index"
include_patterns = ["docs/*.md", "tasks/README.md", "tasks/*/README.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
# Folders that Sphinx need not search.
exclude_patterns = [".*", "build", "dist", "out", "shared", "lm_eval_cora", "tests", "benchmarks", "scripts"]

extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "html_image"]
myst_dmath_allow_digits = False
myst_fence_as_directive = ["math"]
nitpicky = True
highlight_language = "text"

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(ROOT / "docs/search.js")
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_theme_options = {"navigation_with_keys": True}

linkcheck_timeout = 20
linkcheck_ignore = [r"http://(localhost|HOST)\b"]

LISTED = re.compile(r"^(?:## (?P<caption>.+)|- \[(?P<title>.+?)\]\((?P<page>[^)#]+)\.md\).*)$", re.MULTILINE)
"""A heading, or a page, of the list in `docs/index.md`."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what makes a site of plain Markdown."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (block_formula, None))
    app.connect("source-read", add_menu)
    # Before Sphinx collects the files to download.
    app.connect("doctree-read", link_to_files, priority=100)
    app.connect("build-finished", add_files)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def add_menu(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the menu to the start page, and the tasks' pages to that of all tasks."""
    if page == root_doc:
        for caption, entries in menu(source[0]):
            source[0] += toctree(entries, caption)
    elif page == "tasks/README":
        folders = sorted(path.parent.name for path in (ROOT / "tasks").glob("*/README.md"))
        source[0] += toctree([f"{name} <{name}/README>" for name in folders])


def menu(index: str) -> list[tuple[str, list[str]]]:
    """The captions of the start page, each with the pages below it."""
    parts: list[tuple[str, list[str]]] = []
    for found in LISTED.finditer(index):
        if found["caption"]:
            parts.append((found["caption"], []))
        else:
            parts[-1][1].append(f"{found['title']} <{found['page']}>")
    return [part for part in parts if part[1]]


def toctree(entries: list[str], caption: str = "") -> str:
    """A hidden list of pages, which the theme shows as the menu."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "", "```{toctree}", *options, "", *entries, "```", ""])


def link_to_files(app: Sphinx, doctree: nodes.document) -> None:
    """Keep links to other files of the repository as they are; Sphinx would copy each file into a folder of its own."""
    for link in list(doctree.findall(download_reference)):
        source = ROOT / app.env.relfn2path(link["reftarget"])[0]
        target = Path(app.outdir) / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        # The folders of the site are those of the repository.
        link.replace_self(nodes.reference("", "", *link.children, refuri=link["reftarget"], internal=True))


def add_files(app: Sphinx, error: Exception | None) -> None:
    """Add the start page at the root, the Markdown of each page, and llms.txt at the root."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    refresh = f'<meta http-equiv="refresh" content="0; url={root_doc}.html">'
    link = f'<a href="{root_doc}.html">{project}</a>'
    (site / "index.html").write_text(f"<!doctype html><title>{project}</title>{refresh}{link}\n", encoding="utf-8")
    for page in app.env.found_docs:
        shutil.copyfile(app.env.doc2path(page), site / f"{page}.md")
    overview = ROOT / "docs/llms.txt"
    if overview.is_file():
        text = overview.read_text(encoding="utf-8")
        shutil.copyfile(overview, site / "docs/llms.txt")
        # Its links are relative to docs/; at the root of the site they lead through that folder.
        text = re.sub(r"\]\((?!\w+:)(?!\.\./)", "](docs/", text).replace("](../", "](")
        (site / "llms.txt").write_text(text, encoding="utf-8")


def inline_formula(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula of a line as MathML: it needs no script and no fonts."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def block_formula(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="math">{formula}</div>\n')
    raise nodes.SkipNode
