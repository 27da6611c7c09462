"""Metrics with known values, from the papers or by hand, and their errors, compared with a plain bootstrap."""

from dataclasses import replace
from functools import partial
from math import isnan, sqrt
from statistics import pstdev

import numpy as np
import pytest

from lm_eval_cora import metrics
from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import tables


@pytest.mark.parametrize(
    ("mcqa", "full", "ci", "cora"),
    [
        # CoRA, tables 1 to 4; the paper rounds to two digits.
        (85, 73, 0.88, (0.74, 0.75)),
        (74, 18, 0.44, (0.32, 0.33)),
        (38, 11, 0.73, (0.28, 0.28)),
        (34, 5, 0.71, (0.24, 0.24)),
    ],
)
def test_tables_of_the_cora_paper(mcqa, full, ci, cora):
    # 100 questions: `full` right throughout, mcqa - full right in the original only, the rest wrong.
    table = ResponseTable.from_hits([[1, 1]] * full + [[1, 0]] * (mcqa - full) + [[0, 0]] * (100 - mcqa))
    assert metrics.mcqa(table).value == pytest.approx(mcqa / 100)
    assert metrics.bmca(table, 1.0).value == pytest.approx(full / 100)
    assert metrics.ci(table).value == pytest.approx(ci)
    assert cora[0] - 0.005 <= metrics.cora(table).value <= cora[1] + 0.005


def test_consistency_rate_by_hand():
    def ask(ordinal, printed, picked):
        return Record("q", 4, ordinal, "x" if ordinal else "original", printed, 0, picked=picked, original=not ordinal)

    # picks: a = 2 of {0,1,2}, b = 0 of {0,1}, c = 2 of {0,2}, d = invalid of {0,1}
    # a-b: b does not print 2: not comparable.   a-c: 2 and 2, both print it: agree.
    # b-c: c prints 0, b does not print 2: not comparable.   a-d, b-d, c-d: d is invalid: comparable, disagree.
    # 1 of 4 comparable pairs agrees.
    table = tables.table_of([[ask(0, (0, 1, 2), 2), ask(1, (0, 1), 0), ask(2, (0, 2), 2), ask(3, (0, 1), None)]])
    assert metrics.consistency_rate(table).value == 0.25


def test_levels_are_compared_in_integers():
    for tenths in range(11):
        table = ResponseTable.from_hits([[1] * tenths + [0] * (10 - tenths)])
        reached = [metrics.bmca(table, level / 10).value for level in range(11)]
        assert reached == [1.0] * (tenths + 1) + [0.0] * (10 - tenths)
    # In floats 0.55 * 100 is 55.00000000000001, so 55 of 100 would not reach it. 18 of 26 = 0.692 do not reach 0.7.
    for right, of, level, share in ((55, 100, 0.55, 1), (13, 26, 0.5, 1), (18, 26, 0.7, 0), (19, 26, 0.7, 1)):
        assert metrics.bmca(ResponseTable.from_hits([[1] * right + [0] * (of - right)]), level).value == share
    assert metrics.mv(ResponseTable.from_hits([[1] * 13 + [0] * 13])).value == 0.0  # half is not a majority


def test_standard_errors_by_hand():
    # x = original right: 1, 1, 0, 0; y = all right: 1, 0, 0, 0.  m = 1/2, b = 1/4.
    table = ResponseTable.from_hits([[1, 1], [1, 0], [0, 1], [0, 0]])
    # Mean of 1, 1, 0, 0: sd = sqrt(4 * 0.25 / 3), / sqrt(4).
    assert metrics.mcqa(table).stderr == pytest.approx(sqrt(1 / 3) / 2)
    # ci: 1 - x + y = 1, 0, 1, 1: sd = sqrt((3 * 0.0625 + 0.5625) / 3) = 0.5, / 2.
    assert metrics.ci(table).stderr == pytest.approx(0.25)
    # acc: R = 4/8; k - R m = 1, 0, 0, -1: sqrt(4/3 * 2) / 8. All questions have two variants: nothing else is added.
    assert metrics.acc(table).stderr == pytest.approx(sqrt(8 / 3) / 8)
    # cora: of two questions one is right in both variants, one wrong in the original: ci is 1, so cora is the share of
    # the first in the sample, 0, 1/2, 1/2 or 1. Variance 1/8, times N / (N - 1) = 2.
    assert metrics.cora(ResponseTable.from_hits([[1, 1], [0, 0]])).stderr == pytest.approx(1 / 2)
    # One right in the original only and one wrong in it: cora is s (1 - s), 0, 1/4, 1/4, 0: variance 1/64, times 2.
    assert metrics.cora(ResponseTable.from_hits([[1, 0], [0, 0]])).stderr == pytest.approx(sqrt(1 / 32))


def test_core_by_hand():
    # The highest levels are 10 and 5 of 10: areas 1 and 0.55, heights 1 and 0.5. The samples have the products 1,
    # 0.775 * 0.75 = 0.58125 twice, and 0.275: mean 0.609375.
    values = [1, 0.58125, 0.58125, 0.275]
    found = metrics.core(ResponseTable.from_hits([[1, 1], [1, 0]]))
    assert tuple(found) == pytest.approx((0.58125, pstdev(values) * sqrt(2)))


BY_KIND = (
    "templates",
    "positions",
    "samples",
    "styles",
    "by_category",
    "picks_by_letter",
    "letter_prior",
    "sc_buckets",
)


@pytest.mark.parametrize("probe", tables.OF_PROBE)
def test_without_questions_everything_is_undefined(probe):
    chosen = tables.OF_PROBE[probe]
    found = tables.estimates(chosen, ResponseTable.from_records(()))
    assert {key.split()[0] for key in found} == {name for name in chosen if not name.startswith(BY_KIND)}
    for key, estimate in found.items():
        assert isnan(estimate.stderr), key
        assert isnan(estimate.value) or (key.startswith("questions ") and estimate.value == 0), key


@pytest.mark.parametrize("name", tables.METRICS)
def test_one_question_has_a_value_and_no_error(name):
    estimate = tables.METRICS[name](ResponseTable.from_hits([[1, 0, 1]], likelihoods=np.full((3, 2), -1.0)))
    assert not isnan(estimate.value)
    assert isnan(estimate.stderr)


def _both_errors(found, *answers):
    """Each estimate with its bootstrapped error; of 400 samples, whose error is 1 / sqrt(800) = 3.5%."""
    rng, count = np.random.default_rng(0), len(answers[0].sizes)
    with tables.without_errors():
        drawn = [rng.integers(count, size=count) for _ in range(400)]
        replicates = [found(*(tables.resampled(table, each) for table in answers)) for each in drawn]
    return {
        name: (estimate, float(np.std([replicate[name].value for replicate in replicates], ddof=1)))
        for name, estimate in found(*answers).items()
    }


@pytest.fixture(scope="module")
def bootstrapped():
    # 8 or 26 variants, so that pooled shares and means over questions differ.
    members = tables.questions(60, options=(5,))
    for records in tables.questions(40, options=(2,), seed=3):
        members.append([replace(record, question_id=f"s{record.question_id}") for record in records])
    return _both_errors(partial(tables.estimates, tables.METRICS), tables.table_of(members))


@pytest.mark.parametrize("name", tables.METRICS)
def test_error_agrees_with_the_bootstrap(name, bootstrapped):
    estimate, expected = bootstrapped[name]
    if not expected:  # no question differs
        assert estimate.ends
        return
    # Tolerance: four errors of the bootstrap, and a little for the factor sqrt(N / (N - 1)).
    assert estimate.stderr == pytest.approx(expected, rel=0.145)


def test_errors_of_the_aggregated_row_agree_with_the_bootstrap():
    def rows(prompts, order):
        both = (metrics.aggregated(prompts=prompts, order=order, macro=macro)._asdict() for macro in (False, True))
        found = {f"{name} {place}": value for place, row in enumerate(both) for name, value in row.items()}
        return {name: value for name, value in found.items() if isinstance(value, Estimate)}

    prompts = tables.table_of(tables.questions(100, "prompts", (3, 4, 5), seed=1))
    order = tables.table_of(tables.questions(100, "order", (3, 4, 4, 5), seed=2))
    for name, (estimate, expected) in _both_errors(rows, prompts, order).items():
        assert estimate.stderr == pytest.approx(expected, rel=0.145), name
