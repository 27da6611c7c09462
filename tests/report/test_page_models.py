"""The page of three simulated models in a real browser, on a phone and a desktop, in both themes and on paper."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lm_eval_cora.report.content import Report
from lm_eval_cora.report.page import render
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from tests.support.browser import UNFOLD, as_opened, opened
from tests.support.simulated import knows, says
from tests.support.written import Doc, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("matplotlib")

QUESTIONS = 30
MODELS = {
    "an-organisation/weak-8b-instruct": (0.5, 0.9),
    "an-organisation/strong-70b-instruct": (1.0, 1.0),
    "another/middle-13b": (0.75, 0.97),
}
STRONG = "an-organisation/strong-70b-instruct"


def answering(model: str, knowing: float, keeping: float) -> Callable[[Doc], str]:
    """A model that knows some questions, and then answers most variants correctly."""

    def rule(doc: Doc) -> str:
        known = random.Random(f"{model} {doc['question_id']}").random() < knowing
        dice = random.Random(f"{model} {doc['question_id']} {doc['ordinal']}")
        if known and (doc["ordinal"] == 0 or dice.random() < keeping):
            return knows(doc)
        if doc["ask"] == "yes_no":
            return dice.choice(["yes", "no"])
        return says(doc, dice.choice(doc["printed"])) if doc["ask"] != "select_all" else "none"

    return rule


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("models")
    paths = [
        write(folder / str(number), answering(model, *shares), "cora_demo", {"questions": QUESTIONS}, model).folder
        for number, (model, shares) in enumerate(MODELS.items())
    ]
    return make_report(read_runs(paths))


@pytest.fixture(scope="module")
def file(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(report), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[(400, "dark"), (1280, "light")], ids=["phone dark", "desktop light"])
def visited(request: pytest.FixtureRequest, browser: Browser, file: Path) -> Iterator[Page]:
    with opened(browser, file, *request.param) as page:
        yield page


@pytest.fixture
def page(visited: Page) -> Page:
    as_opened(visited)
    return visited


def box_of(page: Page, selector: str) -> dict[str, float]:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return dict(box)


def width_of(page: Page) -> int:
    size = page.viewport_size
    assert size is not None
    return int(size["width"])


def test_nothing_scrolls_sideways(page: Page) -> None:
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") <= width_of(page)
        page.evaluate(UNFOLD)


def test_the_headline_is_on_the_first_screen(page: Page, report: Report) -> None:
    headline = report.sections[0].headline
    assert headline is not None
    assert headline.sentences[0].startswith(f"{STRONG} is the most reliable: CoRA 1.00")
    box = box_of(page, ".headline p")
    size = page.viewport_size
    assert size is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    assert box["y"] + box["height"] <= size["height"]
    shown = " ".join((page.locator(".headline p").first.text_content() or "").split())
    assert shown == " ".join(" ".join(headline.sentences).split())
    assert page.locator(".headline svg.chart").count() == 1


def test_cora_is_visible_beside_the_name_of_each_model(page: Page) -> None:
    table = page.locator("table[aria-label='Models']")
    rows = table.locator("tbody tr")
    assert [name.strip() for name in rows.locator("th").all_text_contents()] == [
        *(STRONG, "another/middle-13b", "an-organisation/weak-8b-instruct")
    ]
    assert table.locator("thead th").nth(1).inner_text().strip().lower() == "cora"
    for row in rows.all():
        name, cora = row.locator("th").bounding_box(), row.locator("td").first.bounding_box()
        assert name is not None
        assert cora is not None
        assert 0 <= name["x"] < name["x"] + name["width"] <= cora["x"] + 1
        assert cora["x"] + cora["width"] <= width_of(page)
    assert table.evaluate("(table) => table.closest('.scroll').scrollLeft") == 0
    assert ["best" in (row.locator("td").first.get_attribute("class") or "") for row in rows.all()] == [
        *(True, False, False)
    ]


def test_rows_of_the_heat_map_open_their_question(page: Page) -> None:
    links = page.locator("svg.chart a")
    assert links.count() == 3 * 24
    targets = links.evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
    assert len(set(targets)) == len(targets)
    # All links have a target.
    missing = "(targets) => targets.filter((target) => !document.getElementById(target.slice(1)))"
    assert page.evaluate(missing, targets) == []
    for place in (0, len(targets) - 1):
        question = page.locator(targets[place])
        assert not question.locator(".answer").first.is_visible()
        links.nth(place).click()
        question.locator(".answer").first.wait_for(state="visible")
        assert page.url.endswith(targets[place])
        page.wait_for_function(
            """(id) => {
                const box = document.getElementById(id).getBoundingClientRect();
                return box.top > -1 && box.top < innerHeight;
            }""",
            arg=targets[place][1:],
        )


def test_the_page_is_small(file: Path) -> None:
    """Three models of 30 questions; a page of 14,042 questions has to stay below 5 MB."""
    assert file.stat().st_size < 5_000_000
