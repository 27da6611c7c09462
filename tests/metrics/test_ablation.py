"""CoRA's ablation: variants of the same size, and random draws of variants; by hand, with oracles and exact means."""

from __future__ import annotations

import random
from dataclasses import replace
from math import isnan, sqrt

import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics import Estimate, mcqa, resampled, same_size
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.divergent import divergent
from tests.support import oracles_compare as compared
from tests.support.oracles_errors import paired_interval
from tests.support.tables import random_questions, table_of

NAMES = ("mcqa_plus", "mv", "bmca@1.0", "ci", "cora")


def answered(name: str, row: str) -> list[Record]:
    """Return answers to the divergent variants of a question with two options: 1 is right, 0 is wrong."""
    variants = divergent(Question(name, "Which one?", ("0", "1"), 0))
    return [
        Record(
            *(name, len(variants), variant.ordinal, variant.kind, variant.printed, variant.answer),
            picked=1 - int(hit),
            original=variant.original,
        )
        for variant, hit in zip(variants, row, strict=True)
    ]


def test_same_size_by_hand() -> None:
    # Two options: original, shuffled, with NOTA, with NOTA shuffled (these four have the same size); then decoupled
    # twice, and decoupled with NOTA twice. The first question is right in all eight, the second in the first four, the
    # third in the original only.
    rows = ["11111111", "11110000", "10000000"]
    members = [answered(f"q{number}", row) for number, row in enumerate(rows)]
    found = same_size(table_of(members))
    assert tuple(found) == NAMES
    # RC on four: 1, 1, 1/4, mean 3/4; on eight: 1, 1/2, 1/8, mean 13/24. Differences 0, 1/2, 1/8, mean 5/24.
    score, change = found["mcqa_plus"]
    assert score.value == pytest.approx(3 / 4)
    assert change.value == pytest.approx(5 / 24)
    # Deviations -5/24, 7/24, -2/24: variance (25 + 49 + 4) / 576 / 2 = 39/576, error sqrt(39/576 / 3).
    assert change.stderr == pytest.approx(sqrt(39 / 576 / 3))
    # More than half: 1, 1, 0 on four; 1, 0, 0 on eight (half is not enough). Differences 0, 1, 0, sd sqrt(1/3).
    score, change = found["mv"]
    assert (score.value, change.value, change.stderr) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    # All: 1, 1, 0 on four; 1, 0, 0 on eight.
    score, change = found["bmca@1.0"]
    assert (score.value, change.value, change.stderr) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    # All originals are right: ci = 1 - (1 - bmca@1.0), and cora = 1 * ci.
    for name in ("ci", "cora"):
        score, change = found[name]
        assert (score.value, change.value) == pytest.approx((2 / 3, 1 / 3))
    assert found["ci"][1].stderr == pytest.approx(1 / 3)
    # Influences m(y - b) with 1 - 2m + b times x - m = 0: y - 2/3 after, y - 1/3 before; differences 0 - 1/3, 1 - 1/3,
    # 0 - 1/3, the deviations of 0, 1, 0.
    assert found["cora"][1].stderr == pytest.approx(1 / 3)
    # None lost, one gained of three: 0 is inside, because p = 1/2.
    assert found["mv"][1][2:] == pytest.approx(paired_interval(0, 1, 3), abs=1e-6)


def test_same_size_without_questions() -> None:
    found = same_size(table_of([]))
    assert tuple(found) == NAMES
    for score, change in found.values():
        assert isnan(score.value)
        assert isnan(score.stderr)
        assert all(map(isnan, change))


def test_same_size_without_originals_has_no_ci() -> None:
    members = [[replace(record, original=False) for record in answered(name, "11110000")] for name in "abc"]
    found = same_size(table_of(members))
    for name in ("ci", "cora"):
        score, change = found[name]
        assert isinstance(score, Estimate)
        assert isnan(score.value)
        assert all(map(isnan, change))
    assert not isnan(found["mcqa_plus"][1].value)


# Resampling.


def random_hits(questions: int, variants: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    rows = []
    for _ in range(questions):
        easy = rng.choice((0.1, 0.5, 0.9, 0.97, 1.0))
        rows.append([int(rng.random() < easy) for _ in range(variants)])
    return rows


def test_two_draws_of_two_variants_by_hand() -> None:
    # One question is right in the original only, one in both variants. The draws: twice the first (1/4), twice the
    # second (1/4), one of each (1/2). mcqa_plus: 1, 1/2, 3/4, mean 3/4, variance (1/16 + 1/16 + 0 + 0) / 4 = 1/32.
    # mv, where a majority of two is both: 1, 1/2, 1/2, mean 5/8, variance 1/4 * 9/64 + 3/4 * 1/64 = 12/256 = 3/64.
    # mcqa = 1, so cora is the share right in all draws, here the same as mv.
    # On all variants: 3/4; 1/2; 1 * (1 - (1 - 1/2)) = 1/2.
    exact = compared.every_draw([[1, 0], [1, 1]], draws=2)
    assert exact["mcqa_plus"] == pytest.approx((3 / 4, sqrt(1 / 32)))
    assert exact["mv"] == exact["cora"] == pytest.approx((5 / 8, sqrt(3 / 64)))
    found = resampled(ResponseTable.from_hits([[1, 0], [1, 1]]), draws=2, times=40_000)
    for name, (mean, sd) in exact.items():
        # Tolerance: five errors of the mean of 40,000 draws. The error of a standard deviation is below 1%.
        assert found[name].mean == pytest.approx(mean, abs=5 * sd / 200)
        assert found[name].sd == pytest.approx(sd, rel=0.05)
    assert found["mcqa_plus"].change == pytest.approx(found["mcqa_plus"].mean - 3 / 4)
    assert found["mv"].change == pytest.approx(found["mv"].mean - 1 / 2)
    assert found["cora"].change == pytest.approx(found["cora"].mean - 1 / 2)


def test_means_with_several_numbers_of_variants_agree_with_the_exact_expectation() -> None:
    hits = random_hits(60, 26) + random_hits(40, 14, seed=1) + random_hits(30, 8, seed=2)
    random.Random(0).shuffle(hits)
    found = resampled(ResponseTable.from_hits(hits))
    for name, expected in compared.expected(hits, draws=100).items():
        assert found[name].mean == pytest.approx(expected, abs=5 * found[name].sd / sqrt(10_000)), name


def test_all_questions_get_the_same_draw() -> None:
    # More questions with the same answers do not reduce the spread. RC of 100 draws with probability 1/2 is binomial:
    # sd sqrt(0.25 / 100) = 0.05. With separate draws for each of the 100 questions the sd would be 0.005.
    found = resampled(ResponseTable.from_hits([[1, 0]] * 100))
    assert found["mcqa_plus"].sd == pytest.approx(0.05, rel=0.05)
    # Opposite answers cancel only if both questions have the same draw.
    assert resampled(ResponseTable.from_hits([[1, 0], [0, 1]]))["mcqa_plus"].sd == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("hits", [[[1, 1, 1], [0, 0, 0], [1, 1, 1]], [[1], [0], [1]], [[1, 1, 1], [0], [1, 1]]])
def test_nothing_varies_if_all_answers_to_a_question_are_equal(hits: list[list[int]]) -> None:
    # 2 of 3 are right, always: mcqa_plus = mv = bmca = mcqa = 2/3, ci = 1, cora = 2/3.
    for found in resampled(ResponseTable.from_hits(hits), times=500).values():
        assert found == pytest.approx((2 / 3, 0, 0), abs=1e-12)


def test_draws_do_not_change_mcqa() -> None:
    # Only the original is right: b = 0 unless all 100 draws are the original. mcqa = 1, cora = 1 * (1 - 1 + b) = b.
    assert resampled(ResponseTable.from_hits([[1, 0, 0, 0]] * 3))["cora"] == pytest.approx((0, 0, 0), abs=1e-12)
    # Only the original is wrong: mcqa = 0 and cora = 0 for all draws.
    assert resampled(ResponseTable.from_hits([[0, 1, 1, 1]] * 3), draws=1)["cora"] == (0, 0, 0)


def test_many_questions_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = random_hits(30, 14) + random_hits(30, 8)
    expected = resampled(ResponseTable.from_hits(hits), times=101)
    monkeypatch.setattr("lm_eval_cora.metrics.ablation._CELLS_AT_A_TIME", 100)
    for name, found in resampled(ResponseTable.from_hits(hits), times=101).items():
        assert found == pytest.approx(expected[name], abs=1e-12)


def test_the_standard_deviation_is_that_of_a_sample() -> None:
    # Values 0 and 1 with mean p: sum of squares n p (1 - p), over n - 1.
    found = resampled(ResponseTable.from_hits([[1, 0]]), draws=1, times=7)["mcqa_plus"]
    assert 0 < found.mean < 1
    assert found.sd == pytest.approx(sqrt(7 / 6 * found.mean * (1 - found.mean)))


def test_resampling_without_questions() -> None:
    found = resampled(table_of([]))
    assert tuple(found) == ("mcqa_plus", "mv", "cora")
    assert all(isnan(number) for part in found.values() for number in part)


def test_resampling_without_originals_has_no_cora() -> None:
    members = [[replace(record, original=False) for record in records] for records in random_questions(5)]
    table = table_of(members)
    assert isnan(mcqa(table).value)
    found = resampled(table, times=100)
    assert all(map(isnan, found["cora"]))
    assert not any(map(isnan, found["mcqa_plus"] + found["mv"]))


def test_a_single_time_has_no_standard_deviation() -> None:
    for found in resampled(ResponseTable.from_hits([[1, 0], [1, 1]]), times=1).values():
        assert 0 <= found.mean <= 1
        assert isnan(found.sd)


@pytest.mark.parametrize("number", [0, -2])
@pytest.mark.parametrize("name", ["draws", "times"])
def test_numbers_of_draws_and_times_are_checked(name: str, number: int) -> None:
    with pytest.raises(ValueError, match=f"{name} is {number}, expected 1 or more"):
        resampled(ResponseTable.from_hits([[1, 0], [1, 1]]), **{name: number})
