"""The number of questions to ask: the strategies alone, against other arithmetic, and in the harness."""

import re
from collections import Counter
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.rounds import (
    Planned,
    QuestionOutcome,
    QuestionState,
    collect,
    in_turn,
    rounds_of,
    shares_of_budget,
)
from tests.support.simulated import run, scores, signature_of
from tests.support.stopping import Moody, chance


def agenda_of(task, questions, requests=26):
    return [Planned(task, f"q{number}", requests, f"q{number}") for number in range(questions)]


def outcome_of(requests):
    return QuestionOutcome(requests, True, True, 1, 0, 0)


def played(agenda, budget=inf, spend=lambda planned: planned.requests, settled_after=None, looks=lambda asked: inf):
    """The batches of all rounds, and the number of requests after each; and the looks at each task."""
    outcomes, batches, seen = {}, [], {}

    def is_settled(task, asked, _):
        assert asked == [planned for batch, _ in batches for planned in batch if planned.task == task]
        seen.setdefault(task, []).append(len(asked))
        return len(asked) >= (settled_after or {}).get(task, inf)

    for batch in rounds_of(agenda, outcomes, budget, is_settled=is_settled, next_look=looks):
        assert batch  # an empty batch would never end
        outcomes |= {planned.key: outcome_of(spend(planned)) for planned in batch}
        batches.append((batch, sum(outcome.requests for outcome in outcomes.values())))
    return batches, seen


# ---- a budget
COSTS = st.lists(st.integers(1, 30), min_size=1, max_size=60)


@given(COSTS, st.integers(1, 2_000), st.integers(0, 10_000), st.sampled_from(["least", "most", "some"]))
def test_a_budget_is_never_exceeded_and_used_up(costs, budget, seed, way):
    agenda = [Planned("t", f"q{index}", cost) for index, cost in enumerate(costs)]

    def spend(question):
        share = {"least": 0.0, "most": 0.999999}.get(way, chance(seed, question.question))
        return 1 + int(share * question.requests)

    batches, _ = played(agenda, budget, spend)
    if budget < costs[0]:
        assert not batches
        with pytest.raises(UserError, match=f"expected at least {costs[0]} requests.*got {budget:,}"):
            shares_of_budget(agenda, budget)
        return
    asked, spent = list[Planned](), 0
    for batch, so_far in batches:
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
    batches, _ = played(agenda_of("t", 2_000), 26_000, lambda question: 13)
    # 26,000 / 26 = 1,000 questions, which spend half of it; the other half pays for 500, and so on. After the sixth
    # round 1,968 questions have spent 13 * 1,968 = 25,584; the other 416 are less than 2% of 26,000.
    assert [len(batch) for batch, _ in batches] == [1_000, 500, 250, 125, 62, 31]
    assert batches[-1][1] == 25_584


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
    counts = Counter(planned.task for planned in played(agenda, budget)[0][0][0])
    assert shares_of_budget(agenda, budget) == {f"t{number}": counts[f"t{number}"] for number in range(len(sizes))}


def test_a_large_task_does_not_get_more_of_a_budget_than_a_small_one():
    # MMLU and TruthfulQA: in proportion to their sizes 10,000 requests paid for 389 and 23 questions.
    agenda = in_turn([agenda_of("mmlu", 14_042, 20), agenda_of("tqa", 817, 20)])
    assert shares_of_budget(agenda, 10_000) == {"mmlu": 250, "tqa": 250}
    assert shares_of_budget(agenda, 40_000) == {"mmlu": 2_000 - 817, "tqa": 817}


# ---- requirements
def by_tens(asked):
    return max(20, asked + 10)


def test_each_task_ends_at_its_first_look_that_is_settled():
    tasks = [agenda_of("a", 100), agenda_of("b", 100), agenda_of("c", 35), agenda_of("d", 12)]
    batches, seen = played(in_turn(tasks), settled_after={"a": 25, "b": 60, "d": 12}, looks=by_tens)
    assert seen == {"a": [20, 30], "b": [20, 30, 40, 50, 60], "c": [20, 30, 35], "d": [12]}
    assert [planned for batch, _ in batches for planned in batch if planned.task == "b"] == tasks[1][:60]


def test_a_budget_ends_what_is_not_settled():
    agenda = in_turn([agenda_of("a", 100), agenda_of("b", 100)])
    batches, seen = played(agenda, 2_000, lambda planned: 13, {"a": 20}, by_tens)
    # At most 2,000 requests. The questions of b cost 13 instead of 26, so 100 of them are asked after the 20 of a.
    assert (seen["a"], seen["b"][-1], batches[-1][1]) == ([20], 100, 13 * 120)
    batches, _ = played(agenda, 1_000, looks=by_tens)
    assert batches[-1][1] == 26 * (1_000 // 26)


def test_the_questions_of_a_passage_are_in_one_round():
    agenda = [Planned("t", f"q{number}", 3, f"p{number // 7}") for number in range(70)]
    batches, seen = played(agenda, settled_after={"t": 30}, looks=by_tens)
    assert seen == {"t": [21, 35]}  # the first numbers of whole passages from 20 and from 31
    assert [planned for batch, _ in batches for planned in batch] == agenda[:35]


# ---- the results
def variant(*, original):
    return (SimpleNamespace(doc={"original": original}),)


def test_the_variants_of_a_question_may_be_on_several_ranks():
    first, other = (variant(original=original) for original in (True, False))
    ranks = [
        {("t", "q"): QuestionState(None, True, results=[(first, True)])},
        {("t", "q"): QuestionState(None, True, results=[(other, True), (other, False)], waiting=[other])},
        {("t", "r"): QuestionState(None, True, results=[(first, None)])},
    ]
    agenda, own = [Planned("t", "q", 3), Planned("t", "r", 1)], list[list[int]]()
    for questions in ranks:
        collect(agenda, questions, lambda numbers: own.append(numbers) or numbers)  # type: ignore[func-returns-value]
    outcomes = collect(agenda, {}, lambda _: np.sum(own, axis=0).tolist())
    assert outcomes == {("t", "q"): (3, True, True, 2, 2, 0), ("t", "r"): (1, False, False, 0, 1, 1)}


# ---- through the harness
def questions_of(model):
    return {question for question, _ in model.asked}


@pytest.mark.parametrize(
    ("task", "stop", "budget"), [("cora_demo", "exact", 200), ("cora_demo_mc", "exact", 400), ("cora_demo", None, 60)]
)
def test_a_budget_buys_whole_questions_of_the_sample_that_the_seed_draws(task, stop, budget):
    model, other = Moody(8), Moody(8)
    found = run(stop_early(model, stop, budget=budget), task, options={"seed": 3, "questions": 40})
    asked = len(questions_of(model))
    assert len(model.prompts) <= budget
    expected = run(stop_early(other, stop), task, options={"seed": 3, "questions": asked})
    assert scores(found, task) == scores(expected, task)
    if stop is None:
        was, now = (signature_of(one) for one in (expected, found))
        assert now == was.replace(f"|questions:{asked}|", f"|questions:40|budget:{budget}|asked:{asked / 40:.1%}|")
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


@pytest.mark.parametrize(("stop", "budget", "biased"), [("exact", 200, 1), (None, 200, 0), ("exact", 1_040, 0)])
def test_a_budget_with_few_questions_and_early_stopping_warns_of_its_bias(stop, budget, biased, caplog):
    with caplog.at_level("WARNING", "lm_eval"):
        run(stop_early(Moody(8), stop, budget=budget), options={"questions": 40})
    told = (
        r"cora_demo: the budget paid for only \d+ questions, and their number depended on the answers, so the scores "
        r"are too high on average: mcqa by about 0\.\d+, bmca@1\.0 by 0\.\d+"
    )
    assert len(re.findall(told, caplog.text)) == caplog.text.count("depended on the answers") == biased
