from __future__ import annotations

import pytest

from lm_eval_cora.report.content import Number

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402

from lm_eval_cora.report.canvas import PAGE, Canvas, Medium, shown_interval  # noqa: E402  # noqa: E402

PAPER = Medium(3.4, 0.8, "#000000", ("#ff0000", "#00ff00"))


def canvas(medium: Medium = PAGE) -> Canvas:
    return Canvas(Figure().add_subplot(), medium)


def test_sixty_four_models_have_different_looks() -> None:
    assert len({canvas().look(series) for series in range(64)}) == 64


def test_tooltips_are_numbered() -> None:
    drawing = canvas()
    drawing.point(0.5, 0.5, "first")
    drawing.spot((0, 0), (1, 1), "second", "a place/1")
    assert drawing.tips == ["first", "second"]
    assert drawing.axes.lines[0].get_gid() == "tip-0"
    assert drawing.axes.patches[0].get_gid() == "tip-1"
    assert drawing.axes.patches[0].get_url() == "#a%20place/1"


def test_a_figure_for_a_paper_has_no_links() -> None:
    drawing = canvas(PAPER)
    drawing.spot((0, 0), (1, 1), "tip", "place")
    assert not drawing.axes.patches


def test_rectangles_are_one_element() -> None:
    drawing = canvas()
    drawing.rectangles([])
    assert not drawing.axes.patches
    drawing.rectangles([(0, 0, 1, 1), (2, 0, 3, 2)], facecolor="red")
    (patch,) = drawing.axes.patches
    assert patch.get_path().get_extents().bounds == (0, 0, 3, 2)


def test_a_single_series_without_a_name_has_no_legend() -> None:
    for names, expected in (([""], 0), (["m"], 1), (["", "n"], 2), ([], 0)):
        drawing = canvas()
        drawing.add_models(names)
        assert len(drawing.legend) == expected


def test_intervals_of_shares_stay_in_their_range() -> None:
    assert shown_interval(Number(1.0, ends=(0.9, 1.1))) == (0.9, 1.0)
    assert str(shown_interval(Number(1.0))) == "(nan, nan)"
