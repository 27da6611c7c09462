"""Every metric compared with its slow oracle, and properties that hold for any answers."""

import re
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.metrics.facts import FUNCTIONS
from lm_eval_cora.variants.probes import PROBES
from tests.support import oracles, oracles_score
from tests.support.tables import (
    OF_PROBE,
    SAMPLED,
    equivalence,
    estimates,
    few_questions,
    questions,
    table_of,
    without_errors,
)

SCORE = ("prompts", "order", "sampling")
seeds = st.integers(0, 10_000)


def values_of(chosen, table):
    with without_errors():
        return {name: found.value for name, found in estimates(chosen, table).items()}


def assert_agreement(values, expected):
    """Metrics without an oracle in tests/support have tests of their own; see the last test of this file."""
    assert set(expected) <= set(values)
    for name, right in expected.items():
        assert values[name] == pytest.approx(nan if right is None else right, nan_ok=True), name


@pytest.mark.parametrize("probe", PROBES)
@given(seeds)
def test_every_metric_agrees_with_its_oracle(probe, seed):
    members = few_questions(probe, seed, form="loglikelihood" if probe == "revas" and seed % 2 else "generate")
    assume(max(map(len, members)) > 1)
    assert_agreement(values_of(OF_PROBE[probe], table_of(members)), oracles_score.expected(probe, members))


@given(seeds)
def test_one_variant_of_each_question_agrees_with_the_oracles(seed):
    sampled = [[replace(records[seed % 9], ordinal=0, variants=1)] for records in few_questions("plus", seed)]
    expected = {"acc": oracles.acc, "mcqa_plus_sampled": oracles.mcqa_plus, "invalid": oracles.invalid}
    expected["followed"] = oracles.followed
    values = values_of({name: OF_PROBE["plus"][name] for name in SAMPLED}, table_of(sampled))
    assert_agreement(values, {name: oracle(sampled) for name, oracle in expected.items()})


@settings(max_examples=25)
@given(seeds)
@pytest.mark.parametrize("probe", ["prompts", "sampling"])
def test_every_metric_of_written_answers_agrees_with_its_oracle(probe, seed):
    members, same = questions(1 + seed % 4, probe, (0,), seed), equivalence(seed)
    assert_agreement(values_of(OF_PROBE[probe], table_of(members, same)), oracles_score.expected(probe, members, same))


@given(seeds)
def test_every_error_of_the_divergent_probe_is_positive_and_every_interval_in_the_range(seed):
    members = few_questions("divergent", seed, least=2)
    table = table_of(members)
    for name, metric in OF_PROBE["divergent"].items():
        estimate = metric(table)
        (value, stderr), (low, high) = estimate, estimate.interval
        if name == "ci" and max(map(len, members)) == 1:  # it is 1 for all possible answers
            assert (value, stderr, low, high) == (1, 0, 1, 1)
            continue
        if name == "consistency_rate" and isnan(stderr):  # fewer than two questions with a comparable pair
            assert isnan(low)
            assert isnan(high)
            continue
        if name == "order_gap" and isnan(stderr):  # fewer than two questions with another order
            continue
        assert 0 < stderr < inf, name
        assert -(name == "order_gap") <= low <= value <= high <= 1, name
        assert low < high, name


@pytest.mark.parametrize("form", ["generate", "loglikelihood"])
def test_larger_tables_of_the_study_agree_with_the_oracles(form):
    members = questions(120, "revas", (2, 3, 4, 5, 6, 10), form=form)
    values = values_of(OF_PROBE["revas"], table_of(members))
    assert_agreement(values, oracles_score.expected("revas", members))
    sizes = {name: value for name, value in values.items() if name.startswith("questions ")}
    assert min(sizes.values()) >= 5, sizes  # no subset is empty
    undefined = {name for name, value in values.items() if isnan(value) and not name.startswith("sc_buckets ")}
    forms = ("multi_share", "recall_") if form == "loglikelihood" else ("confidence_", "yes_no_mass")
    assert all(name.startswith(forms) for name in undefined)


@pytest.mark.parametrize("probe", SCORE)
def test_larger_tables_agree_with_the_oracles(probe):
    members = questions(120, probe, (3, 4, 5, 10))
    values = values_of(OF_PROBE[probe], table_of(members))
    assert_agreement(values, oracles_score.expected(probe, members))
    cyclic = {"acc_permuted", "acc_pride", "brier_permuted"}
    assert {name for name, value in values.items() if isnan(value)} <= {"timeouts", *cyclic}


def test_larger_tables_of_cyclic_orders_agree_with_the_oracles():
    members = questions(120, "order", (2, 3, 4, 4, 10), 5, orders="cyclic")
    values = values_of(OF_PROBE["order"], table_of(members))
    assert_agreement(values, oracles_score.expected("order", members))
    assert {name for name, value in values.items() if isnan(value)} == {"brier_permuted"}  # some letters have no score


@pytest.mark.parametrize("macro", [False, True])
@pytest.mark.parametrize("chosen", [SCORE, ("prompts", "order"), ("sampling", "order"), ("order",)])
def test_the_aggregated_row_agrees_with_its_oracle(chosen, macro):
    # Each probe lacks a different ten of the 60 questions, which have mixed numbers of options.
    gone = {"prompts": range(10), "order": range(5, 15), "sampling": range(50, 60)}
    probes = {}
    for seed, probe in enumerate(chosen):  # the same ids and categories, other answers
        members = questions(60, probe, (3, 4, 5, 10), seed)
        probes[probe] = [records for number, records in enumerate(members) if number not in gone[probe]]
    found = metrics.aggregated(**{probe: table_of(members) for probe, members in probes.items()}, macro=macro)
    expected = oracles_score.aggregated(probes, macro=macro)
    for name, right in expected.items():
        value = getattr(found, name)
        value = value.value if isinstance(value, metrics.Estimate) else value
        assert value == pytest.approx(nan if right is None else right, nan_ok=True), name


SHARES = ("acc", "mcqa", "ci", "cora", "consistency_rate", "all_equal", "equal", "macro_acc", "invalid", "ties")


def columns(table):
    """Return the columns of a table except `ran_out`, which `where` does not change: it counts all answers."""
    names = ("picked", "position", "answer", "correct", "invalid", "tied", "printed", "options", "original", "written")
    found = {name: getattr(table, name).tolist() for name in (*names, "sizes", "equal_answers")}
    pairs = sorted(map(tuple, table.pairs.tolist()))
    kinds = [table.kinds[code] for code in table.kind]
    return found | {"ids": list(table.question_ids), "of": list(table.categories), "kind": kinds, "pairs": pairs}


def _kept(members, gone):
    kept = filter(None, ([record for record in records if record.kind not in gone] for records in members))
    return [[replace(one, ordinal=place, variants=len(each)) for place, one in enumerate(each)] for each in kept]


@pytest.mark.parametrize("probe", SCORE)
@given(seeds, st.data())
def test_some_kinds_of_a_table_are_the_table_of_their_records(probe, seed, data):
    members = few_questions(probe, seed)
    table = table_of(members)
    assert columns(table.where(np.full(len(table.kind), True))) == columns(table)
    gone = data.draw(st.sets(st.sampled_from(table.kinds)))
    assert columns(table.where(~table.is_kind(*gone))) == columns(table_of(_kept(members, gone)))


NO_ERROR = (" questions", " outlier", " even", " picks", "acc_range", "acc_range_by_chance", "acc_range_p")
"""Counts, and numbers that are compared with an expectation or are one."""


@settings(max_examples=10)
@given(seeds)
@pytest.mark.parametrize("probe", SCORE)
def test_every_error_is_positive_and_every_interval_contains_the_value(probe, seed):
    members = few_questions(probe, seed)
    for name, estimate in estimates(OF_PROBE[probe], table_of(members)).items():
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


def test_every_metric_is_tested_here_or_in_a_file_of_its_own():
    texts = " ".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))
    elsewhere = {name for name in FUNCTIONS if not hasattr(oracles, name) and not hasattr(oracles_score, name)}
    assert {name for name in elsewhere if not re.search(rf"\b{name}\b", texts)} == set()
