from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from math import nan
from xml.etree import ElementTree

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.canvas import light_colours
from lm_eval_cora.report.content import (
    Band,
    Change,
    Changes,
    Chart,
    Curve,
    Dots,
    HeatMap,
    Line,
    Number,
    Ranges,
    Spread,
    Table,
)
from lm_eval_cora.report.figures import draw
from tests.support import made_up
from tests.support.messages import tells

OF_MODELS: tuple[Callable[[], Chart], ...] = (made_up.curve, made_up.ranges, made_up.dots, made_up.changes)
MAKERS = (*OF_MODELS, made_up.heat_map)
NOTHING = Table("numbers", ("Name", "Value"), ())
UNKNOWN = Number(nan)

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def chart(request: pytest.FixtureRequest) -> Chart:
    made: Chart = request.param()
    return made


@pytest.fixture(params=OF_MODELS, ids=lambda maker: maker.__name__)
def of_models(request: pytest.FixtureRequest) -> Chart:
    made: Chart = request.param()
    return made


def texts(svg: str) -> list[str]:
    return [
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")
    ]


def ids(svg: str) -> set[str]:
    return set(re.findall(r' id="([^"]*)"', svg))


def test_it_says_what_it_shows_in_text(chart: Chart) -> None:
    svg = draw(chart)
    root = ElementTree.fromstring(svg)
    # The children of an image are hidden from screen readers, so a chart with links is a group.
    assert root.attrib["role"] == ("group" if isinstance(chart, HeatMap) else "img")
    assert root.attrib["aria-label"] == chart.title
    assert root.attrib["width"] == "100%"
    assert "viewBox" in root.attrib
    assert "height" not in root.attrib
    assert any(text.startswith("<b>$x_1$</b> &") for text in texts(svg))


def test_the_legend_has_whole_names(of_models: Chart) -> None:
    found = texts(draw(of_models))
    assert made_up.MODELS[0] in found
    # A long name is wrapped, for example after its hyphens.
    assert made_up.LONG in "".join(found)


def test_what_a_point_is_can_be_seen_under_the_mouse() -> None:
    tips = re.findall("<title>(.*?)</title>", draw(made_up.ranges()))
    assert "small-chat-360m, original: 0.740 ± 0.020" in tips
    assert "small-chat-360m, consistency rate: 0.480 ± 0.021" in tips
    change = [Number(-0.25, 0.1, signed=True, ends=(-0.5, 0.125))]
    svg = draw(
        Dots(title="d", x_label="x", rows=("b - a",), models=[("", change)], numbers=NOTHING, is_difference=True)
    )
    assert re.findall("<title>(.*?)</title>", svg) == ["b - a: -0.250 ± 0.100, 95% -0.500 to +0.125"]


def test_colours_and_fonts_are_the_page_s(of_models: Chart) -> None:
    svg = draw(of_models)
    found = dict(re.findall(r"var\(--([\w-]+), (#[0-9a-f]{6})\)", svg))
    assert {"text", "series-1", "series-2", "series-3"} <= set(found)
    # The fallbacks are for copies of the chart in programs without variables.
    assert found.items() <= light_colours().items()
    assert svg.count("var(") == len(re.findall(r"var\(--[\w-]+, #[0-9a-f]{6}\)", svg))
    assert not re.search('[:"] ?#[0-9a-f]{6}[;"]', svg)
    assert "<style" not in svg
    assert "DejaVu" not in svg


def test_equal_charts_give_equal_drawings(chart: Chart) -> None:
    before = dict(matplotlib.rcParams)
    first = draw(chart)
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other", "lines.linewidth": 9}):
        assert draw(chart) == first
    assert dict(matplotlib.rcParams) == before


def test_ids_are_those_of_one_drawing() -> None:
    drawings = [draw(maker()) for maker in MAKERS]
    found = [ids(svg) for svg in drawings]
    assert sum(map(len, found)) == len(set.union(*found)) > 0
    for svg, own in zip(drawings, found, strict=True):
        assert set(re.findall(r'(?:url\(#|<use href="#)([^)"]+)', svg)) == own


@pytest.mark.parametrize(
    "chart",
    [
        Curve(title="", x_label="", y_label="", lines=(), numbers=NOTHING),
        Curve(title="c", x_label="x", y_label="y", lines=[Line("m", ())], numbers=NOTHING),
        Curve(
            title="c",
            x_label="x",
            y_label="y",
            lines=[Line("m", [(0.0, UNKNOWN)], [("MCQA", UNKNOWN)])],
            numbers=NOTHING,
        ),
        Ranges(title="r", y_label="y", beside_label="beside", spreads=(), numbers=NOTHING),
        Ranges(title="r", y_label="y", beside_label="beside", spreads=[Spread("m", (), UNKNOWN)], numbers=NOTHING),
        Ranges(
            title="r",
            y_label="y",
            beside_label="beside",
            spreads=[Spread("m", [("a", UNKNOWN)], UNKNOWN)],
            numbers=NOTHING,
        ),
        Dots(title="d", x_label="x", rows=(), models=(), numbers=NOTHING),
        Dots(title="d", x_label="x", rows=("a",), models=[("m", [UNKNOWN])], numbers=NOTHING, reference=(0.5,)),
        Dots(title="d", x_label="x", rows=("a",), models=[("m", [UNKNOWN])], numbers=NOTHING, reference=(nan,)),
        Changes(title="c", rows=(), models=(), numbers=NOTHING),
        Changes(title="c", rows=("a", "b"), models=[("m", [None]), ("n", [Change(nan, 0.1, 0.2)])], numbers=NOTHING),
        HeatMap(title="h", columns=("a",), bands=[], numbers=NOTHING),
        HeatMap(title="h", columns=("a",), bands=[Band("b", (nan,)), Band("c", (nan,))], numbers=NOTHING),
    ],
)
def test_charts_without_values_say_so(chart: Chart) -> None:
    assert texts(draw(chart)) == ["nothing to show"]


@pytest.mark.parametrize(
    "chart",
    [
        Curve(title="c", x_label="x", y_label="y", lines=[Line("m", [(0.5, Number(0.5, 0.4))])], numbers=NOTHING),
        Curve(title="c", x_label="x", y_label="y", lines=[Line("m", (), [("MCQA", Number(1.0))])], numbers=NOTHING),
        Ranges(
            title="r",
            y_label="y",
            beside_label="beside",
            spreads=[Spread("m", (), Number(0.0, 0.2)), Spread("n", [("a", UNKNOWN)], UNKNOWN)],
            numbers=NOTHING,
        ),
        Ranges(
            title="r",
            y_label="y",
            beside_label="beside",
            spreads=[Spread("m", [("a", Number(1.0))] * 5, UNKNOWN)],
            numbers=NOTHING,
        ),
        Dots(
            title="d",
            x_label="x",
            rows=("a", "b"),
            models=[("m", [Number(1.0, 0.2), UNKNOWN]), ("n", [UNKNOWN, UNKNOWN])],
            numbers=NOTHING,
        ),
        Dots(title="d", x_label="x", rows=("a",), models=[("m", [Number(0.0)])], numbers=NOTHING, is_difference=True),
        Changes(
            title="c",
            rows=("a", "b"),
            models=[("m", [Change(0.0, 0.0, 0.0), None]), ("n", [None, None])],
            numbers=NOTHING,
        ),
        HeatMap(title="h", columns=("m",), bands=[Band("b", (0.0,)), Band("c", (nan,))], numbers=NOTHING),
    ],
)
def test_charts_with_few_values(chart: Chart) -> None:
    assert "m" in texts(draw(chart))


def test_eight_models_have_eight_looks_and_names_that_are_not_cut_off() -> None:
    (line, *_), names = made_up.curve().lines, [f"{made_up.LONG[:-1]}{number}" for number in range(8)]
    svg = draw(replace(made_up.curve(), lines=[line._replace(name=name) for name in names]))
    assert all(name in "".join(texts(svg)) for name in names)
    assert len(set(re.findall(r"var\(--series-\d,", svg))) == 8


def test_a_large_heat_map_is_a_small_element() -> None:
    # No two neighbours are equal, so no cells can be merged.
    bands = [
        Band(f"questions {row}", [(row + column) % 11 / 10 for column in range(60)], f"q-{row}") for row in range(60)
    ]
    svg = draw(HeatMap(title="h", columns=[f"kind {column}" for column in range(60)], bands=bands, numbers=NOTHING))
    assert len(svg) < 150_000
    cells = [found for found in re.findall(r' d="([^"]*)"', svg) if found.count("z") > 100]
    assert sum(path.count("z") for path in cells) == 3600


def test_links_point_to_anchors_of_the_page_only() -> None:
    chart = replace(
        made_up.heat_map(), columns=["a"], bands=[Band("b", (1.0,), 'javascript:alert(1)" x="'), Band("c", (1.0,))]
    )
    svg = draw(chart)
    assert re.findall('<a href="([^"]*)"', svg) == ["#javascript%3Aalert%281%29%22%20x%3D%22"]
    assert "xlink" not in svg
    assert "target=" not in svg
    assert 'aria-label="b"' in svg


@pytest.mark.parametrize(
    "name", ["_hidden", "日本語のモデル" * 9, "a\x00\x1b\ud800b\nc", "", " ", "😀", "&amp;<", "$\\frac$"]
)
def test_models_may_have_any_name(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for maker in MAKERS:
            made = maker()
            shown = "".join("".join(texts(draw(named(made, name)))).split())
            assert shown.count("".join(part for part in name.split() if part.isprintable())[:14]) > 0


def named(chart: Chart, name: str) -> Chart:
    """A chart with the same name everywhere."""
    if isinstance(chart, Curve):
        return replace(chart, title=name, lines=[chart.lines[0]._replace(name=name)])
    if isinstance(chart, Ranges):
        return replace(chart, title=name, spreads=[chart.spreads[0]._replace(name=name)])
    if isinstance(chart, Dots):
        return replace(chart, title=name, rows=[name] * 6, models=[(name, chart.models[0][1])])
    if isinstance(chart, Changes):
        return replace(chart, title=name, rows=[name] * 3, models=[(name, chart.models[0][1])])
    bands = [band._replace(label=name, link=name) for band in chart.bands]
    return replace(chart, title=name, columns=[name] * 4, bands=bands)


def test_without_matplotlib_there_is_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError) as caught:
        draw(made_up.curve())
    assert tells(str(caught.value), "matplotlib", "pip install 'lm-eval-cora[report]'", "--format md")
