"""Plans of typical models, of one run and of two runs."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isnan
from pathlib import Path

import pytest

from lm_eval_cora.decide.plan import Goal, as_json, as_table, make_plans
from lm_eval_cora.decide.sample_size import Contrast, questions_needed
from lm_eval_cora.errors import UserError
from lm_eval_cora.runs.model_run import Run
from tests.support.by_hand import Answers, runs_by_hand
from tests.support.messages import tells

ONE: Answers = {"original": "1111111100" * 30, "x": "1101110100" * 30, "y": "1100110111" * 30}
OTHER: Answers = {"original": "1111110010" * 30, "x": "1100110010" * 30, "y": "1101110000" * 30}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return runs_by_hand(tmp_path_factory.mktemp("runs"), {"one": ONE, "other": OTHER})


def test_one_run(runs: list[Run]) -> None:
    (plan,), notes = make_plans(runs[:1], Goal(0.05, metric="mcqa"))
    assert (plan.task, plan.models, plan.metric) == ("answers", ("one",), "mcqa")
    # s1^2 = 0.8 * 0.2 * 300 / 299 = 0.16054. A share of 0.75 has 0.75 * 0.25 - 0.16 = 0.0275 more: s2^2 = 0.18804.
    # s^2 = s1^2 + s2^2 - 2 * 0.3 s1 s2 = 0.24433, ((1.959964 + 0.841621) s / 0.05)^2 = 767.1. Tango's interval of
    # 0.24433 + 0.0025 changed questions needs some more, because their number is whole.
    assert (plan.questions, plan.correlation, plan.correlation_measured) == (788, 0.3, False)
    # Of ten questions, four are right in all variants (3 requests), two are wrong in x (2), two in y (3), two never.
    assert plan.requests_per_question == 3
    assert plan.requests_per_question_exact == pytest.approx((4 * 3 + 2 * 2 + 2 * 3 + 2 * 1) / 10)
    assert (plan.requests, plan.requests_exact) == (788 * 3, ceil(788 * 2.4))
    assert (plan.benchmark_questions, plan.enough) == (None, None)
    assert [note.partition(",")[0] for note in notes] == ["The correlation is assumed"]
    assert isnan(plan.smallest_difference)


def test_the_correlation_that_is_given(runs: list[Run]) -> None:
    none, high = (make_plans(runs[:1], Goal(0.05, correlation=r))[0][0] for r in (0.0, 0.9))
    assert none.questions == pytest.approx(10 * high.questions, abs=10)


def test_two_runs(runs: list[Run]) -> None:
    (plan,), _ = make_plans(runs, Goal(0.05, power=0.9, level=0.99))
    contrast = Contrast.of(*(run.estimates["cora"] for run in reversed(runs)))  # the lower one first
    assert plan.questions == questions_needed(contrast, 0.05, 0.0, 0.9, 0.99)
    assert plan.correlation_measured
    assert 0 < plan.correlation < 1
    assert plan.models == ("one", "other")
    assert plan.metric == "cora"


def test_a_metric_that_early_stopping_does_not_give(runs: list[Run]) -> None:
    (plan,), _ = make_plans(runs[:1], Goal(0.05, metric="mcqa_plus"))
    assert plan.requests_exact is None
    assert as_table([plan], Goal(0.05)).rows[0][5] == "n/a"
    assert as_json([plan], Goal(0.05), [])["plans"][0]["requests_exact"] is None


def test_typical_models() -> None:
    plans, notes = make_plans([], Goal(0.02))
    assert [plan.questions for plan in plans] == sorted(plan.questions for plan in plans)
    assert all(plan.requests_exact is not None and plan.requests_exact < plan.requests for plan in plans)
    few = plans[0]
    assert few.requests == 26 * few.questions
    assert tells(" ".join(notes), "CoRA paper's tables", "--from OUT", "assumed", "--from A --from B")
    assert {row[2] for row in as_table(plans, Goal(0.02)).rows} == {"0.30 (assumed)"}


REFUSED: Mapping[str, tuple[Goal, int, tuple[str, ...]]] = {
    "metric": (Goal(0.1, metric="coora"), 1, ("--metric coora", "no such metric", "Did you mean 'cora'")),
    "no error": (
        Goal(0.1, metric="acc_min"),
        1,
        (
            "nothing can be planned",
            "acc_min has no standard error in closed",
        ),
    ),
    "one run": (
        Goal(0.1, metric="mcqa_plus_diff"),
        1,
        ("one run does not show", "mcqa_plus_diff", "--from A --from B"),
    ),
    "correlation": (Goal(0.1, correlation=0.5), 2, ("--correlation 0.5", "one and other", "measured")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_plans_that_cannot_be_made(name: str, runs: list[Run]) -> None:
    goal, count, parts = REFUSED[name]
    with pytest.raises(UserError) as refused:
        make_plans(runs[:count], goal)
    assert tells(str(refused.value), *parts)


def test_a_typical_metric_that_does_not_exist() -> None:
    with pytest.raises(UserError) as refused:
        make_plans([], Goal(0.1, metric="mcqaa"))
    assert tells(str(refused.value), "--metric mcqaa", "cora, mcqa, ci, bmca@1.0", "Did you mean 'mcqa'", "--from OUT")


def test_three_models(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"one or two models, got 3: a, b, c"):
        make_plans(runs_by_hand(tmp_path, {"a": ONE, "b": OTHER, "c": ONE}), Goal(0.1))


def test_two_models_on_other_questions(tmp_path: Path) -> None:
    short = {kind: marks[:100] for kind, marks in OTHER.items()}
    with pytest.raises(UserError) as refused:
        make_plans(runs_by_hand(tmp_path, {"a": ONE, "b": short}), Goal(0.1))
    assert tells(str(refused.value), "--from: ", "a and b")


def test_a_model_that_answers_nothing_differently(tmp_path: Path) -> None:
    """Equal answers do not show that a difference is found with two questions."""
    (plan,), _ = make_plans(runs_by_hand(tmp_path, {"a": ONE, "b": ONE}), Goal(0.01, metric="mcqa"))
    assert plan.questions > 100
    assert plan.correlation == pytest.approx(1)


def test_few_questions_and_rough_numbers(tmp_path: Path) -> None:
    tiny = {kind: marks[:20] for kind, marks in ONE.items()}
    _, notes = make_plans(runs_by_hand(tmp_path, {"a": tiny}), Goal(0.5))
    assert tells(" ".join(notes), "answers: 20 questions in the run", "62%", "fewer than 100 questions", "rough")
