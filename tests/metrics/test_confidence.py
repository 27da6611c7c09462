"""Confidence: values by hand, slow oracles, errors against a bootstrap, and what has no confidence."""

from dataclasses import replace
from itertools import permutations
from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics.confidence import bins_of, confident
from lm_eval_cora.metrics.facts import facts_of
from lm_eval_cora.metrics.responses import INVALID, NO_PICK, ResponseTable
from tests.support.tables import questions, table_of

METRICS = {
    name: getattr(metrics, name) for name in ("ece", "rms_ece", "overconfidence", "auroc", "aurc", "acc_coverage")
}


def simulated(seed, count=80, digits=1):
    """A table whose answers have confidences with ties, 3 to 5 for each question; the confidence and right or wrong."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 6, count)
    confidence = np.round(rng.random(sizes.sum()), digits)
    right = (rng.random(sizes.sum()) < 0.3 + 0.5 * confidence).astype(float)
    rows = [part.tolist() for part in np.split(right, np.cumsum(sizes)[:-1])]
    return ResponseTable.from_hits(rows, confidence=confidence, original=None), confidence, right


# ---- scored letters
def scored(shares, right, **more):
    """A table of questions with one answer each, with these probabilities and places of the right option."""
    shares = np.array(shares, dtype=float)
    position = np.nanargmax(shares, axis=1)
    columns = {"position": position, "right_place": np.array(right), "options": (~np.isnan(shares)).sum(axis=1)}
    return ResponseTable.from_hits((position == right)[:, None], likelihoods=np.log(shares), **columns, **more)


def test_the_brier_score_by_hand():
    # 0.3^2 + 0.2^2 + 0.1^2, and 0.5^2 + 0.5^2; the second question prints two options.
    table = scored([[0.7, 0.2, 0.1], [0.5, 0.5, nan]], [0, 1])
    assert metrics.brier(table).value == pytest.approx((0.14 + 0.5) / 2, abs=1e-12)
    # Only the probability among the printed letters counts.
    assert metrics.brier(scored([[0.07, 0.02, 0.01]], [0])).value == pytest.approx(0.14, abs=1e-12)


def test_a_scored_answer_has_the_probability_of_its_letter():
    table = scored([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]], [0, 2])
    assert confident(table).confidence == pytest.approx([0.7, 0.5])
    assert metrics.overconfidence(table).value == pytest.approx(0.6 - 0.5)
    assert isnan(metrics.brier(simulated(0)[0]).value)  # confidences alone are not enough


@pytest.mark.parametrize("score", [nan, -np.inf])
def test_letters_without_a_score_make_them_undefined_and_are_counted(score):
    table = scored([[0.7, 0.3], [0.6, 0.4], [0.6, 0.4]], [0, 0, 0])
    table.likelihoods[1] = [nan, score]
    assert all(isnan(metric(table).value) for metric in (metrics.brier, *METRICS.values()))
    assert facts_of(metrics.brier).why_undefined(table).startswith("1 of 3 answers have no confidence")


def test_equal_probabilities_in_another_order_of_letters_are_ties():
    shares = [*permutations([0.5, 0.3, 0.15, 0.05])]
    assert len({*confident(scored(shares, [0] * len(shares))).confidence.tolist()}) == 1


def test_an_impossible_letter_has_no_probability():
    table = scored([[0.7, 0.3], [0.4, 0.6]], [0, 0])
    table.likelihoods[:] = [[-0.5, -np.inf], [-np.inf, -9.0]]
    assert metrics.brier(table).value == (0 + 2) / 2


def test_of_mixed_variants_those_that_ask_for_a_letter_count():
    """The made-up letters have scores unless the answer is invalid; yes and no have scores of their own."""
    members = questions(30, "plus", (4,), form="loglikelihood")
    kept = [records for records in members if not any(one.invalid for one in records if one.ask == "letter")]
    part = confident(table_of(kept))
    assert len(part.sizes) == len(kept) > 5
    assert len(part.picked) == sum(one.ask == "letter" for records in kept for one in records)
    assert 0 < metrics.brier(table_of(kept)).value < 2


# ---- written answers
def test_the_confidence_of_a_written_answer_is_the_share_that_agrees_with_the_original():
    picked = np.array([2, 2, 3, 2, 1, 1, 4, 5, INVALID, 1, 1, 1])  # two of three, one of three, none of three
    table = ResponseTable.from_hits([[1, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]], picked=picked)
    assert confident(table).confidence == pytest.approx([2 / 3, 1 / 3, 0])
    assert metrics.auroc(table).value == 1.0
    repeats = ResponseTable.from_hits([[1, 1]] * 3, picked=np.array([2, 2, 1, 3, INVALID, 1]))
    assert confident(replace(table, repeats=repeats)).confidence.tolist() == [1, 0, 0]


def test_variants_that_ask_for_yes_or_no_do_not_lower_the_agreement():
    table = ResponseTable.from_hits([[1, 1, 1], [0, 0, 1]], picked=np.array([2, 2, NO_PICK, 1, 1, NO_PICK]))
    assert confident(table).confidence.tolist() == [1, 1]


def test_without_picks_variants_or_originals_there_is_no_confidence():
    several = ResponseTable.from_hits([[1, 0]] * 4, picked=np.full(8, NO_PICK))
    others = (ResponseTable.from_hits(rows, original=None) for rows in ([[1, 0], [1, 0]], [[1], [0]], []))
    for table in (several, *others):
        assert all(isnan(metric(table).value) for metric in METRICS.values())


# ---- values
def test_calibration_errors_by_hand():
    """Twenty questions make two bins: confidence 0.9 and 0.6 right in ten, 0.2 and 0.4 right in ten."""
    confidence, right = np.repeat([0.9, 0.2], 10), np.array([1] * 6 + [0] * 4 + [1] * 4 + [0] * 6)
    table = ResponseTable.from_hits(right[:, None], confidence=confidence, original=None)
    assert metrics.ece(table).value == pytest.approx((0.3 + 0.2) / 2)
    variance = (0.6 * 0.4 / 10) * 20 / 19
    assert metrics.rms_ece(table).value == pytest.approx(sqrt((0.3**2 + 0.2**2) / 2 - variance))


def test_answers_of_one_confidence_share_a_bin():
    table = ResponseTable.from_hits([[1]] * 50 + [[0]] * 50, confidence=np.full(100, 0.5), original=None)
    assert metrics.ece(table).value == 0.0
    table, confidence, _ = simulated(1)
    assert len({*zip(confidence.tolist(), bins_of(table)[0].tolist(), strict=True)}) == len({*confidence.tolist()})


def test_answers_that_do_not_vary_say_nothing_about_the_calibration_of_others():
    table = ResponseTable.from_hits([[1]] * 30, confidence=np.ones(30), original=None)
    assert metrics.rms_ece(table).value == 0
    assert metrics.rms_ece(table).interval == (0, 1)


def pairs_won(confidence, right):
    won = [
        (one > other) + (one == other) / 2
        for one in confidence[right == 1].tolist()
        for other in confidence[right == 0].tolist()
    ]
    return sum(won) / len(won)


def in_random_order(confidence, right, seed):
    order = np.lexsort((np.random.default_rng(seed).random(len(right)), -confidence))
    return right[order]


def risk(right):
    return float(np.mean(np.cumsum(1 - right) / np.arange(1, len(right) + 1)))


@given(st.integers(0, 10_000))
def test_ranks_agree_with_oracles(seed):
    table, confidence, right = simulated(seed, 15, digits=7)
    assert metrics.auroc(table).value == pytest.approx(pairs_won(confidence, right), abs=1e-9)
    ordered = in_random_order(confidence, right, 0)
    assert metrics.aurc(table).value == pytest.approx(risk(ordered), abs=1e-9)
    for level in (0.5, 0.8, 1.0):
        top = ordered[: -int(-level * 10 * len(right) // 10)]
        assert metrics.acc_coverage(table, level=level).value == pytest.approx(top.mean(), abs=1e-9)


def test_answers_of_one_confidence_are_in_random_order():
    table, confidence, right = simulated(2, 20)
    orders = [in_random_order(confidence, right, number) for number in range(1_000)]
    assert metrics.auroc(table).value == pytest.approx(pairs_won(confidence, right), abs=1e-9)
    assert metrics.aurc(table).value == pytest.approx(np.mean([*map(risk, orders)]), abs=0.005)
    top = [order[: -(-len(right) // 2)].mean() for order in orders]
    assert metrics.acc_coverage(table, level=0.5).value == pytest.approx(np.mean(top), abs=0.01)


# ---- errors
@pytest.mark.parametrize("digits", [1, 9])
def test_errors_are_those_of_a_bootstrap_of_questions(digits):
    table, confidence, right = simulated(3, 200, digits)
    places = np.split(np.arange(len(right)), table.starts[1:])
    rng = np.random.default_rng(0)
    draws = {name: [] for name in ("auroc", "aurc", "acc_coverage", "overconfidence")}
    for _ in range(600):
        drawn = np.concatenate([places[number] for number in rng.integers(0, 200, 199)])
        ours, hits = confidence[drawn], right[drawn]
        below = np.sort(ours[hits == 0])
        sides = [np.searchsorted(below, ours[hits == 1], side) for side in ("left", "right")]
        draws["auroc"].append(np.mean(sides) / len(below))
        ordered = in_random_order(ours, hits, 0)
        draws["aurc"].append(risk(ordered))
        draws["acc_coverage"].append(ordered[: int(0.8 * len(ordered))].mean())
        draws["overconfidence"].append((ours - hits).mean())
    for name, values in draws.items():
        assert METRICS[name](table).stderr == pytest.approx(np.std(values, ddof=1), rel=0.15), name


@pytest.mark.parametrize("slope", [1.0, 0.4])
def test_the_interval_of_the_calibration_error_holds(slope):
    """With confidences that are uniform, the gap is (1 - slope) (c - 1/2), in six bins of ten questions."""
    rng, holds = np.random.default_rng(1), 0
    middles = (np.arange(6) + 0.5) / 6 - 0.5
    truth = (1 - slope) * sqrt(np.mean(middles**2))
    for _ in range(100):
        confidence = rng.random(60)
        right = rng.random(60) < 0.5 + slope * (confidence - 0.5)
        table = ResponseTable.from_hits(right[:, None], confidence=confidence, original=None)
        low, high = metrics.rms_ece(table).interval
        holds += low <= truth <= high
    assert holds >= 90


def test_passages_are_the_units():
    table, *_ = simulated(5, 40, digits=9)
    shared = ResponseTable(**{**vars(table), "clusters": tuple(str(n // 2) for n in range(40))})
    for name, metric in METRICS.items():
        one, other = metric(table), metric(shared)
        if name != "ece":
            assert one.stderr != other.stderr
        if not name.endswith("ece"):  # whose bins depend on the number of units
            assert one.value == other.value
    assert isnan(metrics.rms_ece(replace(table, clusters=("one",) * 40)).value)


def test_a_coverage_is_a_share():
    table, *_ = simulated(0)
    with pytest.raises(ValueError, match=r"level is 1\.5, expected a share"):
        metrics.acc_coverage(table, level=1.5)
