"""What each kind of chart draws, read from the figure of matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import inf, nan
from typing import Any

import pytest

from lm_eval_cora.report.canvas import PAGE
from lm_eval_cora.report.charts import drawn
from lm_eval_cora.report.content import Band, Change, Changes, Chart, Curve, Dots, HeatMap, Line, Number, Table
from tests.support import made_up

pytest.importorskip("matplotlib")

NOTHING = Table("numbers", ("Name", "Value"), ())


@contextmanager
def figure_of(chart: Chart) -> Iterator[tuple[Any, list[str]]]:
    with drawn(chart, PAGE) as (figure, tips):
        figure.draw_without_rendering()
        yield figure, tips


def legend(figure: Any) -> list[str]:
    return [text.get_text() for each in figure.legends for text in each.get_texts()]


def boxes(axes: Any, colour: str) -> list[tuple[float, ...]]:
    """The corners (left, top, right, bottom) of the rectangles with a face or edge of a colour."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import PathPatch

    found = []
    for patch in axes.patches:
        seen = patch.get_facecolor() if patch.get_facecolor()[3] else patch.get_edgecolor()
        if isinstance(patch, PathPatch) and tuple(seen[:3]) == to_rgb(colour):
            corners = patch.get_path().vertices
            found += [tuple(map(float, (*corners[at], *corners[at + 2]))) for at in range(0, len(corners), 5)]
    return found


def test_lost_answers_follow_the_kept_ones_and_gained_ones_are_left_of_zero() -> None:
    chart = Changes(
        title="c", rows=("a", "b"), models=[("m", [Change(0.5, 0.25, 0.125), Change(0.75, 0.0, 0.0)])], numbers=NOTHING
    )
    with figure_of(chart) as (figure, tips):
        (axes,) = figure.axes
        sides = sorted((left, right) for left, _, right, _ in boxes(axes, PAGE.series[0]))
        assert sides == [(-0.125, 0.0), (0.0, 0.5), (0.0, 0.75), (0.5, 0.75)]
        assert tips == ["m, a: kept 0.500, lost 0.250, gained 0.125", "m, b: kept 0.750, lost 0.000, gained 0.000"]
        assert legend(figure)[0].startswith("kept")
        assert len(legend(figure)) == 3
        low, high = axes.get_xlim()
        assert low < -0.125
        assert high > 0.75
        assert not any("-" in label.get_text() or "\u2212" in label.get_text() for label in axes.get_xticklabels())


def test_kept_lost_and_gained_differ_without_colour() -> None:
    with figure_of(made_up.changes()) as (figure, _):
        *_, kept, lost, gained = figure.legends[0].legend_handles
        assert kept.get_facecolor()[3] > 0 == lost.get_facecolor()[3] == gained.get_facecolor()[3]
        assert gained.get_hatch()
        assert not lost.get_hatch()
        assert legend(figure)[:1] == [made_up.MODELS[0]]


def test_a_model_without_a_kind_has_no_bar() -> None:
    with figure_of(made_up.changes()) as (figure, tips):
        assert len(tips) == 8
        assert len(boxes(figure.axes[0], PAGE.series[1])) == 5  # two kinds; nothing was kept in one


def test_five_models_and_26_kinds_stay_readable() -> None:
    models = [(f"m{number}", [Change(0.4, 0.2, 0.1)] * 26) for number in range(5)]
    with figure_of(
        Changes(title="c", rows=[f"kind {number}" for number in range(26)], models=models, numbers=NOTHING)
    ) as (figure, tips):
        assert len(tips) == 130
        height = figure.get_size_inches()[1]
        assert 12 < height < 20
        points = boxes(figure.axes[0], PAGE.series[0])[0]
        assert abs(points[3] - points[1]) * 72 > 5


def test_cells_of_one_level_are_merged() -> None:
    chart = HeatMap(
        title="h",
        columns=("a", "b", "c"),
        bands=[Band("x", (1.0, 0.98, 0.0)), Band("y", (0.0, 1.0, nan)), Band("z", (1.0, nan, nan))],
        numbers=NOTHING,
    )
    with figure_of(chart) as (figure, tips):
        (axes,) = figure.axes
        opacity = {patch.get_alpha(): patch for patch in axes.patches if patch.get_url() is None}
        cells = sorted((left, right) for left, _, right, _ in boxes(axes, PAGE.series[0]))
        assert cells == [(0.0, 1.0), (0.0, 1.0), (0.0, 2.0), (1.0, 2.0), (2.0, 3.0)]
        assert {0.08, 1.0} <= opacity.keys()
        assert tips == ["x; fewest in c: 0.00", "y; fewest in a: 0.00", "z"]
        assert legend(figure)[-1] == "no answer"
        assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c"]
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first band is at the top


def test_a_heat_map_without_gaps_does_not_explain_them() -> None:
    with figure_of(HeatMap(title="h", columns=("a",), bands=[Band("x", (1.0,))], numbers=NOTHING)) as (figure, _):
        assert legend(figure) == ["0: all wrong", "0.5: half right", "1: all right"]


def test_labels_of_a_large_heat_map_do_not_overlap() -> None:
    bands = [Band(f"questions {row} to {row + 9} of this benchmark", [0.5] * 60) for row in range(60)]
    with figure_of(
        HeatMap(title="h", columns=[f"kind {number}" for number in range(60)], bands=bands, numbers=NOTHING)
    ) as (figure, _):
        (axes,) = figure.axes
        for labels, low, high in (
            (axes.get_yticklabels(), "y0", "y1"),
            (axes.get_xticklabels(), "x0", "x1"),
        ):
            shown = sorted(
                (getattr(box, low), getattr(box, high)) for box in (label.get_window_extent() for label in labels)
            )
            assert len(shown) >= 10
            assert all(before[1] <= after[0] + 1 for before, after in pairwise(shown))


def test_guessing_is_a_dotted_curve() -> None:
    line = Line("m", [(0.0, Number(0.8)), (1.0, Number(0.4))], [("MCQA", Number(0.7)), ("MV", Number(0.75))])
    chart = Curve(title="c", x_label="x", y_label="y", lines=[line], numbers=NOTHING, chance=[(0.0, 0.25), (1.0, 0.0)])
    with figure_of(chart) as (figure, tips):
        assert legend(figure)[-1] == "guessing"
        assert "guessing" in tips
        handles = figure.legends[0].legend_handles
        dashes = [str(handle._dash_pattern) for handle in handles]
        assert len(set(dashes)) == 4  # the model, two levels and guessing
    with figure_of(replace(chart, chance=())) as (figure, _):
        assert "guessing" not in legend(figure)


def difference(*numbers: Number) -> Dots:
    return Dots(
        title="d",
        x_label="x",
        rows=[f"row {place}" for place, _ in enumerate(numbers)],
        models=[("", numbers)],
        numbers=NOTHING,
        reference=(),
        reference_label="",
        is_difference=True,
    )


@pytest.mark.parametrize(
    ("numbers", "limit"),
    [
        ([Number(-0.5, ends=(-1.4, 0.2)), Number(0.1, ends=(0.0, 0.2))], 1.4),
        ([Number(0.01, ends=(0.0, 0.02))], 0.02),
        ([Number(0.25), Number(nan)], 0.25),
        ([Number(-0.25, ends=(-inf, inf))], 0.25),
    ],
)
def test_differences_have_their_zero_in_the_middle(numbers: list[Number], limit: float) -> None:
    with figure_of(difference(*numbers)) as (figure, _):
        (axes,) = figure.axes
        low, high = axes.get_xlim()
        assert low == -high
        assert limit < high < 1.2 * limit
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert "0" in labels
        assert all(label == "0" or label[0] in "+-" for label in labels)
        assert not figure.legends


def test_intervals_of_differences_are_not_clipped() -> None:
    with figure_of(difference(Number(-0.5, ends=(-1.4, 0.2)))) as (figure, _):
        assert any([*line.get_xdata()] == [-1.4, 0.2] for line in figure.axes[0].lines)


def test_no_label_is_cut_off(chart: Chart) -> None:
    with figure_of(chart) as (figure, _):
        box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < width + 0.02
        assert box.y1 < height + 0.02


@pytest.fixture(params=["curve", "ranges", "dots", "changes", "heat_map"])
def chart(request: pytest.FixtureRequest) -> Chart:
    made: Chart = getattr(made_up, request.param)()
    return made
