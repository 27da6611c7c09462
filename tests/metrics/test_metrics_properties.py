"""Every metric compared with its slow oracle, and properties that hold for any answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import oracles, oracles_score, tables
from tests.support.score_tables import (
    Probe,
    Verdicts,
    random_score_questions,
    score_questions,
    verdicts,
    written_questions,
    written_table,
)
from tests.support.tables import ORDER, PROMPTS, SAMPLING, Metrics, estimates, table_of, without_errors

Members = list[list[Record]]
LISTS: dict[Probe, tuple[Metrics, Callable[..., oracles_score.Values]]] = {
    "prompts": (PROMPTS, oracles_score.prompts_metrics),
    "order": (ORDER, oracles_score.order_metrics),
    "sampling": (SAMPLING, oracles_score.sampling_metrics),
}
score_tables = st.one_of(
    *(st.tuples(st.just(probe), score_questions(probe, min_size=least)) for least in (1, 2) for probe in LISTS)
)


def values_of(chosen: Metrics, table: ResponseTable) -> dict[str, float]:
    with without_errors():
        return {name: found.value for name, found in estimates(chosen, table).items()}


TESTED_ELSEWHERE = ("position_p_value", "acc_range_p", "acc_range_by_chance", "recall_spread_by_chance")
"""P-values and expectations, which test_positions.py and test_paired_several.py compare with simulations."""


def assert_agreement(values: dict[str, float], expected: oracles_score.Values) -> None:
    values = {name: value for name, value in values.items() if not name.endswith(TESTED_ELSEWHERE)}
    assert set(expected) == set(values)
    for name, value in values.items():
        right = expected[name]
        assert value == pytest.approx(nan if right is None else right, nan_ok=True), name


@given(tables.questions())
def test_every_metric_of_the_divergent_probe_agrees_with_its_oracle(members: Members) -> None:
    assert_agreement(values_of(tables.METRICS, table_of(members)), oracles.all_metrics(members))


@given(tables.study_questions())
def test_every_metric_of_the_study_agrees_with_its_oracle(members: Members) -> None:
    assert_agreement(values_of(tables.STUDY, table_of(members)), oracles.study_metrics(members))


@given(tables.study_questions(probe="plus"))
def test_every_metric_of_mcqa_plus_agrees_with_its_oracle(members: Members) -> None:
    assert_agreement(values_of(tables.PLUS, table_of(members)), oracles.plus_metrics(members))


@given(tables.study_questions(probe="plus"), st.integers(0, 8))
def test_one_variant_of_each_question_agrees_with_the_oracles(members: Members, drawn: int) -> None:
    sampled = [[replace(records[drawn], ordinal=0, variants=1)] for records in members]
    expected = {"acc": oracles.acc, "mcqa_plus_sampled": oracles.mcqa_plus, "invalid": oracles.invalid}
    expected["followed"] = oracles.followed
    chosen = {name: tables.PLUS[name] for name in tables.SAMPLED}
    values = values_of(chosen, table_of(sampled))
    assert_agreement(values, {name: oracle(sampled) for name, oracle in expected.items()})


@given(tables.questions(min_size=2))
def test_every_error_of_the_divergent_probe_is_positive_and_every_interval_in_the_range(members: Members) -> None:
    table = table_of(members)
    for name, metric in tables.METRICS.items():
        estimate = metric(table)
        (value, stderr), (low, high) = estimate, estimate.interval
        if name == "ci" and max(map(len, members)) == 1:  # it is 1 for all possible answers
            assert (value, stderr, low, high) == (1, 0, 1, 1)
            continue
        if name == "consistency_rate" and isnan(stderr):  # fewer than two questions with a comparable pair
            assert isnan(low)
            assert isnan(high)
            continue
        assert 0 < stderr < inf, name
        assert 0 <= low <= value <= high <= 1, name
        assert low < high, name


@pytest.mark.parametrize("scored", [False, True])
def test_larger_tables_of_the_study_agree_with_the_oracles(scored: bool) -> None:
    members = tables.random_study_questions(120, scored=scored)
    values = values_of(tables.STUDY, table_of(members))
    assert_agreement(values, oracles.study_metrics(members))
    sizes = {name: value for name, value in values.items() if name.startswith("questions ")}
    assert min(sizes.values()) >= 5, sizes  # no subset is empty
    undefined = {name for name, value in values.items() if isnan(value) and not name.startswith("sc_buckets ")}
    forms = ("multi_share", "recall_") if scored else ("confidence_", "yes_no_mass")
    assert all(name.startswith(forms) for name in undefined)


@given(score_tables)
def test_every_metric_agrees_with_its_oracle(probed: tuple[Probe, Members]) -> None:
    probe, members = probed
    chosen, oracle = LISTS[probe]
    assert_agreement(values_of(chosen, table_of(members)), oracle(members))


@settings(max_examples=25)
@given(verdicts, written_questions("prompts"), written_questions("sampling"))
def test_every_metric_of_written_answers_agrees_with_its_oracle(
    same: Verdicts, by_prompts: Members, by_sampling: Members
) -> None:
    for (chosen, oracle), members in ((LISTS["prompts"], by_prompts), (LISTS["sampling"], by_sampling)):
        assert_agreement(values_of(chosen, written_table(members, same)), oracle(members, same))


@pytest.mark.parametrize("probe", LISTS)
def test_larger_tables_agree_with_the_oracles(probe: Probe) -> None:
    members, (chosen, oracle) = random_score_questions(120, probe), LISTS[probe]
    values = values_of(chosen, table_of(members))
    assert_agreement(values, oracle(members))
    # Two metrics need cyclic orders.
    assert {name for name, value in values.items() if isnan(value)} <= {"timeouts", "acc_permuted", "acc_pride"}


def test_larger_tables_of_cyclic_orders_agree_with_the_oracles() -> None:
    members = random_score_questions(120, "order", (2, 3, 4, 4, 10), seed=5, orders="cyclic")
    values = values_of(ORDER, table_of(members))
    assert_agreement(values, oracles_score.order_metrics(members))
    assert not any(map(isnan, values.values()))


@pytest.mark.parametrize("macro", [False, True])
@pytest.mark.parametrize("chosen", [(*LISTS,), ("prompts", "order"), ("sampling", "order"), ("order",)])
def test_the_aggregated_row_agrees_with_its_oracle(chosen: Sequence[Probe], macro: bool) -> None:
    # Each probe lacks a different ten of the 60 questions, which have mixed numbers of options.
    gone = {"prompts": range(10), "order": range(5, 15), "sampling": range(50, 60)}
    probes: dict[str, Members] = {}
    for seed, probe in enumerate(chosen):  # the same ids and categories, other answers
        members = random_score_questions(60, probe, seed=seed)
        probes[probe] = [records for number, records in enumerate(members) if number not in gone[probe]]
    found = metrics.aggregated(**{probe: table_of(members) for probe, members in probes.items()}, macro=macro)
    expected = oracles_score.aggregated(probes, macro=macro)
    for name, right in expected.items():
        value = getattr(found, name)
        value = value.value if isinstance(value, metrics.Estimate) else value
        assert value == pytest.approx(nan if right is None else right, nan_ok=True), name


SHARES = ("acc", "mcqa", "ci", "cora", "consistency_rate", "all_equal", "equal", "macro_acc", "invalid", "ties")


def columns(table: ResponseTable) -> dict[str, list[object]]:
    """Return the columns of a table except `ran_out`, which `where` does not change: it counts all answers."""
    names = ("picked", "position", "answer", "correct", "invalid", "tied", "printed", "options", "original", "written")
    found = {name: getattr(table, name).tolist() for name in (*names, "sizes", "alike")}
    pairs = sorted(map(tuple, table.pairs.tolist()))
    kinds = [table.kinds[code] for code in table.kind]
    return found | {"ids": list(table.question_ids), "of": list(table.categories), "kind": kinds, "pairs": pairs}


def _kept(members: Members, gone: set[str]) -> Members:
    kept = filter(None, ([record for record in records if record.kind not in gone] for records in members))
    return [[replace(one, ordinal=place, variants=len(each)) for place, one in enumerate(each)] for each in kept]


@given(score_tables, st.data())
def test_some_kinds_of_a_table_are_the_table_of_their_records(
    probed: tuple[Probe, Members], data: st.DataObject
) -> None:
    table = table_of(probed[1])
    assert columns(table.where(np.full(len(table.kind), True))) == columns(table)
    gone = data.draw(st.sets(st.sampled_from(table.kinds)))
    assert columns(table.where(~table.is_kind(*gone))) == columns(table_of(_kept(probed[1], gone)))


NO_ERROR = (" questions", " outlier", " even", " picks", "acc_range", "acc_range_by_chance", "acc_range_p")
"""Counts, and numbers that are compared with an expectation or are one."""


@settings(max_examples=20)
@given(score_tables)
def test_every_error_is_positive_and_every_interval_contains_the_value(probed: tuple[Probe, Members]) -> None:
    probe, members = probed
    for name, estimate in estimates(LISTS[probe][0], table_of(members)).items():
        value, stderr = estimate
        assert isnan(stderr) or 0 < stderr < inf, name
        if name.startswith("position_") or name.endswith(NO_ERROR) or isnan(value):
            assert isnan(stderr), name
        elif name.startswith(SHARES):
            assert isnan(stderr) == (len(members) < 2), name
        low, high = estimate.interval
        assert isnan(low) == isnan(high) == isnan(stderr), name
        assert isnan(low) or low <= value <= high, name
        # Adjusted for harder questions, an accuracy can be slightly outside.
        assert isnan(low) or probe == "order" or 0 <= low < high <= 1, name
