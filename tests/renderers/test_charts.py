"""What each kind of chart draws, read from the figure of matplotlib."""

from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from math import inf, nan

import pytest

from lm_eval_cora.renderers.canvas import MARKS, PAGE
from lm_eval_cora.renderers.charts import drawn
from lm_eval_cora.report.content import Band, Curve, Dots, HeatMap, History, Line, Ranges, Retention
from lm_eval_cora.tables.number import Number
from tests.support import made_up

pytest.importorskip("matplotlib")

NOTHING = made_up.scores()
UNKNOWN = Number(nan)


def a_curve(*lines, **more):
    return Curve(title="c", x_label="x", y_label="y", lines=lines, numbers=NOTHING, **more)


def some_ranges(*lines):
    """Ranges of models, each with its points and the number beside them."""
    own = [Line(name, points, [("beside", beside)]) for name, points, beside in lines]
    return Ranges(title="r", y_label="y", lines=own, numbers=NOTHING)


def some_dots(**models):
    return Dots(title="d", x_label="x", models=list(models.items()), numbers=NOTHING)


def differences(*numbers):
    rows = {f"row {place}": number for place, number in enumerate(numbers)}
    return replace(some_dots(**{"": rows}), is_difference=True)


def some_changes(**models):
    return replace(made_up.changes(), models=list(models.items()))


def a_map(columns, *bands):
    return HeatMap(title="h", columns=columns, bands=bands, numbers=NOTHING)


def versions_of(line, versions=4):
    names = [f"version {number}" for number in range(versions)]
    return History(title="v", y_label="CoRA", versions=names, lines=[line], numbers=NOTHING)


@contextmanager
def figure_of(chart):
    with drawn(chart, PAGE) as (figure, tips):
        figure.draw_without_rendering()
        yield figure, tips


def legend(figure):
    return [text.get_text() for each in figure.legends for text in each.get_texts()]


def boxes(axes, colour):
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


def test_lost_answers_follow_the_kept_ones_and_gained_ones_are_left_of_zero():
    with figure_of(some_changes(m={"a": Retention(0.5, 0.25, 0.125), "b": Retention(0.75, 0.0, 0.0)})) as (
        figure,
        tips,
    ):
        (axes,) = figure.axes
        sides = sorted((left, right) for left, _, right, _ in boxes(axes, MARKS[0]))
        assert sides == [(-0.125, 0.0), (0.0, 0.5), (0.0, 0.75), (0.5, 0.75)]
        assert tips == ["m, a: kept 0.500, lost 0.250, gained 0.125", "m, b: kept 0.750, lost 0.000, gained 0.000"]
        assert legend(figure)[0].startswith("kept")
        assert len(legend(figure)) == 3
        low, high = axes.get_xlim()
        assert low < -0.125 < 0.75 < high
        assert not any("-" in label.get_text() or "\u2212" in label.get_text() for label in axes.get_xticklabels())


def test_cells_of_one_level_are_merged():
    bands = Band("x", (1.0, 0.98, 0.0)), Band("y", (0.0, 1.0, nan)), Band("z", (1.0, nan, nan))
    with figure_of(a_map("abc", *bands)) as (figure, tips):
        (axes,) = figure.axes
        opacity = {patch.get_alpha(): patch for patch in axes.patches if patch.get_url() is None}
        cells = sorted((left, right) for left, _, right, _ in boxes(axes, MARKS[0]))
        assert cells == [(0.0, 1.0), (0.0, 1.0), (0.0, 2.0), (1.0, 2.0), (2.0, 3.0)]
        assert {0.08, 1.0} <= opacity.keys()
        assert tips == ["x; fewest in c: 0.00", "y; fewest in a: 0.00", "z"]
        assert legend(figure) == ["0: all wrong", "0.5: half right", "1: all right", "no answer"]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "c"]
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first band is at the top
    with figure_of(a_map("a", Band("x", (1.0,)))) as (figure, _):
        assert legend(figure) == ["0: all wrong", "0.5: half right", "1: all right"]


def test_labels_of_a_large_heat_map_do_not_overlap():
    bands = [Band(f"questions {row} to {row + 9} of this benchmark", [0.5] * 60) for row in range(60)]
    with figure_of(a_map([f"kind {number}" for number in range(60)], *bands)) as (figure, _):
        (axes,) = figure.axes
        for labels, side in ((axes.get_yticklabels(), "y"), (axes.get_xticklabels(), "x")):
            ends = [label.get_window_extent() for label in labels]
            shown = sorted((getattr(box, f"{side}0"), getattr(box, f"{side}1")) for box in ends)
            assert len(shown) >= 10
            assert all(before[1] <= after[0] + 1 for before, after in pairwise(shown))


@pytest.mark.parametrize(
    ("numbers", "limit"),
    [
        ([Number(-0.5, ends=(-1.4, 0.2)), Number(0.1, ends=(0.0, 0.2))], 1.4),
        ([Number(0.01, ends=(0.0, 0.02))], 0.02),
        ([Number(0.25), UNKNOWN], 0.25),
        ([Number(-0.25, ends=(-inf, inf))], 0.25),
    ],
)
def test_differences_have_their_zero_in_the_middle(numbers, limit):
    with figure_of(differences(*numbers)) as (figure, _):
        (axes,) = figure.axes
        low, high = axes.get_xlim()
        assert low == -high
        assert limit < high < 1.2 * limit
        labels = [label.get_text() for label in axes.get_xticklabels()]
        assert "0" in labels
        assert all(label == "0" or label[0] in "+\u2212" for label in labels)
        assert not figure.legends
        # The intervals of differences are not clipped.
        assert numbers[0].ends in [tuple(line.get_xdata()) for line in axes.lines] or limit == 0.25


def test_a_line_over_versions_has_a_gap_at_a_break_and_none_at_a_missing_version():
    values = ((0, 0.5), (1, 0.6), (3, nan), (4, 0.7), (5, 0.8))
    points = [(place, Number(value, 0.02, ends=(value - 0.04, value + 0.04))) for place, value in values]
    with figure_of(versions_of(Line("task", points, breaks=[5]), versions=6)) as (figure, tips):
        (axes,) = figure.axes
        assert [list(line.get_xdata()) for line in axes.lines if len(set(line.get_xdata())) > 1] == [[0, 1, 4]]
        low, high = axes.get_ylim()
    assert low < 0.46
    assert 0.84 < high < 0.9
    assert len(tips) == 4
    assert tips[-1].startswith("task, 5: 0.800")


@pytest.mark.parametrize(
    "chart",
    [
        *(a_curve(), a_curve(Line("m", ())), a_curve(Line("m", [(0.0, UNKNOWN)], [("MCQA", UNKNOWN)]))),
        *(some_ranges(), some_ranges(("m", (), UNKNOWN)), some_ranges(("m", [("a", UNKNOWN)], UNKNOWN))),
        *(some_dots(), replace(some_dots(m={"a": UNKNOWN}), reference=(0.5,))),
        *(some_changes(), some_changes(m={}, n={"b": Retention(nan, 0.1, 0.2)})),
        *(a_map("a"), a_map("a", Band("b", (nan,)), Band("c", (nan,))), versions_of(Line("m", [(0, UNKNOWN)]))),
    ],
)
def test_charts_without_values_say_so(chart):
    with figure_of(chart) as (figure, _):
        assert [text.get_text() for text in figure.axes[0].texts] == ["nothing to show"]


@pytest.mark.parametrize(
    "chart",
    [
        *(a_curve(Line("m", [(0.5, Number(0.5, 0.4))])), a_curve(Line("m", (), [("MCQA", Number(1.0))]))),
        some_ranges(("m", (), Number(0.0, 0.2)), ("n", [("a", UNKNOWN)], UNKNOWN)),
        some_ranges(("m", [("a", Number(1.0))] * 5, UNKNOWN)),
        *(some_dots(m={"a": Number(1.0, 0.2)}, n={"a": UNKNOWN, "b": UNKNOWN}), differences(Number(0.0))),
        *(some_changes(m={"a": Retention(0.0, 0.0, 0.0)}, n={}), a_map("m", Band("b", (0.0,)), Band("c", (nan,)))),
    ],
)
def test_charts_with_few_values_are_drawn(chart):
    with figure_of(chart) as (figure, tips):
        assert tips
        assert not figure.axes[0].texts or isinstance(chart, Ranges)


@pytest.mark.parametrize("name", ["curve", "ranges", "dots", "changes", "heat_map"])
def test_no_label_is_cut_off(name):
    with figure_of(getattr(made_up, name)()) as (figure, _):
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) > -0.02
        assert box.x1 < width + 0.02
        assert box.y1 < height + 0.02


def test_values_that_need_little_of_the_axis_get_the_part_that_fits():
    narrow, wide = (some_dots(model={"a": Number(0.30, 0.01), "b": Number(high)}) for high in (0.35, 0.9))
    for chart, label, limits in ((narrow, "x (a part of 0 to 1)", (0.27, 0.38)), (wide, "x", (0, 1))):
        with figure_of(chart) as (figure, _):
            assert figure.axes[0].get_xlabel() == label
            assert figure.axes[0].get_xlim() == pytest.approx(limits, abs=0.003)


def test_the_bars_and_end_marks_of_several_curves_stand_beside_each_other():
    points = [(0.0, Number(0.5, 0.1)), (1.0, Number(0.5, 0.1))]
    with figure_of(a_curve(*(Line(name, points, [("MCQA", Number(0.5))]) for name in "abc"))) as (figure, _):
        bars = {tuple(path.vertices[:, 0]) for each in figure.axes[0].collections for path in each.get_paths()}
        marks = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_fillstyle() == "none"]
    assert len(bars) == 6
    assert len(set(marks)) == 3
    assert max(marks) < figure.axes[0].get_xlim()[1]
