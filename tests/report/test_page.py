"""The page in a real browser, opened from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lm_eval_cora.report.content import Headline, Number, Report, Section
from lm_eval_cora.report.page import render
from tests.support import made_up
from tests.support.browser import UNFOLD, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = 360

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(made_up.report()), encoding="utf-8")
    return path


def style(page: Page, selector: str, name: str) -> str:
    script = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]"
    return str(page.evaluate(script, [selector, name]))


def column(page: Page, number: int) -> list[str]:
    cells = page.locator(f"table[data-sortable] tbody tr > :nth-child({number})")
    return [text.strip() for text in cells.all_text_contents()]


@pytest.fixture
def visit(browser: Browser, file: Path) -> Iterator[Page]:
    with opened(browser, file) as page:
        yield page


@pytest.fixture
def phone(browser: Browser, file: Path) -> Iterator[Page]:
    with opened(browser, file, PHONE, "dark") as page:
        yield page


def test_the_page_is_self_contained_and_runs_no_injected_script(visit: Page) -> None:
    visit.evaluate(UNFOLD)
    visit.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
    assert visit.locator("pre").last.text_content() == made_up.ATTACK.replace("\x00", "␀").replace("\x1b", "␛")
    assert visit.title() == made_up.report().title


def test_a_script_that_got_into_the_page_would_not_run(browser: Browser, file: Path, tmp_path: Path) -> None:
    changed = tmp_path / "report.html"
    text = file.read_text(encoding="utf-8").replace("</main>", "<script>window.hacked=1</script></main>")
    changed.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto(changed.as_uri())
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("#theme").is_visible()
    page.close()


def test_every_chart_is_there(visit: Page) -> None:
    charts = visit.locator("svg[role=img]")
    assert charts.count() == 4
    for chart in charts.all():
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 200
        assert box["height"] > 100
    assert visit.locator("details.numbers table").count() == 4


def test_a_heading_sorts_its_column_up_and_then_down(visit: Page) -> None:
    texts = [(str(row[0]), row[2]) for row in made_up.categories().rows]
    scores = {name: score.value for name, score in texts if isinstance(score, Number)}
    undefined = [name for name, score in scores.items() if isnan(score)]
    defined = sorted((name for name in scores if name not in undefined), key=scores.__getitem__)
    heading = visit.get_by_role("columnheader", name="CoRA").last
    assert column(visit, 1) == list(scores)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(visit, 1) == defined + undefined
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(visit, 1) == defined[::-1] + undefined
    visit.get_by_role("button", name="Category").press("Enter")
    assert heading.get_attribute("aria-sort") == "none"
    assert column(visit, 1)[:3] == ["Anatomy", "Änderung", "biology"]
    assert column(visit, 1)[-1] == "zoology"
    visit.get_by_role("button", name="Questions").click()
    counts = [int(text.replace(",", "")) for text in column(visit, 2)]
    assert counts == sorted(counts)
    assert "1,119" in column(visit, 2)


def test_the_theme_button_goes_round(visit: Page) -> None:
    button = visit.locator("#theme")
    seen = {}
    for _ in range(4):
        seen[button.text_content()] = style(visit, "body", "backgroundColor")
        button.click()
    assert list(seen) == ["Theme: auto", "Theme: light", "Theme: dark"]
    assert seen["Theme: auto"] == seen["Theme: light"] == "rgb(255, 255, 255)" != seen["Theme: dark"]
    visit.reload()
    # A busy browser may reload the page before it has stored the choice, which is then lost. Choose again.
    for _ in range(100):
        if button.text_content() == "Theme: light":
            break
        button.click()
        visit.reload()
    assert button.text_content() == "Theme: light"


def test_it_is_as_dark_as_the_system(visit: Page, phone: Page) -> None:
    for selector, name in (
        ("svg text", "fill"),
        ("body", "backgroundColor"),
        ("body", "color"),
        ("[style*='stroke: var(--series-1,']", "stroke"),
    ):
        assert style(visit, selector, name) != style(phone, selector, name)
    assert style(phone, "svg text", "fill") == style(phone, "body", "color") == "rgb(231, 233, 234)"
    assert style(phone, "html", "colorScheme") == "dark"


def test_paper_is_white(phone: Page) -> None:
    phone.emulate_media(media="print")
    assert style(phone, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert not phone.locator("nav").is_visible()
    assert phone.pdf()[:5] == b"%PDF-"


def test_on_a_phone_only_tables_scroll_sideways(phone: Page) -> None:
    for _ in range(2):
        assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE
        phone.evaluate(UNFOLD)
    wide = phone.locator(".scroll").first
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    name = wide.locator("tbody th").first
    before = name.bounding_box()
    wide.evaluate("(box) => { box.scrollLeft = 200; }")
    assert name.bounding_box() == before is not None


def test_a_question_unfolds(visit: Page) -> None:
    example = visit.locator("details.example").first
    answer = example.locator(".answer").first
    assert not answer.is_visible()
    example.locator("summary").click()
    assert answer.is_visible()
    assert answer.locator("pre").text_content() == "The answer is A."
    assert " ".join((answer.locator(".badge").text_content() or "").split()) == "✓ right"
    picked = example.locator(".answer").nth(1).locator("li", has_text="picked")
    assert (picked.text_content() or "").startswith("BBeta blockers")


def test_cells_show_numbers_with_error_and_mark(visit: Page) -> None:
    cell = visit.locator("td", has_text="0.744").first
    assert cell.text_content() == "0.744 ± 0.012"
    assert "best" in (cell.get_attribute("class") or "").split()
    assert cell.get_attribute("data-value") == "0.744"
    assert visit.locator("td", has_text="n/a").first.get_attribute("data-value") == ""


def test_equal_reports_give_equal_pages(file: Path) -> None:
    assert render(made_up.report()) == file.read_text(encoding="utf-8")


def test_sections_without_anything() -> None:
    page = render(replace(made_up.report(), sections=(Section("alone", "", ()),)))
    assert page.startswith("<!DOCTYPE html>")
    assert "<h2>alone</h2>" in page
    assert "<nav" not in page
    assert "There is nothing to show." in render(Report("Empty", ()))


def test_a_short_name_is_not_marked_inside_other_words() -> None:
    found = Headline(["A is the most reliable: CoRA 0.90, above C++. It keeps more than C."], names=["A", "C++", "C"])
    page = render(Report("Title", [Section("task", "subtitle", (), headline=found)]))
    a, plus, c = (f'<bdi class="model">{name}</bdi>' for name in ("A", "C++", "C"))
    assert f"{a} is the most reliable: CoRA 0.90, above {plus}. It keeps more than {c}." in page
