"""The leaderboard in a real browser, opened from a file, with hostile names."""

import csv
import re
from math import nan
from pathlib import Path

import pytest

from lm_eval_cora.metrics.consistency import CORA_FALLS
from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.renderers.page import COLUMNS, boards_as_csv, href, leaderboard_page
from lm_eval_cora.report.boards import boards_of
from tests.support.browser import UNFOLD, opened
from tests.support.leaderboards import HOSTILE, entry

LONG = "an-organisation/a-model-with-a-name-of-more-than-sixty-characters-70b-instruct-v0.3"


def boards(folder):
    page = folder / "a b #1" / "report.html"
    first = [entry("org/high", 0.7, page=page), entry("org/low", 0.2), entry(LONG, 0.65), entry(HOSTILE, 0.3)]
    second = [entry("org/low", 0.5, task="cora_y"), entry("org/other", 0.4, task="cora_y")]
    return [*boards_of("cora_x", [*first, entry("org/five", 0.9, shots=5)]), *boards_of("cora_y", second)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "a b #1").mkdir()
    (folder / "a b #1" / "report.html").write_text("<title>The report</title>")
    path = folder / "index.html"
    path.write_text(leaderboard_page(boards(folder), HOSTILE, folder, [f"{HOSTILE}: left out"]))
    return path


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_only_tables_scroll_sideways_and_the_scores_are_visible(width, scheme, browser, file):
    with opened(browser, file, width, scheme) as page:
        page.evaluate(UNFOLD)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for table in page.locator("table").all():
            for cell in table.locator("tbody tr").first.locator("th, td").all()[:2]:
                box = cell.bounding_box()
                assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")


def visible(page, selector):
    return [(each.text_content() or "").strip() for each in page.locator(selector).all() if each.is_visible()]


def test_the_rank_and_the_model_stay_in_view(browser, file):
    with opened(browser, file, 390) as page:
        box = page.locator(".board .scroll").first
        cells = box.locator("tbody tr").first.locator("th, td").all()[:3]
        before = [cell.bounding_box()["x"] for cell in cells]
        box.evaluate("each => each.scrollLeft = 90")
        moved = [cell.bounding_box()["x"] - x for cell, x in zip(cells, before, strict=True)]
        assert moved == pytest.approx([0, 0, -90], abs=1)


def test_filters_and_sorting(browser, file):
    with opened(browser, file) as page:
        page.locator("#overview thead button").nth(1).click()
        found = visible(page, "#overview tbody th")
        assert found[:4] == ["org/low", HOSTILE, LONG, "org/high"]
        assert set(found[4:]) == {"org/five", "org/other"}  # empty cells come last
        assert len(visible(page, ".board h2")) == 3
        assert page.locator("#count").text_content() == "6 models"
        page.locator("#search").fill(" ORG/LOW")
        assert set(visible(page, "tbody th")) == {"org/low"}
        page.locator("#search").fill("")
        page.locator("#task").select_option("cora_y")
        assert visible(page, ".board h2") == ["cora_y"]
        assert visible(page, "#overview tbody th") == ["org/low", "org/other"]
        page.locator("#task").select_option("")
        page.locator("#settings").select_option("probe divergent, form generate, shots 5, reader flexible")
        assert visible(page, ".board h2") == ["cora_x (shots 5)"]
        page.locator("#search").fill("no such model")
        assert visible(page, "tbody th") == []
        assert page.locator("#count").text_content() == "0 models"


def test_links_and_the_download(browser, file, tmp_path):
    with opened(browser, file) as page:
        with page.expect_download() as found:
            page.locator("a[download]").click()
        found.value.save_as(tmp_path / "saved.csv")
        assert found.value.suggested_filename == "leaderboard.csv"
        assert (tmp_path / "saved.csv").read_text() == boards_as_csv(boards(file.parent))
        (link,) = page.locator("td a").all()
        assert link.get_attribute("href") == "a%20b%20%231/report.html"
        link.click()
        page.wait_for_url("**/report.html")
        assert page.title() == "The report"


def test_names_are_escaped_and_csv_has_all_digits_and_no_formula(tmp_path):
    text = leaderboard_page(boards(tmp_path), HOSTILE, tmp_path)
    assert "<img" not in text
    assert text.count("<script>") == 1
    rows = list(csv.DictReader(boards_as_csv(boards(tmp_path)).splitlines()))
    assert tuple(rows[0]) == COLUMNS
    models = ["org/high", LONG, f"'{HOSTILE}", "org/low", "org/five", "org/low", "org/other"]
    assert [row["model"] for row in rows] == models
    assert (float(rows[0]["value"]), rows[0]["group"], rows[0]["invalid"]) == (0.7, "1", "")
    assert rows[4]["table"] == "cora_x (shots 5)"


def test_one_board_needs_no_overview_and_unknown_errors_no_interval():
    (board,) = boards_of("cora_x", [entry("a", 0.5, scores={"cora": Estimate(0.5, nan)})])
    page = leaderboard_page([board], "Title", Path())
    assert "Models by benchmark" not in page
    assert page.count(">0.500<") == 1
    assert "1 model<" in page
    heads = re.findall(r"<th scope=.col.[^>]*>(?:<span[^>]*>)?([^<]+)", page)
    assert heads == ["#", "model", "0.5", "CoRA", "date"]  # without columns that would be empty


def test_a_mark_has_its_reason_once_on_a_board():
    falls = {"cora": Estimate(0.09, 0.01), "mcqa": Estimate(0.9, 0.01), "bmca@1.0": Estimate(0.0, 0.01)}
    page = leaderboard_page(boards_of("cora_x", [entry("a", 0.5), entry("b", 0.5, scores=falls)]), "Title", Path())
    assert page.count('aria-label="falls with the accuracy"') == page.count(CORA_FALLS.replace(">", "&gt;")) == 1


def test_bars_of_a_board_have_one_axis_from_tenth_to_tenth():
    """The intervals are 0.25 to 0.45 and 0.4 to 0.6, so the axis is 0.2 to 0.6: 0.35 is at 37.5%, 0.5 at 75%."""
    own = [
        entry(name, 0.5, scores={"cora": Estimate(value, 0.05, ends=(value - 0.1, value + 0.1))})
        for name, value in (("a", 0.35), ("b", 0.5))
    ]
    page = leaderboard_page(boards_of("cora_x", own), "Title", Path())
    assert re.findall(r'<circle cx="([\d.]+)%"', page) == ["75.00", "37.50"]
    assert re.findall(r'<line x1="([\d.]+)%" x2="([\d.]+)%"', page) == [("50.00", "100.00"), ("12.50", "62.50")]
    assert "<span>0.2</span> <span>0.6</span>" in page


def test_models_that_cannot_be_told_apart_are_a_band():
    """With the errors of 100 questions 0.7 and 0.6 are alike, 0.2 is not."""
    own = [entry(f"m{value}", value) for value in (0.7, 0.6, 0.2)]
    page = leaderboard_page(boards_of("cora_x", own), "Title", Path())
    assert re.findall(r"<tr data-model( class=.band.)?><td class=.number. data-value=.\d. title=.group (\d)", page) == [
        ("", "1"),
        ("", "1"),
        (' class="band"', "2"),
    ]


PHONE = """() => [...document.querySelectorAll(".board .number")].filter((cell) => {
    const box = cell.getBoundingClientRect();
    return cell.matches("td") && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
}).length"""


def test_a_phone_shows_three_models_and_two_numbers_of_each_without_scrolling(browser, file):
    with opened(browser, file, 390) as page:
        assert page.evaluate(PHONE) >= 3 * 3  # with the rank
        lines = page.evaluate(
            "Math.max(...[...document.querySelectorAll('.board .name')].map((name) => name.clientHeight / 16))"
        )
        assert lines < 6


def test_a_link_is_relative_to_the_page():
    assert href(Path("out/a b/report.html"), Path("site")) == "../out/a%20b/report.html"
    assert href(Path("javascript:x/report.html"), Path()) == "javascript%3Ax/report.html"
