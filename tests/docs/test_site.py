"""The documentation as a site: built strictly, opened from the disk in a real browser."""

from __future__ import annotations

import re
from contextlib import redirect_stderr
from functools import cache
from html.parser import HTMLParser
from io import StringIO
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")

from sphinx.cmd.build import main as sphinx
from sphinx.search.en import SearchEnglish

from tests.support.browser import opened
from tests.support.markdown import ROOT, anchors, broken
from tests.support.written import put

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.filterwarnings("ignore:.*Sphinx API modifications")  # of the extensions
SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tasks/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "tasks").glob("*/README.md")),
]
TOP_LEVEL = [str(path.relative_to(ROOT).with_suffix("")) for path in SOURCES if path.parents[1] != ROOT / "tasks"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built with the options of `make docs`."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-d", str(tmp_path_factory.mktemp("doctrees")), ".", str(folder)]
    told = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(told):
        patch.chdir(ROOT)
        patch.setattr(SearchEnglish, "stem", cache(SearchEnglish.stem))  # most words come many times
        status = sphinx(["-c", "docs", "-b", "html", "-W", "--keep-going", "-q", "-E", *options])
    assert (told.getvalue(), status) == ("", 0)
    return folder


class Parts(HTMLParser):
    """The links of a page, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.links = []
        self.loaded = []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in ("img", "script", "iframe", "source") and "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Parts(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_the_markdown_lead_somewhere(source):
    assert not broken(source)


def test_every_page_is_on_the_site_and_in_the_menu(site, pages):
    built = {str(path.relative_to(site).with_suffix("")) for path in pages}
    named = {str(path.relative_to(ROOT).with_suffix("")) for path in SOURCES}
    assert named <= built
    start = site / "docs/index.html"
    linked = {(start.parent / link.partition("#")[0]).resolve() for link in pages[start].links}
    assert {site / f"{name}.html" for name in named - {"docs/index"}} <= linked


def test_nothing_is_loaded_from_elsewhere(site, pages):
    assert not [link for parts in pages.values() for link in parts.loaded if re.match(r"(https?:)?//", link)]
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?(https?:)?//|@import", styles)


def test_formulas_are_mathml(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    for name in ("conf.py", "_static"):
        (tmp_path / "docs" / name).symlink_to(ROOT / "docs" / name)
    text = "# Page\n\nHere $\\frac{1}{N}$ is, for 5$ and 6$.\n\n$$\\sum_i x_i \\ge c$$\n\n```math\na^2\n```\n"
    (tmp_path / "docs/index.md").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert sphinx(["-c", "docs", "-b", "html", "-W", "-q", ".", "out"]) == 0
    html = (tmp_path / "out/docs/index.html").read_text()
    assert html.count("<math ") == 3
    assert "for 5$ and 6$." in html
    assert not re.search(r"MathJax\.js|cdn\.", html)


def test_the_start_page_and_the_overview_for_language_models(site):
    assert 'url=docs/index.html"' in (site / "index.html").read_text()
    for overview in (site / "llms.txt", site / "docs/llms.txt"):
        text = overview.read_text()
        assert re.match(r"# .+\n\n> .+\n\n## ", text)
        assert (found := re.findall(r"^- \[.+?\]\((.+?)\): .+", text, re.MULTILINE))
        assert all((overview.parent / link).is_file() for link in found)
        assert text.count("\n- ") == len(found)


def test_anchors_are_those_of_code_hosts():
    text = "# A b\n\n## SCORE (`_prompts`, `_order`)\n\n## A b\n\n## A_b-c: *d*, [e](f)!\n\n    # code\n"
    assert anchors(text) == {"a-b", "score-_prompts-_order", "a-b-1", "a_b-c-d-e"}


def test_wrong_links_are_found(tmp_path):
    links = "[a](#one) [b](#two) [c](other.md) [d](page.md#one) [e](page.md#x) [f](https://x.org)"
    lines = ["# One\n", links, '![g](no.png) <img src="none.png">\n', "| [h](none.md) |", "|---|"]
    page = put(tmp_path / "page.md", lines)
    assert sorted(broken(page)) == ["#two", "no.png", "none.md", "none.png", "other.md", "page.md#x"]


@pytest.fixture(scope="module")
def page(browser, site):
    with opened(browser, site / "docs/index.html") as page:
        yield page


def test_pages_have_no_errors_and_do_not_scroll_sideways(page, site):
    wide = []
    for name in (*TOP_LEVEL, "search", "docs/example-report"):
        page.goto((site / f"{name}.html").as_uri())
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            needed, there = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            wide += [f"{name} at {width} px: {needed} px"] * (needed > there)
    assert not wide


@pytest.mark.parametrize(("words", "target"), [("consistency rate", "docs/metrics"), ("num_fewshot", "docs/tasks")])
def test_search_finds_the_page(page, site, words, target):
    page.goto((site / "docs/index.html").as_uri())
    page.locator("input.sidebar-search").fill(words)
    page.keyboard.press("Enter")
    # Sphinx marks the list as complete with a sentence above it.
    page.locator("p.search-summary", has_text=re.compile(r"[Ff]ound \d+ page|finished")).wait_for()
    links = [str(link.get_attribute("href")) for link in page.locator("ul.search li a").all()]
    assert any(f"{target}.html" in link for link in links[:5]), links
    page.locator(f'ul.search a[href*="{target}.html"]').first.click()
    page.wait_for_url(f"**/{target}.html*")


def test_the_theme_follows_the_system(page):
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", color)[:3])) > 384) == (scheme == "light")
