"""Coverage of confidence intervals in runs that `--target-stderr` ended."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
import pytest

from lm_eval_cora.harness.rounds import Observed, Outcomes, Planned, until_precise

AGENDA = [Planned("t", f"q{number}", 26) for number in range(5_000)]
REPLICATES = 1_000
TARGET = 0.02

SETTINGS = [(0.74, 0.18), (0.34, 0.05), (0.85, 0.73)]
"""(mcqa, bmca@1.0) of models in the CoRA paper's tables."""


def cora_and_error(always: int, once: int, never: int) -> tuple[float, float]:
    """The error from DEFINITIONS 3. All questions with the same outcome have the same influence."""
    n = always + once + never
    m, b = (always + once) / n, always / n
    squares = 0.0
    for count, x, y in ((always, 1, 1), (once, 1, 0), (never, 0, 0)):
        squares += count * ((1 - 2 * m + b) * (x - m) + m * (y - b)) ** 2
    return m * (1 - m + b), sqrt(squares / (n - 1) / n)


def counts_of(drawn: np.ndarray) -> np.ndarray:
    """Array of shape (N + 1, 3): numbers of outcomes 0 (always), 1 (once), 2 (never) in the first n questions."""
    counted = np.cumsum(drawn[:, None] == np.arange(3), axis=0)
    return np.concatenate([np.zeros((1, 3), dtype=np.int64), counted])


def looked(drawn: np.ndarray, target: float = TARGET) -> Iterator[tuple[int, Outcomes]]:
    """The number of questions and their outcomes at each test of the error in a run."""
    counts = counts_of(drawn)
    agenda = AGENDA[: len(drawn)]
    rounds = until_precise(agenda, target)
    asked = 0
    batch = next(rounds, None)
    while batch is not None:
        # Rounds follow the agenda without gaps. Otherwise the counts would be of other questions.
        assert list(batch) == agenda[asked : asked + len(batch)]
        asked += len(batch)
        outcomes = Outcomes(*counts[asked].tolist())
        yield asked, outcomes
        try:
            batch = rounds.send(Observed(26 * asked, {"t": outcomes}))
        except StopIteration:
            batch = None


def test_the_error_worked_out_here_is_that_of_a_table_of_answers() -> None:
    # Two always right, one in the original only, one never: m = 3/4, b = 1/2, cora = 3/4 * 3/4 = 9/16.
    # 1 - 2m + b = 0. Influences m (y - b): 3/8, 3/8, -3/8, -3/8; squares sum to 4 * 9/64 = 9/16; / 3 / 4 = 3/64.
    assert cora_and_error(2, 1, 1) == pytest.approx((9 / 16, sqrt(3 / 64)))


@pytest.mark.parametrize(("m", "b"), SETTINGS)
def test_the_interval_at_the_stop_covers_the_truth_in_95_of_100_runs(m: float, b: float) -> None:
    truth = m * (1 - m + b)
    rng = np.random.default_rng(20_240_607)
    covered = early = 0
    ends = []
    for _ in range(REPLICATES):
        drawn = np.searchsorted([b, m], rng.random(len(AGENDA)), side="right")  # always, once, never
        *_, (asked, outcomes) = looked(drawn)
        value, stderr = cora_and_error(*outcomes)
        assert stderr < TARGET or asked == len(AGENDA)
        covered += abs(value - truth) <= 1.96 * stderr
        early += asked < len(AGENDA)
        ends.append(asked)
    # The binomial error of the figure itself is sqrt(0.95 * 0.05 / 1000) = 0.7 points.
    assert 0.925 <= covered / REPLICATES <= 0.97, covered / REPLICATES
    # 5,000 questions are enough. An outcome moves the value by at most about 1, so sd < 0.5 and 625 suffice:
    # 0.5 / sqrt(625) = 0.02. (For the settings here it took 130 to 390.)
    assert early == REPLICATES
    assert min(ends) >= 100
    assert max(ends) < 1_000


@pytest.mark.parametrize(("m", "b"), SETTINGS)
def test_a_run_goes_on_as_long_as_the_error_is_not_below_the_target(m: float, b: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        drawn = np.searchsorted([b, m], rng.random(len(AGENDA)), side="right")
        *before, _ = looked(drawn)
        # No earlier test had an error clearly below the target: the pseudo-counts change the error of 100 or more
        # questions by a few percent.
        assert all(cora_and_error(*outcomes)[1] > 0.85 * TARGET for _, outcomes in before)


@pytest.mark.parametrize("same", [0, 1, 2], ids=["always", "once", "never"])
@pytest.mark.parametrize("target", [0.01, 0.005, 0.001])
def test_a_hundred_questions_that_came_out_the_same_end_no_run(same: int, target: float) -> None:
    # Their estimated error is 0. But if none of 100 differs, up to 3 of 100 may differ in truth
    # (0.97 ** 100 = 0.048), an error of sqrt(0.03 * 0.97 / 100) = 0.017.
    drawn = np.full(len(AGENDA), same)
    drawn[100:] = np.arange(len(AGENDA) - 100) % 3
    (first, outcomes), (second, _), *_ = looked(drawn, target)
    assert first == 100
    assert max(outcomes) == 100
    assert second > 100


def test_the_looks_are_few_and_the_same_whatever_comes_out() -> None:
    # A test after each question would stop at a lucky one: coverage decreases with the number of tests.
    known, unknown = np.zeros(5_000, dtype=np.int64), np.arange(5_000) % 3
    looks = [[asked for asked, _ in looked(drawn, 1e-9)] for drawn in (known, unknown)]
    assert looks[0] == looks[1]
    assert looks[0][0] >= 100
    assert looks[0][-1] == 5_000
    assert len(looks[0]) <= 25


def test_a_target_that_is_out_of_reach_has_all_questions_asked() -> None:
    drawn = np.arange(300) % 3
    *_, (asked, _) = looked(drawn, 1e-9)
    assert asked == 300


def test_fewer_questions_than_the_first_look_are_all_asked() -> None:
    assert [asked for asked, _ in looked(np.zeros(60, dtype=np.int64), 0.5)] == [60]


def test_each_task_goes_on_until_its_own_error_is_small_enough() -> None:
    agenda = [Planned(task, f"q{number}", 26) for number in range(1_000) for task in ("easy", "hard")]
    rounds = until_precise(agenda, 0.03)
    asked = {"easy": 0, "hard": 0}
    batch = next(rounds, None)
    while batch is not None:
        for planned in batch:
            asked[planned.task] += 1
        # Easy: 99 of 100 always right, so 0.01 at 100 questions. Hard: a third of each outcome: with m = 2/3, b = 1/3
        # 1 - 2m + b = 0, influences are m (y - b), sd = 2/3 * sqrt(2/9) = 0.314: 0.03 takes 110 questions.
        easy, third = asked["easy"], asked["hard"] // 3
        tally = {
            "easy": Outcomes(easy - easy // 100, easy // 100, 0),
            "hard": Outcomes(asked["hard"] - 2 * third, third, third),
        }
        try:
            batch = rounds.send(Observed(26 * sum(asked.values()), tally))
        except StopIteration:
            batch = None
    assert asked["easy"] == 100
    assert 110 <= asked["hard"] < 200
