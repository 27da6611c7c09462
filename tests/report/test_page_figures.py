"""The figures on the page in a real browser: download, links and tooltips, on a dark phone and on a desktop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from lm_eval_cora.report.canvas import theme_colours
from lm_eval_cora.report.content import Answered, Chart, Example, Examples, Report, Section
from lm_eval_cora.report.page import render
from tests.support import made_up
from tests.support.browser import CUT_OFF, as_opened, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHARTS: tuple[Chart, ...] = tuple(
    made() for made in (made_up.curve, made_up.ranges, made_up.dots, made_up.changes, made_up.heat_map)
)
OPEN = "document.querySelectorAll('details.more, details.numbers').forEach((each) => { each.open = true; })"

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    answers = (Answered("original", "right", "A", "A"),)
    examples = [Example(f"q{number}", "stem", "", answers, anchor=f"question-{number}") for number in range(4)]
    # The examples are folded, so that a link has to unfold two elements.
    section = Section("task", "", CHARTS, more=[Examples("Examples", examples)])
    path.write_text(render(Report("Figures", (section, Section("other", "", ())))), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[(400, "dark"), (1280, "light")], ids=["phone", "desktop"])
def visited(request: pytest.FixtureRequest, browser: Browser, file: Path) -> Iterator[Page]:
    with opened(browser, file, *request.param) as page:
        yield page


@pytest.fixture
def page(visited: Page) -> Page:
    as_opened(visited)
    return visited


@pytest.mark.parametrize("visited", [(1280, "light")], indirect=True)
@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: type(chart).__name__)
def test_a_downloaded_figure_needs_no_page(page: Page, browser: Browser, chart: Chart, tmp_path: Path) -> None:
    button = page.get_by_role("button", name=f"Download SVG: {chart.title}", exact=True)
    button.focus()
    with page.expect_download() as caught:
        page.keyboard.press("Enter")
    assert caught.value.suggested_filename == re.sub(r"\W+", "-", chart.title) + ".svg"
    path = tmp_path / "figure.svg"
    caught.value.save_as(path)
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == chart.title
    assert not re.search("var[(]|currentColor|<a |system-ui", text)
    assert {theme_colours()["text"], theme_colours()["series-1"]} <= set(re.findall("#[0-9a-f]{6}", text))
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', text))
    # As large as on a phone, also in programs that do not understand widths in percent.
    alone = browser.new_page()
    alone.goto(path.as_uri())
    box = alone.locator("svg").bounding_box()
    assert box is not None
    assert box["width"] == pytest.approx(4.4 * 96, abs=1)
    alone.close()


def test_nothing_scrolls_sideways_and_no_text_is_cut_off(page: Page) -> None:
    page.evaluate(OPEN)
    assert page.evaluate(CUT_OFF) == []
    size = page.viewport_size
    assert size is not None
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("svg.chart").count() == len(CHARTS)


def test_a_band_leads_to_its_question(page: Page) -> None:
    links = page.locator("svg.chart a")
    assert [link.get_attribute("href") for link in links.all()] == [f"#question-{number}" for number in range(4)]
    assert links.nth(1).get_attribute("aria-label") == "questions 11 to 20; fewest in " + made_up.LONG + ": 0.00"
    question = page.locator("#question-1")
    assert not question.locator(".answer").is_visible()
    links.nth(1).click()
    question.locator(".answer").wait_for(state="visible")
    assert page.url.endswith("#question-1")
    links.nth(2).focus()
    page.keyboard.press("Enter")
    page.locator("#question-2 .answer").wait_for(state="visible")


def test_bars_have_tooltips(page: Page) -> None:
    figure = page.locator("figure", has=page.get_by_text(made_up.changes().title, exact=True)).first
    texts = figure.locator("svg title").all_text_contents()
    assert f"{made_up.MODELS[0]}, shuffled: kept 0.500, lost 0.240, gained 0.050" in texts
    # The bar itself is under the mouse, not another element.
    found = figure.locator("svg").evaluate(
        """(svg) => {
            return [...svg.querySelectorAll("title")].every((title) => {
                title.parentElement.scrollIntoView({ block: "center", behavior: "instant" });
                const box = title.parentElement.getBoundingClientRect();
                const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
                return title.parentElement.contains(hit);
            });
        }"""
    )
    assert found


def test_paper_and_pages_without_scripts_have_no_buttons(page: Page, browser: Browser, file: Path) -> None:
    buttons = page.locator("button.download")
    assert buttons.count() == len(CHARTS)
    assert all(button.is_visible() for button in buttons.all())
    page.emulate_media(media="print")
    assert not any(button.is_visible() for button in buttons.all())
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    still.goto(file.as_uri())
    assert still.locator("button.download").count() == len(CHARTS)
    assert not any(button.is_visible() for button in still.locator("button.download").all())
    context.close()
