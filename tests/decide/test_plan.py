"""Plans of typical models, of one run and of two runs, and their requests compared with what reaches a model."""

import re
from math import ceil, isnan
from pathlib import Path

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.decide.plan import METRICS, MODELS, Goal, as_json, as_table, estimate_of, make_plans
from lm_eval_cora.decide.sample_size import Contrast, questions_for_same, questions_needed
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.runs.grouping import read_runs
from tests.support.messages import tells, user_error
from tests.support.stopping import Moody
from tests.support.written import runs_by_hand, write

ONE = {"original": "1111111100" * 30, "x": "1101110100" * 30, "y": "1100110111" * 30}
OTHER = {"original": "1111110010" * 30, "x": "1100110010" * 30, "y": "1101110000" * 30}
QUESTIONS = 6


@pytest.fixture(scope="module")
def runs():
    return runs_by_hand({"one": ONE, "other": OTHER})


def test_one_run(runs):
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
    none, high = (make_plans(runs[:1], Goal(0.05, correlation=r))[0][0] for r in (0.0, 0.9))
    assert none.questions == pytest.approx(10 * high.questions, abs=10)
    plans, _ = make_plans(runs[:1], Goal(0.05, metric="mcqa_plus"))  # which early stopping does not give
    assert as_table(plans, Goal(0.05)).rows[0][5] == "n/a"
    assert as_json(plans, Goal(0.05), [])["plans"][0]["requests_exact"] is plans[0].requests_exact is None


def test_two_runs(runs):
    (plan,), _ = make_plans(runs, Goal(0.05, power=0.9, level=0.99))
    contrast = Contrast.of(*(run.estimates["cora"] for run in reversed(runs)))  # the lower one first
    assert plan.questions == questions_needed(contrast, 0.05, 0.0, 0.9, 0.99)
    assert (plan.correlation_measured, plan.models, plan.metric) == (True, ("one", "other"), "cora")
    assert 0 < plan.correlation < 1
    # Equal answers do not show that a difference is found with two questions.
    (plan,), _ = make_plans(runs_by_hand({"a": ONE, "b": ONE}), Goal(0.01, metric="mcqa"))
    assert plan.questions > 100
    assert plan.correlation == pytest.approx(1)


REFUSED = {
    "metric": (Goal(0.1, metric="coora"), 1, ("--metric coora", "no such metric", "Did you mean 'cora'")),
    "typical": (Goal(0.1, metric="mcqaa"), 0, ("--metric mcqaa", "cora, mcqa, ci, bmca@1.0", "'mcqa'", "--from OUT")),
    "no error": (Goal(0.1, metric="acc_min"), 1, ("nothing can be planned", "acc_min has no standard error in closed")),
    "one run": (Goal(0.1, metric="mcqa_plus_diff"), 1, ("one run does not", "mcqa_plus_diff", "--from A --from B")),
    "correlation": (Goal(0.1, correlation=0.5), 2, ("--correlation 0.5", "one and other", "measured")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_plans_that_cannot_be_made(name, runs):
    goal, count, parts = REFUSED[name]
    with user_error(*parts):
        make_plans(runs[:count], goal)


def test_models_that_cannot_be_planned_together():
    with user_error("one or two models, got 3: a, b, c"):
        make_plans(runs_by_hand({"a": ONE, "b": OTHER, "c": ONE}), Goal(0.1))
    few = runs_by_hand({"a": {kind: marks[:20] for kind, marks in ONE.items()}, "b": OTHER})
    with user_error("--from: a and b"):
        make_plans(few, Goal(0.1))
    _, notes = make_plans(few[:1], Goal(0.5))
    assert tells(" ".join(notes), ": 20 questions in the run", "62%", "fewer than 100 questions", "rough")


# ---- runs of the harness
@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc", "cora_demo_order"])
def test_the_requests_are_those_that_reach_the_model(task, tmp_path):
    full, stopped = Moody(3), Moody(3)
    for folder, model in ((tmp_path / "full", full), (tmp_path / "stopped", stop_early(stopped, "exact"))):
        write(folder, model, task, {"questions": QUESTIONS})
    found = [make_plans(read_runs([tmp_path / name]), Goal(0.05, metric="cora")) for name in ("full", "stopped")]
    (((plan,), notes), ((again,), _)) = found
    assert plan.requests_per_question == len(full.prompts) / QUESTIONS
    assert plan.requests_per_question_exact == len(stopped.prompts) / QUESTIONS < plan.requests_per_question
    numbers = [(each.questions, each.requests, each.requests_exact) for each in (plan, again)]
    assert numbers[0] == numbers[1]
    assert (plan.benchmark_questions, plan.enough) == (120, False)
    assert tells(" ".join(notes), "6 questions in the run", f"{task}: the benchmark has 120 questions, too few", "find")


def test_a_run_that_ended_because_of_its_answers(tmp_path):
    write(tmp_path, stop_early(Moody(3), until=["cora±0.3"]), "cora_demo", {})
    with user_error("run with --until stopped because"):
        make_plans(read_runs([tmp_path]), Goal(0.05))


# ---- typical models
def test_typical_plans():
    plans, notes = make_plans([], Goal(0.02))
    assert [plan.questions for plan in plans] == sorted(plan.questions for plan in plans)
    assert all(plan.requests_exact is not None and plan.requests_exact < plan.requests for plan in plans)
    assert plans[0].requests == 26 * plans[0].questions
    assert tells(" ".join(notes), "CoRA paper's tables", "--from OUT", "assumed", "--from A --from B")
    assert {row[2] for row in as_table(plans, Goal(0.02)).rows} == {"0.30 (assumed)"}


def test_plans_to_show_that_models_are_the_same(runs, capsys):
    goal = Goal(0.1, level=0.9, same=True)
    (plan,), _ = make_plans(runs, goal)
    contrast = Contrast.of(*(run.estimates["cora"] for run in reversed(runs)))
    assert plan.questions == questions_for_same(contrast, 0.1)
    assert as_table([plan], goal).title.startswith("Questions that show that equal models differ by less than 0.1 with")
    assert as_json([plan], goal, [])["same"] is True
    with pytest.raises(SystemExit):
        main(["plan", "--same", "0.1", "--difference", "0.1"])
    assert "expected --difference D or --same MARGIN" in capsys.readouterr().err
    assert main(["plan", "--same", "0.1", "--metric", "mcqa"]) in (0, None)
    assert "(90% intervals)" in capsys.readouterr().out


def test_the_models_are_those_of_the_paper_and_of_the_documentation():
    # CoRA, tables 1 to 4, to the rounding of two digits.
    paper = {("GPT4o", "MedQA"): 0.75, ("MedL", "MedQA"): 0.33, ("Llam", "Arc-C"): 0.25, ("DSeek", "TruthfulQA"): 0.24}
    found = {(model.name, model.benchmark): estimate_of(model, "cora").value for model in MODELS}
    assert {key: found[key] for key in paper} == pytest.approx(paper, abs=0.01)
    assert len(found) == 16
    page = (Path(__file__).parents[2] / "docs/results.md").read_text("utf-8")
    rows = re.findall(r"^\| ([\w-]+) \| (\d+) \| (\w+ \d+\.\d\d, .+?) \|$", page, re.M)
    told = {
        (name, benchmark): (int(full), float(exact))
        for benchmark, full, models in rows
        for name, exact in map(str.split, models.split(", "))
    }
    assert told == {(model.name, model.benchmark): (2 + 6 * (model.options - 1), model.requests) for model in MODELS}


@pytest.mark.parametrize("metric", METRICS)
def test_the_metrics_and_errors_of_typical_models(metric):
    model = MODELS[1]
    m, b = model.mcqa, model.bmca
    values = {"cora": m * (1 - m + b), "mcqa": m, "ci": 1 - m + b, "bmca@1.0": b}
    # The variances of x, y and x - y, and that of the influence (1 - 2m + b)(x - m) + m (y - b), with E[xy] = b.
    by_m = 1 - 2 * m + b
    squares = {"mcqa": m * (1 - m), "bmca@1.0": b * (1 - b), "ci": (m - b) * (1 - m + b)}
    squares["cora"] = by_m**2 * m * (1 - m) + m**2 * b * (1 - b) + 2 * by_m * m * b * (1 - m)
    found = estimate_of(model, metric)
    assert found.value == pytest.approx(values[metric])
    assert found.stderr**2 * 1_000 == pytest.approx(squares[metric], rel=0.01)
