"""The page in a real browser, opened from a file."""

import re
from dataclasses import replace
from math import isnan
from xml.etree import ElementTree

import pytest

from lm_eval_cora.renderers.page import render
from lm_eval_cora.report.content import Example, Examples, Headline, Report, Section, ShownAnswer
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.tables.number import Number
from tests.support import made_up
from tests.support.browser import CUT_OFF, UNFOLD, as_opened, opened
from tests.support.written import runs_by_hand

PHONE = 360

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(made_up.report()))
    return path


def style(page, selector, name):
    script = "([selector, name]) => getComputedStyle(document.querySelector(selector))[name]"
    return str(page.evaluate(script, [selector, name]))


def column(page, number):
    cells = page.locator(f"table[data-sortable] tbody tr > :nth-child({number})")
    return [text.strip() for text in cells.all_text_contents()]


def box_of(place):
    box = place.bounding_box()
    assert box is not None
    return box


@pytest.fixture(scope="module")
def visit(browser, file):
    with opened(browser, file) as page:
        yield page


@pytest.fixture(scope="module")
def phone(browser, file):
    with opened(browser, file, PHONE, "dark") as page:
        yield page


def test_the_page_is_self_contained_and_runs_no_injected_script(visit):
    as_opened(visit)
    visit.evaluate(UNFOLD)
    visit.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
    assert visit.locator("pre").last.text_content() == made_up.ATTACK.replace("\x00", "␀").replace("\x1b", "␛")
    assert visit.title() == made_up.report().title


def test_a_script_that_got_into_the_page_would_not_run(browser, file, tmp_path):
    changed = tmp_path / "report.html"
    text = file.read_text().replace("</main>", "<script>window.hacked=1</script></main>")
    changed.write_text(text)
    page = browser.new_page()
    page.goto(changed.as_uri())
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("#theme").is_visible()
    page.close()


def test_a_heading_sorts_its_column_up_and_then_down(visit):
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
    assert column(visit, 1)[:3] == ["Anatomy", "Änderung", "biology"]
    visit.get_by_role("button", name="Questions").click()
    counts = [int(text.replace(",", "")) for text in column(visit, 2)]
    assert counts == sorted(counts)


def test_it_is_as_dark_as_the_system_except_on_paper(visit, phone):
    for selector, name in (
        *(("svg text", "fill"), ("body", "backgroundColor"), ("body", "color")),
        ("[style*='stroke: var(--series-1,']", "stroke"),
    ):
        assert style(visit, selector, name) != style(phone, selector, name)
    assert style(phone, "svg text", "fill") == style(phone, "body", "color")
    assert style(phone, "html", "colorScheme") == "dark"
    phone.emulate_media(media="print")  # paper is white
    assert style(phone, "body", "backgroundColor") == style(visit, "body", "backgroundColor")
    assert not phone.locator("nav").is_visible()


def test_on_a_phone_only_tables_scroll_sideways(phone):
    phone.emulate_media(media="screen")
    for _ in range(2):
        assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE
        phone.evaluate(UNFOLD)
    wide = phone.locator(".scroll").first
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    before = box_of(wide.locator("tbody th").first)
    wide.evaluate("(box) => { box.scrollLeft = 200; }")
    assert box_of(wide.locator("tbody th").first) == before


def test_the_theme_button_goes_round(visit):
    button = visit.locator("#theme")
    seen = {}
    for _ in range(4):
        seen[button.text_content()] = style(visit, "body", "backgroundColor")
        button.click()
    assert list(seen) == ["Theme: auto", "Theme: light", "Theme: dark"]
    assert seen["Theme: auto"] == seen["Theme: light"] != seen["Theme: dark"]
    visit.reload()
    # A busy browser may reload the page before it has stored the choice, which is then lost. Choose again.
    for _ in range(100):
        if button.text_content() == "Theme: light":
            break
        button.click()
        visit.reload()
    assert button.text_content() == "Theme: light"


def test_sections_without_anything():
    page = render(replace(made_up.report(), sections=(Section("alone", "", ()),)))
    assert page.startswith("<!DOCTYPE html>")
    assert "<h2>alone</h2>" in page
    assert "<nav" not in page
    assert "There is nothing to show." in render(Report("Empty", ()))


def test_a_short_name_is_not_marked_inside_other_words():
    found = Headline(["A is the most reliable: CoRA 0.90, above C++. It keeps more than C."], names=["A", "C++", "C"])
    page = render(Report("Title", [Section("task", "subtitle", (), headline=found)]))
    a, plus, c = (f'<bdi class="model">{name}</bdi>' for name in ("A", "C++", "C"))
    assert f"{a} is the most reliable: CoRA 0.90, above {plus}. It keeps more than {c}." in page


def test_several_tasks_have_one_headline_each():
    sections = [Section(task, "", (), headline=Headline([f"{task} holds up."])) for task in ("one", "two")]
    page = render(Report("Title", sections))
    assert [page.count(f"{task} holds up.") for task in ("one", "two")] == [1, 1]


CHARTS = [made_up.curve(), made_up.ranges(), made_up.dots(), made_up.changes(), made_up.heat_map()]
OPEN = "document.querySelectorAll('details:is(.more, .fold, .numbers)').forEach((each) => { each.open = true; })"

OPEN_MAP = """
    let part = document.querySelector("svg.chart a");
    while ((part = part.parentElement.closest("details"))) { part.open = true; }
"""


@pytest.fixture(scope="module")
def figures_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    answers = (ShownAnswer("original", "right", "A", "A"),)
    examples = [Example(f"q{number}", "stem", "", answers, anchor=f"question-{number}") for number in range(4)]
    # The examples are folded, so that a link has to unfold two elements.
    section = Section("task", "", CHARTS, more=[Examples("Examples", examples)])
    path.write_text(render(Report("Figures", (section, Section("other", "", ())))), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=[(400, "dark"), (1280, "light")], ids=["phone", "desktop"])
def visited(request, browser, figures_file):
    with opened(browser, figures_file, *request.param) as page:
        yield page


@pytest.fixture
def page(visited):
    as_opened(visited)
    return visited


@pytest.mark.parametrize("visited", [(1280, "light")], indirect=True)
@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: type(chart).__name__)
def test_a_downloaded_figure_needs_no_page(page, browser, chart, tmp_path):
    page.evaluate(OPEN)
    button = page.get_by_role("button", name=f"Download SVG: {chart.title}", exact=True)
    button.focus()
    with page.expect_download() as caught:
        page.keyboard.press("Enter")
    assert caught.value.suggested_filename == re.sub(r"\W+", "-", chart.title) + ".svg"
    path = tmp_path / "figure.svg"
    caught.value.save_as(path)
    text = path.read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.findtext("{http://www.w3.org/2000/svg}title") == chart.title
    assert not re.search("var[(]|currentColor|<a |system-ui", text)
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', text))
    # As large as on a phone, also in programs that do not understand widths in percent.
    alone = browser.new_page()
    alone.goto(path.as_uri())
    assert box_of(alone.locator("svg"))["width"] == pytest.approx(4 * 96, abs=1)
    alone.close()


def test_nothing_scrolls_sideways_and_no_text_is_cut_off(page):
    page.evaluate(OPEN)
    assert page.evaluate(CUT_OFF) == []
    size = page.viewport_size
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator("svg.chart").count() == len(CHARTS)


def test_a_band_leads_to_its_question(page):
    page.evaluate(OPEN_MAP)
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


STRONG = "an-organisation/strong-70b-instruct"
ANSWERS = {
    "an-organisation/weak-8b-instruct": {"original": "1" * 15 + "0" * 15, "a": "1" * 12 + "0" * 18},
    STRONG: {"original": "1" * 30, "a": "1" * 30},
    "another/middle-13b": {"original": "1" * 22 + "0" * 8, "a": "1" * 20 + "0" * 10},
}


def test_the_headline_and_the_scores_are_on_the_first_screen(browser, tmp_path):
    report, file = make_report(runs_by_hand(ANSWERS)), tmp_path / "report.html"
    file.write_text(render(report))
    expected = report.sections[0].headline
    assert expected is not None
    assert expected.sentences[0].startswith(f"{STRONG} is the most reliable: CoRA 1.00")
    for width, scheme in ((400, "dark"), (1280, "light")):
        with opened(browser, file, width, scheme) as page:
            box, size = box_of(page.locator(".headline p").first), page.viewport_size
            assert box["y"] + box["height"] <= size["height"]
            shown = " ".join((page.locator(".headline p").first.text_content() or "").split())
            assert shown == " ".join(" ".join(expected.sentences).split()).replace("-0.", "\u22120.")
            assert page.locator(".headline svg.chart").count() == 1
            table = page.locator("table[aria-label='Models']")
            rows = table.locator("tbody tr")
            names = [name.strip() for name in rows.locator("th").all_text_contents()]
            assert names == [STRONG, "another/middle-13b", "an-organisation/weak-8b-instruct"]
            for row in rows.all():
                name, cora = box_of(row.locator("th")), box_of(row.locator("td").first)
                assert 0 <= name["x"] < name["x"] + name["width"] <= cora["x"] + 1
                assert cora["x"] + cora["width"] <= width
            best = ["best" in (row.locator("td").first.get_attribute("class") or "") for row in rows.all()]
            assert best == [True, False, False]


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_the_menu_stays_in_view_and_nothing_is_lost(width, scheme, browser, tmp_path):
    runs = runs_by_hand(ANSWERS)
    for run in runs[:2]:
        run.warnings.append("equal note")
    file = tmp_path / "report.html"
    file.write_text(render(make_report(runs)))
    with opened(browser, file, width, scheme) as page:
        note = page.locator(".notes li")
        assert note.text_content() == f"{', '.join(list(ANSWERS)[:2])}: equal note"
        menu, table = page.locator("nav"), page.locator("table[aria-label='All scores']")
        marked = menu.locator("[aria-current]")
        assert marked.text_content() == "Result"
        menu.get_by_role("link", name="Meaning of the metrics").click()
        page.wait_for_function("document.querySelector('[aria-current]').textContent === 'Meaning of the metrics'")
        assert marked.count() == 1
        assert box_of(menu)["y"] == pytest.approx(0, abs=1)
        assert 0 <= box_of(marked)["x"] < box_of(marked)["x"] + box_of(marked)["width"] <= width
        assert page.locator("#glossary table").is_visible()
        assert not table.is_visible()
        page.emulate_media(media="print")
        assert box_of(table)["height"] > 0
