"""Figures for a paper, read from their files."""

import re
import struct
import sys
import warnings
from dataclasses import replace
from functools import cache
from math import nan
from xml.etree import ElementTree

import pytest

from lm_eval_cora.renderers.figures import _stable, draw, write_figures
from lm_eval_cora.report.content import Band, Dots, HeatMap
from lm_eval_cora.report.sections import charts_of, make_report
from lm_eval_cora.tables.number import Number
from lm_eval_cora.tables.table import Table
from tests.support import made_up
from tests.support.messages import user_error
from tests.support.written import runs_by_hand

matplotlib = pytest.importorskip("matplotlib")
NOTHING = Table("numbers", ("Name", "Value"), ())
OF_MODELS = ("curve", "ranges", "dots", "changes")
ALL = (*OF_MODELS, "heat_map")


def made(name):
    return getattr(made_up, name)()


CHARTS = [(name, made(name)) for name in ALL]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures") / "of" / "paper"
    paths = write_figures(CHARTS, folder)
    assert [path.name for path in paths[:3]] == ["curve.svg", "curve.pdf", "curve.png"]
    assert sorted(folder.iterdir()) == sorted(paths)
    return folder


@pytest.fixture(params=ALL)
def name(request):
    return str(request.param)


def size_of(pdf):
    """Width and height of the page in inches."""
    ((width, height),) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    return float(width) / 72, float(height) / 72


def test_svg_needs_nothing_else(folder, name):
    text = (folder / f"{name}.svg").read_text()
    root = ElementTree.fromstring(text)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} & {"text", "image", "a", "script"} == set()
    assert not re.search("var[(]|currentColor|<!DOCTYPE", text)
    references = re.findall(r'href="([^"]*)"|url\(([^)]*)\)', text)
    assert references
    assert all((link or url).startswith("#") for link, url in references)
    assert root.findtext("{http://www.w3.org/2000/svg}title") == made(name).title


def test_pdf_is_one_page_with_its_fonts(folder, name):
    content = (folder / f"{name}.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    assert b"/FontFile2" in content  # TrueType
    assert not re.search(rb"/Subtype /Type3|/CreationDate|/URI", content)
    assert size_of(content)[0] == pytest.approx(3.4)


def test_png_has_the_pixels_of_print(folder, name):
    content = (folder / f"{name}.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1020  # 3.4 inches of 300 pixels
    assert height == pytest.approx(300 * size_of((folder / f"{name}.pdf").read_bytes())[1], abs=1)
    assert b"Title\x00" in content
    # On white, so that a figure is readable on a dark slide.
    image = pytest.importorskip("PIL.Image").open(folder / f"{name}.png").convert("RGBA")
    assert image.getpixel((0, 0)) == (255, 255, 255, 255)


@pytest.mark.parametrize("width", [1.9, 20.1, nan])
def test_impossible_widths_are_refused_before_anything_is_written(width, tmp_path):
    with user_error("2 to 20 inches"):
        write_figures(CHARTS, tmp_path / "figures", width)
    assert not (tmp_path / "figures").exists()


def test_names_and_titles_may_be_anything(tmp_path, caplog):
    titles = [
        *("日本語のモデル 😀", "a\x00\x1b\ud800b\nc", ""),
        *("</metadata><x>&amp;", "$\\frac$ (a) \\", "$\\FRAC$ (A) \\"),
    ]
    charts = [
        (title, Dots(title=title, x_label=title, models=[(title, {title: Number(0.5, 0.1)})], numbers=made_up.scores()))
        for title in titles
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = write_figures(charts, tmp_path)
    assert not caplog.records
    assert len({path.name.lower() for path in paths}) == 4 * len(titles)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.(svg|pdf|png|tex)", path.name) and path.stat().st_size for path in paths)
    assert {path.parent for path in paths} == {tmp_path}
    for path in paths[::4]:
        ElementTree.parse(path)


def test_a_name_depends_on_the_task_and_the_chart_alone(tmp_path):
    run, other = runs_by_hand({"org/a": {"original": "10", "a": "11"}, "b": {"original": "11", "a": "01"}})
    names = {
        order: {path.stem for path in write_figures(charts_of(make_report(runs)), tmp_path / order)}
        for order, runs in (("one", [run]), ("both", [run, other]), ("back", [other, run]))
    }
    assert {"bmca", "changes", "questions-org-a-14ced26f"} < names["one"] < names["both"]
    assert names["both"] == names["back"]
    assert names["both"] - names["one"] == {"models", "differences", "kind_differences", "questions-b"}
    of_two_tasks = write_figures(charts_of(make_report([run, replace(other, name="b")])), tmp_path, only=["bmca"])
    assert {path.name for path in of_two_tasks[3::4]} == {"answers_bmca.tex", "b_bmca.tex"}
    assert of_two_tasks[3].read_text().startswith("\\begin{table}\n")
    assert _stable("x" * 99) != _stable("x" * 98)


@cache
def drawing(name):
    return draw(made(name))


def texts(svg):
    elements = ElementTree.fromstring(svg).iter()
    return ["".join(element.itertext()) for element in elements if element.tag.endswith("text")]


@pytest.mark.parametrize("name", ALL)
def test_it_says_what_it_shows_in_text(name):
    root = ElementTree.fromstring(drawing(name))
    # The children of an image are hidden from screen readers, so a chart with links is a group.
    assert root.attrib["role"] == ("group" if name == "heat_map" else "img")
    assert root.attrib["aria-label"] == made(name).title
    assert any(text.startswith("<b>$x_1$</b> &") for text in texts(drawing(name)))


def test_a_large_heat_map_is_a_small_element():
    # No two neighbours are equal, so no cells can be merged.
    bands = [Band(f"row {row}", [(row + place) % 11 / 10 for place in range(60)], f"q-{row}") for row in range(60)]
    svg = draw(HeatMap(title="h", columns=[f"kind {column}" for column in range(60)], bands=bands, numbers=NOTHING))
    assert len(svg) < 150_000
    cells = [found for found in re.findall(r' d="([^"]*)"', svg) if found.count("z") > 100]
    assert sum(path.count("z") for path in cells) == 3600


def test_links_point_to_anchors_of_the_page_only():
    bands = [Band("b", (1.0,), 'javascript:alert(1)" x="'), Band("c", (1.0,))]
    svg = draw(HeatMap(title="h", columns=["a"], bands=bands, numbers=NOTHING))
    assert re.findall('<a href="([^"]*)"', svg) == ["#javascript%3Aalert%281%29%22%20x%3D%22"]
    assert not re.search("xlink|target=", svg)
    assert 'aria-label="b"' in svg


def test_without_matplotlib_there_is_a_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with user_error("need matplotlib", "pip install 'lm-eval-cora[report]'", "--format md"):
        draw(made_up.curve())
