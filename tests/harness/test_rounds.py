"""The number of questions to ask: the strategies alone, against other arithmetic, and in the harness."""

from collections import Counter
from functools import cache
from itertools import pairwise
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.rounds import (
    FIRST_LOOK,
    Observed,
    Planned,
    cora_error,
    in_turn,
    looks,
    send,
    shares_of_budget,
    until_precise,
    within_budget,
)
from lm_eval_cora.harness.waves import QuestionState, collect
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import Moments
from tests.support.simulated import run, scored, scores, signature_of
from tests.support.stopping import Moody, chance

COUNTS = st.integers(0, 40)
OUTCOMES = ("always", "once", "never")
"""Right in all variants, in the original but not in all, or not in the original."""

MORE = 4
"""Pseudo-count per outcome. The target must also be met with these added."""


def sums(always, once, never):
    """The sums over questions with these outcomes."""
    return Moments(always + once + never, right=always + once, always=always)


def agenda_of(task, questions, requests=26):
    return [Planned(task, f"q{number}", requests) for number in range(questions)]


def error_of_the_metric(always, once, never):
    if always + once + never < 2:
        return inf
    # Wrong in the original: whether a later variant was right does not matter.
    hits = [[1, 1, 1]] * always + [[1, 0, 1]] * once + [[0, index % 2, 1] for index in range(never)]
    return metrics.cora(ResponseTable.from_hits(hits)).stderr


# ---- the error
@given(COUNTS, COUNTS, COUNTS)
def test_the_error_is_that_of_the_metric_for_the_same_questions(always, once, never):
    assert cora_error(sums(always, once, never)) == pytest.approx(error_of_the_metric(always, once, never), rel=1e-9)


def test_the_error_worked_out_by_hand():
    # Two always right, one in the original only, one never: the means of x and 1 - x + y are 3/4, and in quarters their
    # deviations u are 1, 1, 1, -3 and v are 1, 1, -3, 1. So l = 3/4 (u + v) is 3/8, 3/8, -3/8, -3/8. The bootstrap's
    # variance is E[l^2] / 4 + 2 E[l u v] / 16 + (5/256 - 1/256 + 3 (9/256 + 1/256)) / 64 = 9/256 + 3/512 + 17/8192.
    assert cora_error(sums(2, 1, 1)) == pytest.approx(sqrt(353 / 8192 * 4 / 3))
    assert {cora_error(sums(*counts)) for counts in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]} == {inf}


# ---- the tests of the error
@given(st.integers(1, 100_000))
def test_the_looks_increase_and_end_with_all_questions(questions):
    schedule = list(looks(questions))
    assert schedule[-1] == questions
    assert schedule[0] == min(questions, FIRST_LOOK)
    assert all(one < other for one, other in pairwise(schedule))
    # A quarter more each time. Rounding may add one. 100 * 1.25^k >= 100,000: k >= log(1,000) / log(1.25) = 31.
    assert all(other <= 1.25 * one + 1 for one, other in pairwise(schedule))
    assert len(schedule) <= 32


# ---- a budget
COSTS = st.lists(st.integers(1, 30), min_size=1, max_size=60)


def spent_by(rounds, spend):
    """Run all rounds; return each batch, and the number of requests after it."""
    spent, observed = 0, None
    while (batch := send(rounds, observed)) is not None:
        spent += sum(map(spend, batch))
        yield batch, spent
        observed = Observed(requests=spent)


@given(COSTS, st.integers(1, 2_000), st.integers(0, 10_000), st.sampled_from(["least", "most", "some"]))
def test_a_budget_is_never_exceeded_and_used_up(costs, budget, seed, way):
    agenda = [Planned("t", f"q{index}", cost) for index, cost in enumerate(costs)]

    def spend(question):
        share = {"least": 0.0, "most": 0.999999}.get(way, chance(seed, question.question))
        return 1 + int(share * question.requests)

    if budget < costs[0]:
        with pytest.raises(UserError, match=str(budget)):
            next(within_budget(agenda, budget))
        return
    asked, spent = list[Planned](), 0
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


def test_a_rest_below_two_percent_is_left():
    played = list(spent_by(within_budget(agenda_of("t", 2_000), 26_000), lambda question: 13))
    # 26,000 / 26 = 1,000 questions, which spend half of it; the other half pays for 500, and so on. After the sixth
    # round 1,968 questions have spent 13 * 1,968 = 25,584; the other 416 are less than 2% of 26,000.
    assert [len(batch) for batch, _ in played] == [1_000, 500, 250, 125, 62, 31]
    assert played[-1][1] == 25_584


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(30, 3_000))
def test_tasks_have_the_same_number_of_questions_until_one_has_no_more(sizes, budget):
    tasks = [agenda_of(f"t{number}", size, 26 + number) for number, size in enumerate(sizes)]
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


def test_a_large_task_does_not_get_more_of_a_budget_than_a_small_one():
    # MMLU and TruthfulQA: in proportion to their sizes 10,000 requests paid for 389 and 23 questions.
    agenda = in_turn([agenda_of("mmlu", 14_042, 20), agenda_of("tqa", 817, 20)])
    assert shares_of_budget(agenda, 10_000) == {"mmlu": 250, "tqa": 250}
    assert shares_of_budget(agenda, 40_000) == {"mmlu": 2_000 - 817, "tqa": 817}


# ---- a precision
def asked_until_precise(sizes, target, come_out):
    """The number of questions of each task after each round."""
    agendas = {task: agenda_of(task, size) for task, size in sizes.items()}
    rounds, observed = until_precise(in_turn([*agendas.values()]), target), None
    done = {task: [] for task in sizes}
    counts = {task: [] for task in sizes}
    while (batch := send(rounds, observed)) is not None:
        assert batch
        for task in {question.task for question in batch}:
            done[task] += [question for question in batch if question.task == task]
            counts[task].append(len(done[task]))
        seen = {task: Counter(map(come_out, done[task])) for task in sizes}
        observed = Observed(0, {task: sums(*map(seen[task].__getitem__, OUTCOMES)) for task in sizes})
    assert all(done[task] == agendas[task][: len(done[task])] for task in sizes)
    return counts


SIZES = st.dictionaries(st.sampled_from("abc"), st.integers(1, 600), min_size=1)


@given(SIZES, st.floats(0.005, 0.08), st.integers(0, 1_000))
@settings(max_examples=25)
def test_each_task_ends_at_the_first_look_that_is_precise(sizes, target, seed):
    @cache
    def come_out(question):
        level = chance(seed, question.task)
        return OUTCOMES[(chance(seed, *question) > level) + (chance(seed, *question, 2) > level)]

    counts = asked_until_precise(sizes, target, come_out)
    for task, size in sizes.items():
        # The error is tested on a fixed schedule, without gaps.
        assert counts[task] == list(looks(size))[: len(counts[task])]
        for index, count in enumerate(counts[task]):
            seen = Counter(map(come_out, agenda_of(task, count)))
            errors = [error_of_the_metric(*(seen[name] + more for name in OUTCOMES)) for more in (0, MORE)]
            is_last = index == len(counts[task]) - 1
            assert is_last == (max(errors) < target or count == size), (task, count, seen)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_look_at_which_all_came_out_the_same_does_not_end_it(outcome):
    # Their error is 0. With four more of each it is about sqrt(8 / 112) / sqrt(112) = 0.025 after 100 questions, and
    # sqrt(8) / (n + 12) < 0.01 from n = 271 on: at the look 309.
    counts = asked_until_precise({"t": 1_000}, 0.01, lambda question: outcome)
    assert counts["t"] == [100, 125, 157, 197, 247, 309]


@pytest.mark.parametrize("unscored", [0, 1])
def test_a_question_is_always_right_only_if_all_its_variants_are(unscored):
    task = None
    question = QuestionState(task, True, original=True, unscored=unscored, requests=3)
    observed = collect([Planned("t", "q", 3)], {("t", "q"): question}, lambda numbers: numbers)
    assert observed.sums == {"t": (1, 3, 1, 3, *((0, 0) if unscored else (1, 3)))}


def test_the_variants_of_a_question_may_be_on_several_ranks():
    task = None
    ranks = [
        {("t", "q"): QuestionState(task, True, original=True, requests=1)},
        {("t", "q"): QuestionState(task, True, wrong=1, requests=2)},
        {("t", "other"): QuestionState(task, True, requests=1, unscored=1)},
    ]
    agenda, own = [Planned("t", "q", 3), Planned("t", "other", 1)], list[list[int]]()
    for questions in ranks:
        collect(agenda, questions, lambda numbers: own.append(numbers) or numbers)  # type: ignore[func-returns-value]
    observed = collect(agenda, {}, lambda _: np.sum(own, axis=0).tolist())
    assert observed.outcomes == {("t", "q"): (3, True, True, False), ("t", "other"): (1, False, False, False)}
    assert (observed.requests, observed.sums["t"]) == (4, (1, 3, 1, 3, 0, 0))


# ---- through the harness
def questions_of(model):
    return {question for question, _ in model.asked}


@pytest.mark.parametrize(("task", "budget"), [("cora_demo", 26), ("cora_demo", 200), ("cora_demo_mc", 400)])
def test_a_budget_buys_whole_questions_of_the_sample_that_the_seed_draws(task, budget):
    model, other = Moody(8), Moody(8)
    found = run(stop_early(model, budget=budget), task, options={"seed": 3})
    asked = len(questions_of(model))
    assert len(model.prompts) <= budget
    expected = run(stop_early(other), task, options={"seed": 3, "questions": asked})
    assert scores(found, task) == scores(expected, task)
    assert questions_of(model) == questions_of(other)
    assert sorted(model.prompts) == sorted(other.prompts)
    # The rest is too small for another question: 26 variants, in the mc form with up to 5 letters each.
    assert budget - len(model.prompts) < (130 if task.endswith("_mc") else 26)


def test_a_budget_is_shared_by_the_tasks_of_a_run(caplog):
    tasks = ["cora_demo", "cora_demo_plus"]
    with caplog.at_level("INFO", "lm_eval"):
        results = run(stop_early(model := Moody(8), budget=150), tasks)
    assert len(model.prompts) <= 150
    signatures = {task: signature_of(results, task) for task in tasks}
    asked = {task: int(text.partition("|n:")[2].partition("x")[0]) for task, text in signatures.items()}
    assert min(asked.values()) >= 2
    # 26 and 15 requests for a question: 150 pay for 4 of one task and 3 of the other, and for more if they stop early.
    assert "the budget of 150 requests pays for 4 questions of cora_demo and 3 of cora_demo_plus, and" in caplog.text
    for task, questions in asked.items():
        alone = run(stop_early(Moody(8)), task, options={"questions": questions})
        assert scores(results, task) == scores(alone, task)


@pytest.mark.parametrize("target", [0.05, 0.015])
def test_a_target_is_met_or_all_questions_are_asked(target):
    found = scored(stop_early(model := Moody(8), target_stderr=target))
    asked = len(questions_of(model))
    assert asked in looks(120)
    assert found["cora_stderr"] < target or asked == 120
    assert (asked == 120) == (target == 0.015)  # one target is met, the other is not
    assert found == scored(stop_early(Moody(8)), options={"questions": asked})


# ---- the interval at the end
@pytest.mark.parametrize(("m", "b"), [(0.74, 0.18), (0.34, 0.05), (0.85, 0.73)])
def test_the_interval_at_the_stop_covers_the_truth_in_95_of_100_runs(m, b):
    """The shares, mcqa and bmca@1.0, are those of models in the CoRA paper's tables."""
    rng = np.random.default_rng(20_240_607)
    agenda = agenda_of("t", 1_100)
    covered, target = 0, 0.02
    for _ in range(500):
        drawn = np.searchsorted([b, m], rng.random(len(agenda)), side="right")  # always, once, never
        rounds, asked, observed = until_precise(agenda, target), 0, None
        while (batch := send(rounds, observed)) is not None:
            asked += len(batch)
            found = sums(*np.bincount(drawn[:asked], minlength=3).tolist())
            observed = Observed(26 * asked, {"t": found})
        stderr = cora_error(found)
        assert stderr < target
        # An outcome moves the value by at most about 1, so sd < 0.5 and 625 questions suffice: 0.5 / sqrt(625) = 0.02.
        assert 100 <= asked < 1_000
        right, always = found.right / asked, found.always / asked
        covered += abs(right * (1 - right + always) - m * (1 - m + b)) <= 1.96 * stderr
    # The binomial error of the figure itself is sqrt(0.95 * 0.05 / 500) = 1 point.
    assert 0.925 <= covered / 500 <= 0.97, covered
