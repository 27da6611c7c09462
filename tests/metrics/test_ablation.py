"""CoRA's ablation, random picks and guessing rates: by hand, with oracles, exact means, and the paper's tables."""

import random
from dataclasses import replace
from fractions import Fraction
from math import floor, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import at_least, chance_bmca, chance_consistency_rate, msgr, resampled, same_size
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support import oracles_compare as compared
from tests.support.oracles_errors import paired_interval
from tests.support.tables import answer_to, questions, table_of, variants_of, written

NAMES = ("mcqa_plus", "mv", "bmca@1.0", "ci", "cora")


def answered(name, row):
    """Return answers to the divergent variants of a question with two options: 1 is right, 0 is wrong."""
    pairs = zip(variants_of("divergent", 2, 0), row, strict=True)
    return [replace(answer_to(variant, name, len(row), 0), picked=1 - int(hit)) for variant, hit in pairs]


def test_same_size_by_hand():
    # Two options: original, shuffled, with NOTA, with NOTA shuffled (these four have the same size); then decoupled
    # twice, and decoupled with NOTA twice. The first question is right in all eight, the second in the first four, the
    # third in the original only.
    rows = ["11111111", "11110000", "10000000"]
    members = [answered(f"q{number}", row) for number, row in enumerate(rows)]
    found = same_size(table_of(members))
    assert tuple(found) == NAMES
    # RC on four: 1, 1, 1/4, mean 3/4; on eight: 1, 1/2, 1/8, mean 13/24. Differences 0, 1/2, 1/8, mean 5/24.
    # Deviations -5/24, 7/24, -2/24: variance (25 + 49 + 4) / 576 / 2 = 39/576, error sqrt(39/576 / 3).
    score, change = found.pop("mcqa_plus")
    assert (score.value, change.value, change.stderr) == pytest.approx((3 / 4, 5 / 24, sqrt(39 / 576 / 3)))
    # More than half, and all: 1, 1, 0 on four; 1, 0, 0 on eight, as half is not enough. Differences 0, 1, 0.
    # All originals are right: ci = 1 - (1 - bmca@1.0), and cora = 1 * ci. Its influences are m(y - b), as x - m = 0:
    # y - 2/3 after, y - 1/3 before; differences 0 - 1/3, 1 - 1/3, 0 - 1/3, the deviations of 0, 1, 0.
    for name, (score, change) in found.items():
        assert (score.value, change.value, change.stderr) == pytest.approx((2 / 3, 1 / 3, 1 / 3)), name
    # None lost, one gained of three: 0 is inside, because p = 1/2.
    assert found["mv"][1][2:] == pytest.approx(paired_interval(0, 1, 3), abs=1e-6)


def test_same_size_without_questions_and_without_originals():
    nothing = same_size(table_of([]))
    assert tuple(nothing) == NAMES
    members = [[replace(record, original=False) for record in answered(name, "11110000")] for name in "abc"]
    found = same_size(table_of(members))
    for score, change in (*nothing.values(), found["ci"], found["cora"]):
        assert all(map(isnan, (*score, *change)))
    assert not isnan(found["mcqa_plus"][1].value)


# ---- resampling
BOTH = ResponseTable.from_hits([[1, 0], [1, 1]])


def random_hits(questions, variants, seed=0):
    rng = np.random.default_rng(seed)
    easy = rng.choice((0.1, 0.5, 0.9, 0.97, 1.0), (questions, 1))
    return (rng.random((questions, variants)) < easy).astype(int).tolist()


def test_two_draws_of_two_variants_by_hand():
    # One question is right in the original only, one in both variants. The draws: twice the first (1/4), twice the
    # second (1/4), one of each (1/2). mcqa_plus: 1, 1/2, 3/4, mean 3/4, variance (1/16 + 1/16 + 0 + 0) / 4 = 1/32.
    # mv, where a majority of two is both: 1, 1/2, 1/2, mean 5/8, variance 1/4 * 9/64 + 3/4 * 1/64 = 12/256 = 3/64.
    # mcqa = 1, so cora is the share right in all draws, here the same as mv.
    # On all variants: 3/4; 1/2; 1 * (1 - (1 - 1/2)) = 1/2.
    found = resampled(BOTH, draws=2, times=40_000)
    for name in ("mcqa_plus", "mv", "cora"):
        mean, sd = (3 / 4, sqrt(1 / 32)) if name == "mcqa_plus" else (5 / 8, sqrt(3 / 64))
        # Tolerance: five errors of the mean of 40,000 draws. The error of a standard deviation is below 1%.
        assert found[name].mean == pytest.approx(mean, abs=5 * sd / 200)
        assert found[name].sd == pytest.approx(sd, rel=0.05)
        assert found[name].change == pytest.approx(found[name].mean - (3 / 4 if name == "mcqa_plus" else 1 / 2))


def test_means_with_several_numbers_of_variants_agree_with_the_exact_expectation():
    hits = random_hits(60, 26) + random_hits(40, 14, seed=1) + random_hits(30, 8, seed=2)
    random.Random(0).shuffle(hits)
    found = resampled(ResponseTable.from_hits(hits))
    for name, expected in compared.expected(hits, draws=100).items():
        assert found[name].mean == pytest.approx(expected, abs=5 * found[name].sd / sqrt(10_000)), name


def test_all_questions_get_the_same_draw():
    # More questions with the same answers do not reduce the spread. RC of 100 draws with probability 1/2 is binomial:
    # sd sqrt(0.25 / 100) = 0.05. With separate draws for each of the 100 questions the sd would be 0.005.
    assert resampled(ResponseTable.from_hits([[1, 0]] * 100))["mcqa_plus"].sd == pytest.approx(0.05, rel=0.05)
    # Opposite answers cancel only if both questions have the same draw.
    assert resampled(ResponseTable.from_hits([[1, 0], [0, 1]]))["mcqa_plus"].sd == pytest.approx(0, abs=1e-7)


def test_the_standard_deviation_is_that_of_a_sample():
    # Values 0 and 1 with mean p: sum of squares n p (1 - p), over n - 1.
    found = resampled(ResponseTable.from_hits([[1, 0]]), draws=1, times=7)["mcqa_plus"]
    assert 0 < found.mean < 1
    assert found.sd == pytest.approx(sqrt(7 / 6 * found.mean * (1 - found.mean)))


def test_what_resampling_leaves_undefined():
    nothing = resampled(table_of([]))
    assert tuple(nothing) == ("mcqa_plus", "mv", "cora")
    assert all(isnan(number) for part in nothing.values() for number in part)
    without_originals = resampled(ResponseTable.from_hits([[1, 0], [1, 1]], original=None), times=100)
    assert all(map(isnan, without_originals["cora"]))
    assert not any(map(isnan, without_originals["mcqa_plus"] + without_originals["mv"]))
    for found in resampled(BOTH, times=1).values():
        assert 0 <= found.mean <= 1
        assert isnan(found.sd)


def printing(name, *printed, picked=0):
    """Return a question whose variants print these options and all have the same pick."""
    return [
        Record(name, len(printed), ordinal, "kind", tuple(options), 0, picked=picked, original=not ordinal)
        for ordinal, options in enumerate(printed)
    ]


def divergence_set(name, options):
    return printing(name, *(variant.printed for variant in variants_of("divergent", options, 0)))


def test_two_variants_by_hand():
    # Three options, then two of them: a pair is comparable with probability 2/3 * 1, and half of those agree. So 3,333
    # of 5,000 tries count.
    members = [printing(f"q{number}", (0, 1, 2), (0, 1)) for number in range(50)]
    assert chance_consistency_rate(table_of(members)) == pytest.approx(1 / 2, abs=4 * 0.5 / sqrt(3_333))
    # No common option: a pair is never comparable.
    assert isnan(chance_consistency_rate(table_of([printing("q", (1, 2), (3, 4))])))


def test_variants_that_do_not_ask_for_a_letter_are_left_out():
    members = questions(30, "revas", (3, 4))
    expected = compared.rate_of_random_picks(members, 10, random.Random(0))
    assert chance_consistency_rate(table_of(members)) == pytest.approx(expected, abs=0.015)


def test_the_answers_do_not_matter():
    members = [divergence_set(f"q{number}", 4) for number in range(3)]
    expected = chance_consistency_rate(table_of(members))
    for answer in (None, 1):
        others = [[replace(r, picked=answer if answer in r.printed else None) for r in records] for records in members]
        assert chance_consistency_rate(table_of(others)) == expected


def test_without_options_or_pairs_chance_is_undefined():
    no_options = [table_of([]), written(["5", "x=5", None], ["7", "7", "7"])]
    for table in (*no_options, ResponseTable.from_hits([[1]]), ResponseTable.from_hits([[1], [0], [1]])):
        assert isnan(chance_consistency_rate(table))
    assert [chance_bmca(table, [0, 0.5, 1]) for table in no_options] == [[], []]


def test_the_largest_identities_are_picked():
    # The 26th filler is 52. Picks of two options agree with probability 1/2.
    found = chance_consistency_rate(table_of([printing("q", (0, 52), (52, 0), (0, 52))]))
    assert found == pytest.approx(0.5, abs=0.03)
    assert chance_consistency_rate(table_of([printing("q", (52,), (52,), picked=52)])) == 1


def test_bmca_by_chance_of_two_questions_by_hand():
    # All right: 1/2 * 1/4 and 1/3. At least half right: 1/2 + 1/2 * 1/4 and 1/3.
    table = table_of([printing("a", (0, 1), (0, 1, 2, 3)), printing("b", (0, 1, 2))])
    assert chance_bmca(table, [1, 0.5, 0]) == pytest.approx([(1 / 8 + 1 / 3) / 2, (5 / 8 + 1 / 3) / 2, 1])


RANDOM = (1, 0.89263, 0.62419, 0.32220, 0.12087, 0.03279, 0.00637, 0.00086, 0.000078, 0.0000042, 0.0000001)
"""P(at least p of 10 right) for guesses among five options, p = 0 ... 10."""


def test_random_guessing_agrees_with_the_paper():
    digits = [len(f"{printed:.10f}".rstrip("0").partition(".")[2]) for printed in RANDOM]
    assert tuple(map(round, at_least(10, 0.2).tolist(), digits)) == RANDOM


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *((lambda name=name: resampled(BOTH, **{name: 0}), f"{name} is 0, expected 1") for name in ("draws", "times")),
        *((lambda: at_least(0, 0.5), "variants is 0, expected 1"), (lambda: msgr(-1), "variants is -1, expected 1")),
        *((lambda rate=rate: at_least(10, rate), f"rate is {rate}, expected a share") for rate in (-0.01, 1.01, nan)),
        *((lambda p=p: msgr(10, p), f"certain is {p}, expected a prob") for p in (0.0, 1.0, -0.5, 1.5, nan)),
    ],
)
def test_wrong_numbers_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


@given(st.integers(1, 40), st.floats(0, 1) | st.sampled_from((0.0, 0.2, 0.5, 1.0)))
def test_at_least_agrees_with_exact_fractions(variants, rate):
    expected = [float(tail) for tail in compared.at_least(variants, Fraction(rate))]
    assert at_least(variants, rate) == pytest.approx(expected, rel=1e-9, abs=1e-300)


PRINTED = {1: 0.54, 2: 0.66, 3: 0.75, 4: 0.82, 5: 0.88, 7: 0.96, 8: 0.98, 9: 0.99}
"""The values of table 7 that one level explains. Left out: 0.2 for 0, 0.93 for 6 and 0.9999 for 10."""


def test_minimum_success_rates_agree_with_the_paper_and_by_hand():
    found = msgr(10)
    assert {p: floor(100 * found[p]) / 100 for p in PRINTED} == PRINTED
    # One or more of M: 1 - (1 - r)^M = L, so r = 1 - (1 - L)^(1 / M); all M: r^M = L, so r = L^(1 / M).
    assert found[[1, 10]] == pytest.approx([1 - 0.0004 ** (1 / 10), 0.9996 ** (1 / 10)], abs=1e-12)


@given(st.integers(1, 30), st.floats(0.001, 0.9999))
def test_the_rate_is_the_smallest_that_reaches_the_level(variants, certain):
    found = msgr(variants, certain)
    assert found.shape == (variants + 1,)
    assert found[0] == 0
    assert (np.diff(found) > 0).all()
    assert ((found >= 0) & (found <= 1)).all()
    for p, rate in enumerate(found[1:].tolist(), start=1):
        assert at_least(variants, rate)[p] >= certain * (1 - 1e-12)
        assert at_least(variants, max(rate - 1e-9, 0))[p] < certain
