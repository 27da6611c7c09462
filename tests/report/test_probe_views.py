"""Charts of changes, the heat map, and differences between models, from answers written out by hand."""

from math import isnan

import pytest

from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.report import pair_views, probe_views
from lm_eval_cora.report.content import Retention
from lm_eval_cora.runs import model_run
from tests.support.shown import value_in, widths
from tests.support.written import put, run_by_hand, runs_by_hand, the_run


def test_kept_lost_and_gained():
    """Of five questions, `a` keeps 2, loses 1 and gains 1; `b`, which four questions have, keeps 1 and loses 2."""
    run = run_by_hand({"original": "11100", "a": "11010", "b": "1000-"})
    found = probe_views.changes([run])
    assert found.models == [("model", {"a": pytest.approx((0.4, 0.2, 0.2)), "b": pytest.approx((0.25, 0.5, 0.0))})]
    assert list(found.numbers.columns) == ["kind of variant", "kept", "lost", "gained"]
    assert [value_in(found.numbers, 0, column) for column in Retention._fields] == pytest.approx([0.4, 0.2, 0.2])


def test_kept_and_lost_add_up_to_the_originals_and_the_change_to_the_loss(demo):
    run = the_run(demo["cora_demo"].folder)
    losses = model_run.changes_by_kind(run)
    ((_, parts),) = probe_views.changes([run]).models
    assert set(parts) == {kind.replace("_", " ") for kind in losses}
    for kind in losses:
        part = parts[kind.replace("_", " ")]
        assert part.kept + part.lost == pytest.approx(run.estimates["mcqa"].value)
        assert part.gained - part.lost == pytest.approx(losses[kind].value)


def test_losses_are_paired_with_the_originals(tmp_path):
    run = run_by_hand({"original": "1" * 30 + "0" * 10, "a": "1" * 10 + "0" * 30, "b": "1" * 30 + "0" * 10})
    found = model_run.changes_by_kind(run)
    assert {kind: change.value for kind, change in found.items()} == pytest.approx({"a": -0.5, "b": 0})
    assert found["a"].high < 0
    assert found["b"].low <= 0 <= found["b"].high
    # No losses with skipped variants.
    marks = {"original": [True] * 40, "a": [False] * 30 + [None] * 10}
    rows = [{"question": q, "variant": kind, "correct": mark} for kind in marks for q, mark in enumerate(marks[kind])]
    skipped = the_run(put(tmp_path / "skipped.jsonl", rows))
    assert not skipped.table.is_whole
    assert model_run.changes_by_kind(skipped) == {}
    assert model_run.kinds_compared(skipped, skipped) == {}


def test_questions_from_the_easiest_to_the_hardest():
    """The original is the first column, wherever the file has it; equally hard questions stay in their order."""
    run = run_by_hand({"a": "0101", "original": "0111", "b": "001-"})
    found = probe_views.heat_map(run)
    assert list(found.columns) == ["original", "a", "b"]
    labels = ["q003: 100% right", "q001: 67% right", "q002: 67% right", "q000: 0% right"]
    assert [band.label for band in found.bands] == labels
    values = [list(band.values) for band in found.bands]
    assert isnan(values[0].pop())
    assert values == [[1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]]
    assert len({band.link for band in found.bands}) == 4
    assert found.numbers.rows[0][-1] == ""
    assert widths(found.numbers) == {4}


def test_a_band_is_the_mean_of_its_questions():
    """48 equally hard questions are 24 pairs, in their order. The kind `a` is right in every fourth."""
    many = run_by_hand({"original": "01" * 20 + "1" * 10, "a": "01" * 20 + "1" * 10})
    bands = probe_views.heat_map(many).bands
    assert [band.label for band in bands[:3]] == [f"{count} questions: 100% right" for count in (3, 3, 2)]
    assert [list(band.values) for band in bands] == [[1, 1]] * 14 + [[0, 0]] * 10  # 30 of 50 questions are right
    run = run_by_hand({"original": "1000" * 12, "a": "0111" * 12})
    assert [list(band.values) for band in probe_views.heat_map(run).bands] == [[0.5, 0.5], [0, 1]] * 12


THREE = {
    "best": {"original": "1" * 36 + "0" * 4, "a": "1" * 35 + "0" * 5},
    "middle": {"original": "1" * 24 + "0" * 16, "a": "1" * 23 + "0" * 17},
    "worst": {"original": "1" * 10 + "0" * 30, "a": "1" * 8 + "0" * 32},
}


def paired_in(runs, metric="mcqa"):
    found = pair_views.paired(runs, metric)
    assert found.is_difference
    assert [name for name, _ in found.models] == [""]
    return found


def test_all_pairs_of_three_models():
    runs = runs_by_hand(THREE)
    found = paired_in(runs)
    values = {name: number.value for name, number in found.models[0][1].items()}
    assert values == pytest.approx({"middle - best": -0.3, "worst - best": -0.65, "worst - middle": -0.35})
    assert [row[3] for row in found.numbers.rows] == ["12 : 0", "26 : 0", "14 : 0"]
    # Intervals of three models are wider than those of two.
    alone = difference(runs[0].estimates["cora"], runs[1].estimates["cora"])
    two, three = (paired_in(own, "cora").models[0][1]["middle - best"] for own in (runs[:2], runs))
    assert two.ends == (alone.low, alone.high)
    assert three.ends[0] < two.ends[0] < two.value < two.ends[1] < three.ends[1]


def test_more_than_eight_models_are_compared_with_the_first_and_one_model_or_question_with_none():
    runs = runs_by_hand({f"m{number}": THREE["best"] for number in range(9)})
    assert len(paired_in(runs[:8]).rows) == 28
    assert paired_in(runs).rows == [f"m{number} - m0" for number in range(1, 9)]
    assert pair_views.paired(runs[:1], "mcqa") is None
    single = runs_by_hand({"one": {"original": "1", "a": "1"}, "other": {"original": "0", "a": "1"}})
    assert pair_views.paired(single, "cora") is None


def test_differences_by_kind():
    before, after = runs_by_hand({name: THREE[name] for name in ("best", "worst")})
    found = pair_views.paired_by_kind(before, after)
    values = {kind: number.value for kind, number in found.models[0][1].items()}
    assert values == pytest.approx({"original": -26 / 40, "a": -27 / 40})
    assert found.title.endswith("worst - best")
