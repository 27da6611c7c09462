"""Differences between two sets of answers to the same questions, compared with a paired bootstrap."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import isnan, sqrt
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics import Difference, difference, mcnemar
from lm_eval_cora.metrics.estimate import UNDEFINED, mean_of, share_of
from lm_eval_cora.records import Record
from lm_eval_cora.responses import ResponseTable
from tests.support import oracles
from tests.support import oracles_compare as compared
from tests.support.paired import Members, some_changed
from tests.support.score_tables import (
    NOT_TRANSITIVE,
    hits,
    random_score_questions,
    random_written_questions,
    written_table,
)
from tests.support.tables import (
    METRICS,
    ORDER,
    PLUS,
    PROMPTS,
    STUDY,
    Metrics,
    estimates,
    questions,
    random_questions,
    random_study_questions,
    resampled,
    table_of,
    values_alone,
)

Tables = tuple[ResponseTable, ResponseTable]
Both = dict[str, tuple[Difference, np.ndarray]]

SAMPLES = 300
"""With so many samples, the error of the bootstrap is 1 / sqrt(600) = 4.1%."""


FEW = mock.patch("lm_eval_cora.metrics.estimate.REPLICATES", 40)
"""Fewer samples, for properties that hold for any number of samples."""


def changed_tables(make: Callable[[int], Members], seed: int) -> Tables:
    before, after = some_changed(make, seed)
    return table_of(before), table_of(after)


def differences(chosen: Metrics, tables: Tables) -> dict[str, Difference]:
    before, after = (estimates(chosen, table) for table in tables)
    return {name: difference(before[name], after[name]) for name in before if name in after}


def _bootstrapped(chosen: Metrics, tables: Tables) -> Both:
    """Return each difference that has an error, with its values in samples of the questions (paired)."""
    reported = differences(chosen, tables)
    rng = np.random.default_rng(0)
    count = len(tables[0].sizes)
    values: dict[str, list[float]] = {name: [] for name in reported}
    with values_alone():
        for _ in range(SAMPLES):
            drawn = rng.integers(count, size=count)
            before, after = (estimates(chosen, resampled(table, drawn)) for table in tables)
            for name, found in values.items():
                if name in before and name in after:
                    found.append(after[name].value - before[name].value)
    arrays = {name: np.array(found) for name, found in values.items()}
    return {
        name: (reported[name], found)
        for name, found in arrays.items()
        if len(found) == SAMPLES and not np.isnan(found).any() and not isnan(reported[name].stderr)
    }


def _some(chosen: Metrics, *, scored: bool = False) -> Metrics:
    """Leave out metrics that compute the same function as another one on a part of the table."""
    in_scored = ("confidence_", "yes_no_mass", "ties")
    again = ("by_category", "_paper", "@2", "@8", "@10", "sc_buckets")
    return {
        name: metric
        for name, metric in chosen.items()
        if name.startswith(in_scored) == scored and not any(part in name for part in again)
    }


def only_orders(members: Members) -> Members:
    kept = [[record for record in records if record.kind in ("original", "shuffled")] for records in members]
    return [[replace(record, variants=len(records)) for record in records] for records in kept]


WRITTEN = {name: PROMPTS[name] for name in ("consistency_rate", "all_equal", "equal@0.8", "timeouts")}


@pytest.fixture(scope="module")
def bootstrapped() -> dict[str, Both]:
    """Bootstrap 200 questions per probe, and 1,000 for the buckets."""
    written = some_changed(lambda seed: random_written_questions(200, "prompts", seed), 9)
    study = partial(random_study_questions, 200, (3, 4, 4))
    score = partial(random_score_questions, 200)
    plus = {name: PLUS[name] for name in ("mcqa_plus_diff", "cora")}
    found = {
        "divergent": (METRICS, changed_tables(lambda seed: random_questions(200, 10, seed), 1)),
        "plus": (plus, changed_tables(lambda seed: random_study_questions(200, (2, 4), seed, "plus"), 2)),
        "study": (_some(STUDY), changed_tables(lambda seed: study(seed), 3)),
        "buckets": (
            {"sc_buckets": STUDY["sc_buckets"]},
            changed_tables(lambda seed: only_orders(random_study_questions(1_000, (3, 4), seed)), 3),
        ),
        "scored": (_some(STUDY, scored=True), changed_tables(lambda seed: study(seed, scored=True), 4)),
        "prompts": (_some(PROMPTS), changed_tables(lambda seed: score("prompts", (4,), seed), 5)),
        "order": (
            _some(ORDER) | {"ties": ORDER["ties"]},
            changed_tables(lambda seed: score("order", (4, 4, 5), seed), 6),
        ),
        "written": (WRITTEN, tuple(written_table(members, NOT_TRANSITIVE) for members in written)),
    }
    return {name: _bootstrapped(chosen, tables) for name, (chosen, tables) in found.items()}


def test_every_metric_with_a_difference_is_tested(bootstrapped: dict[str, Both]) -> None:
    def missing(chosen: Metrics, found: str) -> set[str]:
        return set(chosen) - {name.split()[0] for name in bootstrapped[found]}

    assert missing(METRICS, "divergent") == set()
    assert missing(_some(STUDY), "study") == {"questions"}  # counts have no error
    assert {f"{times}/{n} {part}" for n in (3, 4) for times in range(2, n + 1) for part in ("share", "accuracy")} <= {
        name.removeprefix("sc_buckets ") for name in bootstrapped["buckets"]
    }
    assert missing(_some(STUDY, scored=True), "scored") == set()
    # Only comparisons of written answers can run out of time. The clustered chi-square has no error.
    assert missing(_some(PROMPTS), "prompts") == {"timeouts"}
    assert missing(_some(ORDER), "order") == {"position_chi_square_clustered"}
    assert missing(WRITTEN, "written") == set()


PROBES = ["divergent", "plus", "study", "buckets", "scored", "prompts", "order", "written"]


@pytest.mark.parametrize("probe", PROBES)
def test_error_of_a_difference_agrees_with_a_paired_bootstrap(probe: str, bootstrapped: dict[str, Both]) -> None:
    for name, (found, values) in bootstrapped[probe].items():
        # Tolerance: four errors of the bootstrap.
        assert found.stderr == pytest.approx(np.std(values, ddof=1), rel=0.16), name


@pytest.mark.parametrize("probe", PROBES)
def test_interval_of_a_difference_agrees_with_a_paired_bootstrap(probe: str, bootstrapped: dict[str, Both]) -> None:
    for name, (found, values) in bootstrapped[probe].items():
        # A percentile of 300 values has an error of sqrt(0.025 * 0.975 / 300) / 0.058 = 0.15 standard errors.
        low, high = np.percentile(values, [2.5, 97.5])
        assert found.low == pytest.approx(low, abs=0.6 * found.stderr), name
        assert found.high == pytest.approx(high, abs=0.6 * found.stderr), name
        assert found.low <= found.high


def test_the_interval_of_a_closed_form_uses_the_normal_distribution() -> None:
    before, after = (mean_of(np.array(values)) for values in ([0.0, 1.0, 0.0], [1.0, 1.0, 0.0]))
    # Differences 1, 0, 0: mean 1/3, variance 1/3, error 1/3. 97.5% of a normal distribution are below 1.959964.
    found = difference(before, after)
    assert found == pytest.approx((1 / 3, 1 / 3, 1 / 3 - 1.9599640 / 3, 1 / 3 + 1.9599640 / 3), abs=1e-7)
    assert (found.value, found.stderr, found.low, found.high) == tuple(found)


def test_pairing_removes_the_difficulty_of_the_questions() -> None:
    # Each question falls by 0.1, so the error of the difference is 0. Without pairing the errors would add up.
    before = np.array([0.2, 0.5, 0.9, 0.3])
    found = difference(mean_of(before), mean_of(before - 0.1))
    assert found.value == pytest.approx(-0.1)
    assert found.stderr == pytest.approx(0, abs=1e-12)


def test_difference_of_cora_by_hand() -> None:
    # Before: original right 1, 1, 0, 0, all right 1, 0, 0, 0: m = 1/2, b = 1/4, cora = 1/2 * 3/4 = 3/8.
    # Influences (1 - 2m + b)(x - m) + m(y - b) = 1/4 (x - 1/2) + 1/2 (y - 1/4):
    # 1/8 + 3/8 = 1/2, 1/8 - 1/8 = 0, -1/8 - 1/8 = -1/4 twice.
    # After: original 1, 1, 1, 0, all 1, 1, 0, 0: m = 3/4, b = 1/2, cora = 3/4 * 3/4 = 9/16.
    # Influences 0 (x - 3/4) + 3/4 (y - 1/2) = 3/8, 3/8, -3/8, -3/8.
    # Differences -1/8, 3/8, -1/8, -1/8: mean 0, sum of squares 12/64, variance 1/16, error 1/4 / 2 = 1/8.
    before = metrics.cora(ResponseTable.from_hits([[1, 1], [1, 0], [0, 1], [0, 0]]))
    after = metrics.cora(ResponseTable.from_hits([[1, 1], [1, 1], [1, 0], [0, 0]]))
    found = difference(before, after)
    assert found[:2] == pytest.approx((9 / 16 - 3 / 8, 1 / 8))


def test_difference_of_a_pooled_share_by_hand() -> None:
    # Three of four and none of two: R = 1/2, influences (k - R m) N / 6 = 1 * 1/3, -1 * 1/3; then two of four and one
    # of two: R = 1/2, influences 0, 0. Differences -1/3, 1/3: sd sqrt(2/9), error sqrt(2/9 / 2) = 1/3.
    before = metrics.acc(ResponseTable.from_hits([[1, 1, 1, 0], [0, 0]]))
    after = metrics.acc(ResponseTable.from_hits([[1, 1, 0, 0], [1, 0]]))
    assert difference(before, after)[:2] == pytest.approx((0, 1 / 3))


@FEW
@given(questions(min_size=2), st.integers(0, 99))
def test_means_agree_with_differences_within_questions(members: Members, seed: int) -> None:
    after = answered_again(members, seed)
    plain: dict[str, Callable[[Members], float]] = {
        "mcqa": oracles.mcqa,
        "mcqa_plus": oracles.mcqa_plus,
        "mv": oracles.mv,
        "ci": oracles.ci,
        "bmca@1.0": partial(oracles.bmca, tenths=10),
        "bmca@0.7": partial(oracles.bmca, tenths=7),
    }
    found = differences({name: METRICS[name] for name in plain}, (table_of(members), table_of(after)))
    for name, metric in plain.items():
        values = ([float(metric([records])) for records in answers] for answers in (members, after))
        assert found[name][:2] == pytest.approx(compared.mean_difference(*values), abs=1e-12), name


def answered_again(members: Members, seed: int) -> Members:
    """Return the same variants with other answers to about half of them."""
    rng = random.Random(seed)

    def again(record: Record) -> Record:
        if rng.random() < 0.5:
            return record
        picked = rng.choice([None, *record.printed])
        position = None if picked is None else record.printed.index(picked)
        return replace(record, picked=picked, position=position, tied=not record.tied)

    return [[again(record) for record in records] for records in members]


DIVERGENT_AND_ORDER = METRICS | {
    name: ORDER[name] for name in ("acc_mean", "macro_acc", "all_equal", "position_chi_square")
}


@FEW
@given(questions(), st.integers(0, 99))
def test_swapping_the_two_sides_changes_the_sign(members: Members, seed: int) -> None:
    tables = table_of(members), table_of(answered_again(members, seed))
    there, back = differences(DIVERGENT_AND_ORDER, tables), differences(DIVERGENT_AND_ORDER, tables[::-1])
    for name, (value, stderr, low, high) in there.items():
        assert back[name] == pytest.approx((-value, stderr, -high, -low), abs=1e-12, nan_ok=True), name


@FEW
@given(questions(min_size=2))
def test_the_difference_of_equal_answers_is_zero(members: Members) -> None:
    one, other = estimates(DIVERGENT_AND_ORDER, table_of(members)), estimates(DIVERGENT_AND_ORDER, table_of(members))
    for name, estimate in one.items():
        if isnan(estimate.stderr) and name != "position_chi_square":
            continue
        if isnan(estimate.value):
            continue
        assert difference(estimate, other[name]) == Difference(0, 0, 0, 0), name


@pytest.mark.parametrize("positions", [False, True])
def test_lowest_and_highest_accuracies_use_the_same_samples(positions: bool) -> None:
    before, after = changed_tables(lambda seed: random_score_questions(60, "order", (3, 4, 5), seed), 7)
    for metric in (metrics.acc_min, metrics.acc_max):
        one, other = metric(before, positions=positions), metric(after, positions=positions)
        assert one.influence is None
        ones, others = one.replicates, other.replicates
        assert ones.shape == (1000,)
        # The error of one side is the standard deviation of its values in these samples.
        assert one.stderr == pytest.approx(ones.std(ddof=1))
        found = difference(one, other)
        changes = sorted(others - ones)
        assert found.value == pytest.approx(other.value - one.value)
        assert found.stderr == pytest.approx(np.std(changes, ddof=1))
        # 2.5% of 999 steps: 24.975 from either end, so between the 25th and the 26th value of 1,000, close to the 26th.
        assert found.low == pytest.approx(changes[24] + 0.975 * (changes[25] - changes[24]))
        assert found.high == pytest.approx(changes[975] - 0.975 * (changes[975] - changes[974]))
        # Pairing: the answers to two of three questions are the same.
        assert found.stderr < 0.9 * sqrt(one.stderr**2 + other.stderr**2)


def test_differences_do_not_depend_on_the_order_of_the_records() -> None:
    before, after = some_changed(lambda seed: random_questions(40, 6, seed), 8)
    expected = differences(METRICS, (table_of(before), table_of(after)))
    records = [[record for members in answers for record in members] for answers in (before, after)]
    random.Random(0).shuffle(records[0])
    records[1].reverse()
    one, other = (ResponseTable.from_records(part) for part in records)
    for name, found in differences(METRICS, (one, other)).items():
        assert found == pytest.approx(expected[name], abs=1e-12), name


def test_one_question_has_a_difference_without_an_error() -> None:
    before, after = ResponseTable.from_hits([[1, 0, 0]]), ResponseTable.from_hits([[1, 1, 0]])
    found = differences(METRICS, (before, after))
    # 1/3 before, 2/3 after; the only kind besides the original rises from 0 to 1/2.
    assert found["mcqa_plus"].value == pytest.approx(1 / 3)
    assert found["acc_min"].value == pytest.approx(1 / 2)
    for name, (value, *rest) in found.items():
        assert not isnan(value), name
        assert all(map(isnan, rest)), name


def test_without_questions_there_is_no_difference() -> None:
    for chosen in (METRICS, PLUS, STUDY, PROMPTS, ORDER):
        for name, found in differences(chosen, (table_of([]), table_of([]))).items():
            if not name.startswith("questions"):
                assert all(map(isnan, found)), name


def test_a_metric_that_is_undefined_on_one_side_has_no_difference() -> None:
    defined = mean_of(np.array([1.0, 0.0]))
    assert all(map(isnan, difference(defined, UNDEFINED)))
    assert all(map(isnan, difference(UNDEFINED, defined)))


def test_a_subset_of_one_question_has_no_error() -> None:
    # The error of a mean over one question is undefined, and so is the error of a difference to it.
    values = np.array([0.2, 0.4, 0.6])
    one = mean_of(values, np.array([True, False, False]))
    all_of_them = mean_of(values)
    assert isnan(one.stderr)
    for before, after in ((one, one), (one, all_of_them), (all_of_them, one)):
        assert isnan(difference(before, after).stderr)


def test_a_rate_of_one_question_has_no_error() -> None:
    # The first question has one variant and no pair. Only the second one counts: the rate is 1 and then 0.
    before = metrics.consistency_rate(ResponseTable.from_hits([[1], [1, 1]]))
    after = metrics.consistency_rate(ResponseTable.from_hits([[1], [1, 0]]))
    assert isnan(before.stderr)
    assert isnan(after.stderr)
    value, *rest = difference(before, after)
    assert value == -1
    assert all(map(isnan, rest))


def test_a_category_of_one_question_has_no_error() -> None:
    # The spread within physics cannot be estimated from one question.
    before = metrics.macro_acc(hits(["11", "10", "11"], categories=["law", "law", "physics"]))
    after = metrics.macro_acc(hits(["10", "10", "00"], categories=["law", "law", "physics"]))
    assert isnan(before.stderr)
    value, *rest = difference(before, after)
    # law: 3/4 -> 1/2, physics: 1 -> 0; half of -1/4 - 1.
    assert value == pytest.approx(-5 / 8)
    assert all(map(isnan, rest))


# `difference` is not tried with one question: its error is undefined, so `difference` does not pair it.
@pytest.mark.parametrize(("compare", "one", "other"), [(difference, 3, 5), (mcnemar, 3, 5), (mcnemar, 1, 5)])
def test_estimates_of_different_numbers_of_questions_are_refused(compare: Callable, one: int, other: int) -> None:
    with pytest.raises(ValueError, match=rf"{one}\D+{other}|{other}\D+{one}"):
        compare(share_of(np.ones(one, dtype=np.bool_)), share_of(np.zeros(other, dtype=np.bool_)))
