"""The chart of versions."""

from __future__ import annotations

import re
from math import nan

import pytest

from lm_eval_cora.report.canvas import PAGE
from lm_eval_cora.report.charts import drawn
from lm_eval_cora.report.content import History, HistoryLine, Number, Table
from lm_eval_cora.report.figures import FORMATS, draw, figure

pytest.importorskip("matplotlib")

HOSTILE = "<b>$x_1$</b> \u202e\x00 model"


def chart(*lines: HistoryLine, versions: int = 4) -> History:
    names = [HOSTILE, *(f"version {number}" for number in range(1, versions))]
    return History(title="Title", y_label="CoRA", versions=names, lines=lines, numbers=Table("Title", ["a"], []))


def number(value: float) -> Number:
    return Number(value, 0.02, ends=(value - 0.04, value + 0.04))


def test_a_line_has_a_gap_at_a_break_and_none_at_a_missing_version() -> None:
    points = [(place, number(value)) for place, value in ((0, 0.5), (1, 0.6), (3, nan), (4, 0.7), (5, 0.8))]
    with drawn(chart(HistoryLine("task", points, [5]), versions=6), PAGE) as (drawing, tips):
        (axes,) = drawing.axes
        connected = [list(line.get_xdata()) for line in axes.lines if len(set(line.get_xdata())) > 1]
        assert connected == [[0, 1, 4]]
        low, high = axes.get_ylim()
    assert low < 0.46
    assert 0.84 < high < 0.9
    assert len(tips) == 4
    assert tips[-1].startswith("task, version 5: 0.800")


def test_names_are_escaped_and_many_versions_have_fewer_names() -> None:
    svg = draw(chart(HistoryLine("task", [(place, number(0.5)) for place in range(30)]), versions=30))
    assert "<b>" not in svg
    assert "\x00" not in svg
    named = re.findall(r"version \d+(?=<)", svg)
    assert len([name for name in named if ":" not in name]) <= 30
    with drawn(chart(HistoryLine("task", [(0, number(0.5))]), versions=30), PAGE) as (drawing, _):
        assert len(drawing.axes[0].get_xticks()) == 10


def test_nothing_to_show_and_all_formats() -> None:
    assert "nothing to show" in draw(chart(HistoryLine("task", [(0, Number(nan))])))
    line = HistoryLine("task", [(0, Number(0.5)), (1, Number(0.5))])
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    for suffix in FORMATS:
        assert figure(chart(line), suffix).startswith(starts[suffix])
