"""The values of the questions of a run in the order of asking: against plain loops, and for which metrics."""

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics.entries import compute, course
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.sequences import in_drawn_order

ENTRIES = {
    "cora": {"metric": "cora", "aggregation": metrics.cora},
    "mcqa": {"metric": "mcqa", "aggregation": metrics.mcqa},
    "bmca@1.0": {"metric": "bmca@1.0", "aggregation": metrics.bmca, "level": 1.0},
    "mcqa_plus": {"metric": "mcqa_plus", "aggregation": metrics.mcqa_plus},
}

VALUES = {
    "cora": [lambda row: row[0], lambda row: 1 - row[0] + (row[0] and all(row))],
    "mcqa": [lambda row: row[0]],
    "bmca@1.0": [all],
    "mcqa_plus": [fmean],
}
"""The value of a question for each of the means, from its right and wrong answers."""


def table_of(rows, passages, names, asked):
    """The table after the questions with these numbers; the others are not begun."""
    table = ResponseTable.from_hits([rows[n] for n in asked])
    table = replace(
        table, question_ids=tuple(names[n] for n in asked), clusters=tuple(passages[n] for n in asked), unasked=()
    )
    units = [f"\0{passages[n]}" if passages[n] else names[n] for n in range(len(rows)) if n not in asked]
    return replace(table, unasked=tuple(units))


@st.composite
def benchmarks(draw):
    """Rows of a model and of an earlier one, passages, and how many units are asked."""
    count = draw(st.integers(3, 14))
    model, earlier = (
        draw(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=count, max_size=count)) for _ in "ab"
    )
    # A passage may be named like a question.
    passages = draw(st.lists(st.sampled_from(["", "q0", "b", "c"]), min_size=count, max_size=count))
    return model, earlier, passages, draw(st.integers(1, count)), draw(st.integers(0, 99))


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("paired", [False, True])
@given(benchmarks())
def test_the_values_ranges_and_order_are_those_of_plain_loops(name, paired, made):
    rows, earlier, passages, limit, seed = made
    names = [f"q{n}" for n in range(len(rows))]
    members = {}
    for n, passage in enumerate(passages):
        members.setdefault(f"\0{passage}" if passage else names[n], []).append(n)
    order = in_drawn_order(members, seed)
    done = order[: min(limit, len(order))]
    asked = [n for unit in done for n in members[unit]]
    table = table_of(rows, passages, names, asked)
    before = table_of(earlier, passages, names, range(len(rows))) if paired else None
    found = course(ENTRIES[name], table, seed, before)
    scale = len(members) / len(rows)
    for number, value in enumerate(VALUES[name]):
        mean = fmean(value(row) for row in earlier) if before else 0.0
        shift = [mean - value(row) if before else 0.0 for row in earlier]
        expected = [sum(value(rows[n]) + shift[n] for n in members[unit]) * scale for unit in done]
        assert found.values[number] == pytest.approx(expected)
        lows, highs = ([sum(end + shift[n] for n in of_unit) for of_unit in members.values()] for end in (0, 1))
        assert found.ranges[number] == pytest.approx([min(lows) * scale, max(highs) * scale])
    assert found.total == len(members)
    assert (found.values >= found.ranges[:, :1] - 1e-9).all()
    assert (found.values <= found.ranges[:, 1:] + 1e-9).all()
    if len(asked) == len(rows):
        assert found.value == pytest.approx(compute(ENTRIES[name], table).value)


WITHOUT = {
    "acc": {"metric": "acc", "aggregation": metrics.acc},  # a ratio, unless all questions have as many variants
    "core": {"metric": "core", "aggregation": metrics.core},
    "consistency_rate": {"metric": "consistency_rate", "aggregation": metrics.consistency_rate},
    "acc_h": {"metric": "acc_h", "aggregation": metrics.acc_h, "options": "original"},
    "left out": {**ENTRIES["mcqa_plus"], "without": "variant"},
}


@pytest.mark.parametrize("name", WITHOUT)
def test_metrics_without_the_method(name):
    table = ResponseTable.from_hits([[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    assert course(WITHOUT[name], table, 0) is None
    assert np.isnan(compute(WITHOUT[name], table, seed=0).value)


def test_answers_that_are_not_the_first_ones_of_the_order_have_no_course():
    names, none = [f"q{n}" for n in range(9)], [""] * 9
    order = [names.index(each) for each in in_drawn_order(names, 0)]
    rows = [[1, n % 2] for n in range(9)]
    for places, is_known in (([0, 1, 2], True), ([0, 1, 3], False)):
        table = table_of(rows, none, names, sorted(order[place] for place in places))
        assert (course(ENTRIES["cora"], table, 0) is not None) == is_known
        assert course(ENTRIES["cora"], replace(table, incomplete=1), 0) is None  # one of the first ones is lost
    # Of the last passage only one of two questions was asked, because the requests ran out.
    passages = ["p", "p", *none[2:]]
    units = in_drawn_order(["\0p", *names[2:]], 1)
    before = [names.index(each) for each in units[: units.index("\0p")]]
    known = course(ENTRIES["mcqa"], table_of(rows, passages, names, [0, *before]), 1)
    assert known.values.shape == (1, len(before))


def test_all_outcomes_alike_and_a_single_question():
    names, none = [f"q{n}" for n in range(60)], [""] * 60
    asked = sorted(names.index(each) for each in in_drawn_order(names, 0)[:30])
    for name, entry in ENTRIES.items():
        found = compute(entry, table_of([[1, 1, 1]] * 60, none, names, asked), seed=0)
        low, high = found.interval
        assert (found.value, high) == (1, pytest.approx(1)), name
        assert 0.7 < low < 1
        assert found.stderr > 0
        whole = compute(entry, table_of([[1, 1, 1]] * 60, none, names, range(60)), seed=0)
        assert (whole.interval, whole.stderr) == ((1, 1), 0)
    assert np.isnan(compute(ENTRIES["mcqa"], table_of([[1, 1]] * 60, none, names, asked[:1]), seed=0).value)
