"""Charts of accuracy by confidence and by coverage; a file's confidences; what the harness' table has."""

from math import isnan

import pytest

from lm_eval_cora import score
from lm_eval_cora.metrics.entries import is_printed, needs_of
from lm_eval_cora.report import probe_views
from lm_eval_cora.report.content import Curve
from lm_eval_cora.runs.task_files import probe_metrics
from lm_eval_cora.variants.probes import PROBES
from tests.support.messages import user_error
from tests.support.written import knows, put, run_by_hand, the_run, write


def rows(*confidences):
    """Answers of which every other one is right."""
    return [{"question": n, "correct": n % 2 == 0, "confidence": each} for n, each in enumerate(confidences)]


def test_a_scored_run_has_curves_of_probability_and_agreement(tmp_path):
    asked = [{"question": f"{n}?", "choices": ["Ice", "Fog"], "answer": n % 2} for n in range(3)]
    options = {"data_files": str(put(tmp_path / "q.jsonl", asked))}
    scored = the_run(write(tmp_path / "out", knows, "cora_local_order_mc", options).folder)
    written = the_run(write(tmp_path / "written", knows, "cora_local_order", options).folder)
    calibration, coverage = probe_views.confidence([scored, written])
    names = [f"{scored.model}, probability", f"{scored.model}, agreement", f"{written.model}, agreement"]
    for chart in (calibration, coverage):
        assert isinstance(chart, Curve)
        assert [line.name for line in chart.lines] == names
        assert len(chart.numbers.rows) == sum(len(line.points) for line in chart.lines)
    assert [x for x, _ in coverage.lines[0].points] == [tenths / 10 for tenths in range(1, 11)]


def test_points_by_hand(tmp_path):
    """Of 40 answers in four bins, one in ten is right at 0.2, none at 0.4, half at 0.6, and all at 0.8."""
    right = {0.2: 1, 0.4: 0, 0.6: 5, 0.8: 10}
    answers = [{"correct": n < count, "confidence": level} for level, count in right.items() for n in range(10)]
    answers = [{"question": n, **each} for n, each in enumerate(answers)]
    (calibration, coverage) = probe_views.confidence([the_run(put(tmp_path / "a.jsonl", answers))])
    found = [(x, number.value) for x, number in calibration.lines[0].points]
    assert found == [pytest.approx(point) for point in ((0.8, 1), (0.6, 0.5), (0.4, 0), (0.2, 0.1))]
    shares = {x: number.value for x, number in coverage.lines[0].points}
    assert (shares[0.2], shares[0.5], shares[1.0]) == pytest.approx((1, 15 / 20, 16 / 40))


def test_without_confidence_there_is_no_chart():
    assert probe_views.confidence([run_by_hand({"a": "1100"})]) == []


def test_a_file_with_confidences_has_their_metrics():
    found = score(rows(0.9, 0.8, 0.7, 0.6))
    assert found["auroc"].value == 0.75
    assert found["overconfidence"].value == pytest.approx(0.75 - 0.5)
    assert found["acc_coverage@0.5"].value == 0.5
    assert "auroc" not in score([{"question": n, "correct": True} for n in range(3)])


def test_a_missing_confidence_makes_them_undefined_and_is_counted():
    found = score(rows(0.9, None, 0.7, 0.6))
    assert isnan(found["ece"].value)
    assert found.undefined["ece"].startswith("1 of 4 answers have no confidence")


@pytest.mark.parametrize("wrong", [1.2, -0.1, "sure"])
def test_a_confidence_is_a_number_from_0_to_1(wrong):
    with user_error(f"column 'confidence': expected a number from 0 to 1, got {wrong!r}"):
        score(rows(0.9, wrong))


@pytest.mark.parametrize("probe", PROBES)
def test_the_table_of_the_harness_gains_at_most_two_rows_and_none_for_written_answers(probe):
    entries = [entry for entry in probe_metrics(probe) if "confidence" in needs_of(entry)]
    printed = [entry for entry in entries if is_printed(entry)]
    assert {entry["metric"] for entry in printed} <= {"brier", "rms_ece"}
    assert all(entry["aggregation"].facts.form == "loglikelihood" for entry in printed)
    assert len(entries) >= 7
