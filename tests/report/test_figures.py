"""Figures for a paper, read from their files."""

from __future__ import annotations

import re
import struct
import warnings
from math import nan
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.canvas import theme_colours
from lm_eval_cora.report.content import Chart, Dots, Number
from lm_eval_cora.report.figures import FORMATS, figure, write_figures
from tests.support import made_up
from tests.support.messages import tells

matplotlib = pytest.importorskip("matplotlib")

CHARTS: tuple[tuple[str, Chart], ...] = (
    ("curve", made_up.curve()),
    ("ranges", made_up.ranges()),
    ("dots", made_up.dots()),
    ("changes", made_up.changes()),
    ("heat map", made_up.heat_map()),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures") / "of" / "paper"
    paths = write_figures(CHARTS, folder)
    assert [path.name for path in paths[:3]] == ["curve.svg", "curve.pdf", "curve.png"]
    assert sorted(folder.iterdir()) == sorted(paths)
    return folder


@pytest.fixture(params=["curve", "ranges", "dots", "changes", "heat-map"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def size_of(pdf: bytes) -> tuple[float, float]:
    """Width and height of the page in inches."""
    found = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    assert found
    return float(found[1]) / 72, float(found[2]) / 72


def test_svg_needs_nothing_else(folder: Path, name: str) -> None:
    text = (folder / f"{name}.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} & {"text", "image", "a", "script"} == set()
    assert "var(" not in text
    assert "currentColor" not in text
    references = re.findall(r'href="([^"]*)"|url\(([^)]*)\)', text)
    assert references
    assert all((link or url).startswith("#") for link, url in references)
    assert "<!DOCTYPE" not in text
    assert {theme_colours()["text"], theme_colours()["series-1"]} <= set(re.findall("#[0-9a-f]{6}", text))
    assert "#0b0a" not in text
    assert root.attrib["width"] == "244.8pt"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == {name.replace(" ", "-"): chart.title for name, chart in CHARTS}[name]


def test_pdf_is_one_page_with_its_fonts(folder: Path, name: str) -> None:
    content = (folder / f"{name}.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    assert b"/FontFile2" in content  # TrueType
    assert not re.search(rb"/Subtype /Type3|/CreationDate|/URI", content)
    assert content.count(b"/Type /FontDescriptor") == content.count(b"/FontFile2")
    assert size_of(content)[0] == pytest.approx(3.4)
    assert b"/Title" in content


def test_png_has_the_pixels_of_print(folder: Path, name: str) -> None:
    content = (folder / f"{name}.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1020  # 3.4 inches of 300 pixels
    assert height == pytest.approx(300 * size_of((folder / f"{name}.pdf").read_bytes())[1], abs=1)
    assert b"Title\x00" in content
    # On white, so that a figure is readable on a dark slide.
    image = pytest.importorskip("PIL.Image").open(folder / f"{name}.png").convert("RGBA")
    assert image.getpixel((0, 0)) == (255, 255, 255, 255)


def test_text_has_eight_points(folder: Path) -> None:
    # Text is drawn as paths, scaled from 100 units to its size.
    text = (folder / "dots.svg").read_text(encoding="utf-8")
    assert set(re.findall(r"scale\(([\d.]+) -", text)) == {"0.08"}


def test_equal_charts_give_equal_files(folder: Path, tmp_path: Path) -> None:
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other", "savefig.dpi": 50, "pdf.fonttype": 3}):
        paths = write_figures(CHARTS[2:3], tmp_path)
    for path in paths:
        assert (folder / path.name).read_bytes() == path.read_bytes()


def test_a_narrow_figure_has_the_width_of_the_paper(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures(CHARTS[2:], tmp_path, 2)
    for path in tmp_path.glob("*.pdf"):
        assert size_of(path.read_bytes())[0] == pytest.approx(2)


@pytest.mark.parametrize("width", [1.9, 20.1, nan])
def test_impossible_widths_are_refused_before_anything_is_written(width: float, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        write_figures(CHARTS, tmp_path / "figures", width)
    assert tells(str(caught.value), "2 to 20 inches")
    assert not (tmp_path / "figures").exists()


def test_names_and_titles_may_be_anything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    titles = [
        "日本語のモデル 😀",
        "a\x00\x1b\ud800b\nc",
        "",
        "</metadata><x>&amp;",
        "$\\frac$ (a) \\",
        "$\\FRAC$ (A) \\",
    ]
    charts = [
        (title, Dots(title=title, x_label=title, models=[(title, {title: Number(0.5, 0.1)})], numbers=made_up.scores()))
        for title in titles
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = write_figures(charts, tmp_path)
    assert not caplog.records
    assert len({path.name.lower() for path in paths}) == 3 * len(titles)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.(svg|pdf|png)", path.name) and path.stat().st_size for path in paths)
    assert {path.parent for path in paths} == {tmp_path}
    for path in paths[::3]:
        ElementTree.parse(path)


def test_one_figure_in_all_formats() -> None:
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    assert all(figure(made_up.dots(), suffix).startswith(starts[suffix]) for suffix in FORMATS)


def test_no_charts_no_files(tmp_path: Path) -> None:
    assert write_figures((), tmp_path) == []
    assert list(tmp_path.iterdir()) == []
