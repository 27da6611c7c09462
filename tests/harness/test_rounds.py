"""The number of questions to ask: the strategies alone, against other arithmetic, and in the harness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from math import inf, sqrt
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from lm_eval_cora import metrics
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.rounds import (
    FIRST_LOOK,
    Observed,
    Outcomes,
    Planned,
    QuestionState,
    cora_error,
    in_turn,
    looks,
    send,
    shares_of_budget,
    until_precise,
    within_budget,
)
from lm_eval_cora.metrics.responses import ResponseTable
from tests.support.simulated import TASKS, run, scores
from tests.support.stopping import Moody, chance

COUNTS = st.integers(0, 40)


def error_of_the_metric(outcomes: Outcomes) -> float:
    if sum(outcomes) < 2:
        return inf
    # Wrong in the original: whether a later variant was right does not matter.
    hits = [[1, 1, 1]] * outcomes.always + [[1, 0, 1]] * outcomes.once
    hits += [[0, index % 2, 1] for index in range(outcomes.never)]
    return metrics.cora(ResponseTable.from_hits(hits)).stderr


MORE = 4
"""Pseudo-count per outcome. The target must also be met with these added."""


def more_of_each(outcomes: Outcomes) -> Outcomes:
    return Outcomes(outcomes.always + MORE, outcomes.once + MORE, outcomes.never + MORE)


# ---- the error


@given(COUNTS, COUNTS, COUNTS)
@settings(deadline=None)
def test_the_error_is_that_of_the_metric_for_the_same_questions(always: int, once: int, never: int) -> None:
    outcomes = Outcomes(always, once, never)
    assert cora_error(outcomes) == pytest.approx(error_of_the_metric(outcomes), rel=1e-9)


def test_less_than_two_questions_have_an_endless_error() -> None:
    assert {cora_error(Outcomes(*counts)) for counts in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]} == {inf}


# ---- the tests of the error


@given(st.integers(1, 100_000))
def test_the_looks_increase_and_end_with_all_questions(questions: int) -> None:
    schedule = list(looks(questions))
    assert schedule[-1] == questions
    assert schedule[0] == min(questions, FIRST_LOOK)
    assert all(one < other for one, other in pairwise(schedule))
    # A quarter more each time. Rounding may add one. 100 * 1.25^k >= 100,000: k >= log(1,000) / log(1.25) = 31.
    assert all(other <= 1.25 * one + 1 for one, other in pairwise(schedule))
    assert len(schedule) <= 32


# ---- a budget

COSTS = st.lists(st.integers(1, 30), min_size=1, max_size=60)


def spent_by(rounds: Any, spend: Callable[[Planned], int]) -> Iterator[tuple[Sequence[Planned], int]]:
    """Run all rounds; return each batch, and the number of requests after it."""
    spent = 0
    try:
        batch = next(rounds)
        while True:
            spent += sum(map(spend, batch))
            yield batch, spent
            batch = rounds.send(Observed(requests=spent))
    except StopIteration:
        return


@given(COSTS, st.integers(1, 2_000), st.integers(0, 10_000), st.sampled_from(["least", "most", "some"]))
def test_a_budget_is_never_exceeded_and_used_up(costs: list[int], budget: int, seed: int, way: str) -> None:
    agenda = [Planned("t", f"q{index}", cost) for index, cost in enumerate(costs)]

    def spend(question: Planned) -> int:
        share = {"least": 0.0, "most": 0.999999}.get(way, chance(seed, question.question))
        return 1 + int(share * question.requests)

    if budget < costs[0]:
        with pytest.raises(UserError, match=str(budget)):
            next(within_budget(agenda, budget))
        return
    asked: list[Planned] = []
    spent = 0
    for batch, so_far in spent_by(within_budget(agenda, budget), spend):
        assert batch  # an empty batch would never end
        # Not even if all variants of the batch are asked.
        assert spent + sum(question.requests for question in batch) <= budget
        spent = so_far
        asked += batch
        assert asked == agenda[: len(asked)]
    if len(asked) < len(agenda):
        # The rest is too small for the next question, or below 2% of the budget.
        left = budget - spent
        assert left < agenda[len(asked)].requests or left < 0.02 * budget


def test_a_rest_below_two_percent_is_left() -> None:
    agenda = [Planned("t", f"q{index}", 26) for index in range(2_000)]
    played = list(spent_by(within_budget(agenda, 26_000), lambda question: 13))
    # 26,000 / 26 = 1,000 questions, which spend half of it; the other half pays for 500, and so on. After the sixth
    # round 1,968 questions have spent 13 * 1,968 = 25,584; the other 416 are less than 2% of 26,000.
    assert [len(batch) for batch, _ in played] == [1_000, 500, 250, 125, 62, 31]
    assert played[-1][1] == 25_584


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(30, 3_000))
def test_tasks_have_the_same_number_of_questions_until_one_has_no_more(sizes: list[int], budget: int) -> None:
    tasks = [
        [Planned(f"t{number}", f"q{place}", 26 + number) for place in range(size)] for number, size in enumerate(sizes)
    ]
    agenda = in_turn(tasks)
    assert sorted(agenda) == sorted(planned for task in tasks for planned in task)
    for end in range(len(agenda) + 1):
        counts = Counter(planned.task for planned in agenda[:end])
        most = max(counts.values(), default=0)
        assert all(counts[f"t{number}"] >= min(size, most - 1) for number, size in enumerate(sizes))
        for task in tasks:  # in the order of each task
            assert [planned for planned in agenda[:end] if planned.task == task[0].task] == task[: counts[task[0].task]]
    shares = shares_of_budget(agenda, budget)
    counts = Counter(planned.task for planned in next(within_budget(agenda, budget)))
    assert shares == {f"t{number}": counts[f"t{number}"] for number in range(len(sizes))}


def test_a_large_task_does_not_get_more_of_a_budget_than_a_small_one() -> None:
    # MMLU and TruthfulQA: in proportion to their sizes 10,000 requests paid for 389 and 23 questions.
    agenda = in_turn(
        [[Planned(task, f"q{n}", 20) for n in range(size)] for task, size in (("mmlu", 14_042), ("tqa", 817))]
    )
    assert shares_of_budget(agenda, 10_000) == {"mmlu": 250, "tqa": 250}
    assert shares_of_budget(agenda, 40_000) == {"mmlu": 2_000 - 817, "tqa": 817}


# ---- a precision


def asked_until_precise(
    sizes: dict[str, int], target: float, come_out: Callable[[Planned], str]
) -> tuple[dict[str, list[int]], Counter[tuple[str, str]]]:
    """The number of questions of each task after each round, and their outcomes."""
    longest = max(sizes.values())
    agenda = [Planned(task, f"q{n}", 26) for n in range(longest) for task, size in sizes.items() if n < size]
    rounds = until_precise(agenda, target)
    seen: Counter[tuple[str, str]] = Counter()
    done: dict[str, list[Planned]] = {task: [] for task in sizes}
    counts: dict[str, list[int]] = {task: [] for task in sizes}
    try:
        batch = next(rounds)
        while True:
            assert batch
            for question in batch:
                done[question.task].append(question)
                seen[question.task, come_out(question)] += 1
            for task in {question.task for question in batch}:
                counts[task].append(len(done[task]))
            outcomes = {task: outcomes_of(seen, task) for task in sizes}
            batch = rounds.send(Observed(26 * sum(map(len, done.values())), outcomes))
    except StopIteration:
        pass
    for task in sizes:
        assert done[task] == [question for question in agenda if question.task == task][: len(done[task])]
    return counts, seen


def outcomes_of(seen: Counter[tuple[str, str]], task: str) -> Outcomes:
    return Outcomes(**{name: seen[task, name] for name in Outcomes._fields})


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 600), min_size=1),
    st.floats(0.005, 0.08),
    st.integers(0, 1_000),
)
@settings(max_examples=25, deadline=None)
def test_each_task_ends_at_the_first_look_that_is_precise(sizes: dict[str, int], target: float, seed: int) -> None:
    @cache
    def come_out(question: Planned) -> str:
        level = chance(seed, question.task)
        return Outcomes._fields[(chance(seed, *question) > level) + (chance(seed, *question, 2) > level)]

    counts, _ = asked_until_precise(sizes, target, come_out)
    for task, size in sizes.items():
        # The error is tested on a fixed schedule, without gaps.
        assert counts[task] == list(looks(size))[: len(counts[task])]
        for index, count in enumerate(counts[task]):
            outcomes = Outcomes(
                *(sum(come_out(Planned(task, f"q{n}", 26)) == name for n in range(count)) for name in Outcomes._fields)
            )
            precise = max(error_of_the_metric(outcomes), error_of_the_metric(more_of_each(outcomes))) < target
            is_last = index == len(counts[task]) - 1
            assert is_last == (precise or count == size), (task, count, outcomes)


@pytest.mark.parametrize("outcome", Outcomes._fields)
def test_a_look_at_which_all_came_out_the_same_does_not_end_it(outcome: str) -> None:
    # Their error is 0. With four more of each it is about sqrt(8 / 112) / sqrt(112) = 0.025 after 100 questions, and
    # sqrt(8) / (n + 12) < 0.01 from n = 271 on: at the look 309.
    counts, _ = asked_until_precise({"t": 1_000}, 0.01, lambda question: outcome)
    assert counts["t"] == [100, 125, 157, 197, 247, 309]


def test_a_task_that_is_precise_does_not_wait_for_another() -> None:
    # a: half of them always right, the others never, so m = b = 0.5 and the influence is 0.5 (x - m) + 0.5 (y - b):
    # +-0.5, and after 100 questions 0.05. It is below 0.03 from 0.25 / 0.0009 = 278 questions on: at the look 309.
    # b: all never, 0.025 after 100 with four more of each.
    def come_out(question: Planned) -> str:
        return "always" if question.task == "a" and int(question.question[1:]) % 2 else "never"

    counts, _ = asked_until_precise({"a": 600, "b": 600}, 0.03, come_out)
    assert counts == {"a": [100, 125, 157, 197, 247, 309], "b": [100]}


@pytest.mark.parametrize("unscored", [0, 1])
def test_a_question_is_always_right_only_if_all_its_variants_are(unscored: int) -> None:
    task: Any = None
    question = QuestionState(task, True, 3, original=True, right=3 - unscored, unscored=unscored, requests=3)
    assert question.moments == (1, 3, 1, 3, *((0, 0) if unscored else (1, 3)))


# ---- through the harness


def questions_of(model: Moody) -> list[str]:
    return list(dict.fromkeys(question for question, _ in model.asked))


def requests_of(model: Moody) -> int:
    return len(model.prompts)


@pytest.mark.parametrize(("task", "budget"), [("cora_demo", 26), ("cora_demo", 200), ("cora_demo_mc", 400)])
def test_a_budget_buys_whole_questions_of_the_sample_that_the_seed_draws(task: str, budget: int) -> None:
    model, other = Moody(8), Moody(8)
    found = run(stop_early(model, budget=budget), task, options={"seed": 3})
    asked = len(questions_of(model))
    assert requests_of(model) <= budget
    expected = run(stop_early(other), task, options={"seed": 3, "questions": asked})
    assert scores(found, task) == scores(expected, task)
    assert set(questions_of(model)) == set(questions_of(other))
    assert sorted(model.prompts) == sorted(other.prompts)
    # The rest is too small for another question: 26 variants, in the mc form with up to 5 letters each.
    assert budget - requests_of(model) < (130 if task.endswith("_mc") else 26)


def test_a_budget_is_shared_by_the_tasks_of_a_run(caplog: pytest.LogCaptureFixture) -> None:
    tasks = ["cora_demo", "cora_demo_plus"]
    model = Moody(8)
    with patch("lm_eval.evaluator.add_env_info"), caplog.at_level("INFO", "lm_eval"):
        results = simple_evaluate(
            model=stop_early(model, budget=150),
            tasks=tasks,
            task_manager=TaskManager(include_path=TASKS, include_defaults=False),
        )
    assert requests_of(model) <= 150
    asked = {
        task: int(results["configs"][task]["metadata"]["signature"].partition("|n:")[2].partition("x")[0])
        for task in tasks
    }
    assert min(asked.values()) >= 2
    # 26 and 15 requests for a question: 150 pay for 4 of one task and 3 of the other, and for more if they stop early.
    assert "the budget of 150 requests pays for 4 questions of cora_demo and 3 of cora_demo_plus, and" in caplog.text
    for task, questions in asked.items():
        alone = run(stop_early(Moody(8)), task, options={"questions": questions})
        assert scores(results, task) == scores(alone, task)


def test_a_budget_below_one_question_is_an_error_before_the_first_request() -> None:
    model = Moody(8)
    with pytest.raises(UserError, match="25"):
        run(stop_early(model, budget=25))
    assert model.prompts == []


@pytest.mark.parametrize("target", [0.05, 0.015])
def test_a_target_is_met_or_all_questions_are_asked(target: float) -> None:
    model, other = Moody(8), Moody(8)
    found = scores(run(stop_early(model, target_stderr=target)))
    asked = len(questions_of(model))
    assert asked in looks(120)
    assert found["cora_stderr"] < target or asked == 120
    assert (asked == 120) == (target == 0.015)  # one target is met, the other is not
    assert found == scores(run(stop_early(other), options={"questions": asked}))


# ---- the interval at the end


def cora_and_error(always: int, once: int, never: int) -> tuple[float, float]:
    """The error from DEFINITIONS 3. All questions with the same outcome have the same influence."""
    n = always + once + never
    m, b = (always + once) / n, always / n
    squares = 0.0
    for count, x, y in ((always, 1, 1), (once, 1, 0), (never, 0, 0)):
        squares += count * ((1 - 2 * m + b) * (x - m) + m * (y - b)) ** 2
    return m * (1 - m + b), sqrt(squares / (n - 1) / n)


def test_the_error_worked_out_here_is_that_of_a_table_of_answers() -> None:
    # Two always right, one in the original only, one never: m = 3/4, b = 1/2, cora = 3/4 * 3/4 = 9/16.
    # 1 - 2m + b = 0. Influences m (y - b): 3/8, 3/8, -3/8, -3/8; squares sum to 4 * 9/64 = 9/16; / 3 / 4 = 3/64.
    assert cora_and_error(2, 1, 1) == pytest.approx((9 / 16, sqrt(3 / 64)))


@pytest.mark.parametrize(("m", "b"), [(0.74, 0.18), (0.34, 0.05), (0.85, 0.73)])
def test_the_interval_at_the_stop_covers_the_truth_in_95_of_100_runs(m: float, b: float) -> None:
    """The shares, mcqa and bmca@1.0, are those of models in the CoRA paper's tables."""
    rng = np.random.default_rng(20_240_607)
    agenda = [Planned("t", f"q{number}", 26) for number in range(5_000)]
    covered, replicates, target = 0, 1_000, 0.02
    for _ in range(replicates):
        drawn = np.searchsorted([b, m], rng.random(len(agenda)), side="right")  # always, once, never
        rounds, asked, observed = until_precise(agenda, target), 0, None
        while (batch := send(rounds, observed)) is not None:
            asked += len(batch)
            outcomes = Outcomes(*np.bincount(drawn[:asked], minlength=3).tolist())
            observed = Observed(26 * asked, {"t": outcomes})
        value, stderr = cora_and_error(*outcomes)
        assert stderr < target
        # An outcome moves the value by at most about 1, so sd < 0.5 and 625 questions suffice: 0.5 / sqrt(625) = 0.02.
        assert 100 <= asked < 1_000
        covered += abs(value - m * (1 - m + b)) <= 1.96 * stderr
    # The binomial error of the figure itself is sqrt(0.95 * 0.05 / 1000) = 0.7 points.
    assert 0.925 <= covered / replicates <= 0.97, covered / replicates
