"""Early stopping compared with the full run, the bias of a budget, and two-phase samples of a finite benchmark."""

from functools import cache
from itertools import combinations
from math import comb, isnan, nan, sqrt
from statistics import covariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora import metrics
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.docs import process_docs
from lm_eval_cora.metrics import acc_h, bmca, ci, cora, mcqa
from lm_eval_cora.metrics.entries import compute, saves_requests
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.metrics.stopping import (
    FORMULAS,
    Bias,
    Moments,
    Phases,
    bias_of_budget,
    estimate,
    phases_of,
    place_of,
    shares_of,
)
from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.probes import PROBES
from tests.support.messages import user_error
from tests.support.simulated import Simulated, knows, run, scores
from tests.support.stopping import Moody, known

STOPPABLE = (
    *("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_plus_mc"),
    *("cora_demo_order", "cora_demo_order_mc", "cora_demo_prompts"),
)

QUESTION = Question("q", "Q?", ("a", "b", "c", "d", "e"), 2)
QUESTIONS = {"questions": 6}
SEED = 3
"""That of a model that knows some of these questions in all variants, some in the original, and some not."""


@cache
def full(task):
    return scores(run(Moody(SEED), task, options=QUESTIONS), task)


# ---- the rule
@pytest.mark.parametrize("text", ["", "EXACT", "exactly", "bmca@1.0"])
def test_another_rule_is_refused_and_the_one_that_there_is_named(text):
    with user_error(f"--stop '{text}': expected 'exact'"):
        stop_early(Moody(1), text)


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_the_original_is_asked_first_then_the_hardest_kinds_then_the_rest(probe):
    docs = process_docs([QUESTION], probe)
    places = [place_of(doc, probe.hardest_first) for doc in docs]
    assert len(set(places)) == len(docs)  # otherwise the order would depend on that of the docs
    order = sorted(docs, key=lambda doc: place_of(doc, probe.hardest_first))
    kinds = list(dict.fromkeys(doc["kind"] for doc in order))
    first = [doc["kind"] for doc in docs if doc["original"]]
    assert len(first) <= 1
    assert kinds[: len(first) + len(probe.hardest_first)] == [*first, *probe.hardest_first]
    assert set(kinds) == {doc["kind"] for doc in docs}
    if probe is PROBES["divergent"]:
        assert {"original", *probe.hardest_first} == probe.kinds.keys()


def test_only_cora_and_what_it_is_made_of_are_worth_stopping_for():
    def entries(names):
        return [
            {"aggregation": getattr(metrics, name)} | ({"level": float(level)} if level else {})
            for name, _, level in (text.partition("@") for text in names.split())
        ]

    for names in ("acc bmca@1.0 mv", "acc_h mcqa ci", "cora"):
        assert saves_requests(entries(names))
    for names in ("acc consistency_rate invalid", "mcqa mv bmca@0.9 mcqa_plus", "mcqa acc_h"):
        assert not saves_requests(entries(names))
    assert not saves_requests([{"aggregation": metrics.cora, "without": "original"}])


# ---- through the harness
@pytest.mark.parametrize("task", STOPPABLE)
def test_what_is_printed_is_the_full_run(task):
    everything = full(task)
    found = scores(run(stop_early(Moody(SEED)), task, options=QUESTIONS), task)
    assert {name for name in found if "_stderr" not in name} == known(task)
    for name in (f"{name}{end}" for name in known(task) for end in ("", "_stderr")):
        assert found[name] == everything[name], name
    assert set(found) == {f"{name}{end}" for name in known(task) for end in ("", "_stderr", "_stderr_stderr")}


def test_the_model_of_these_tests_leaves_something_to_be_found():
    for task in ("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_order", "cora_demo_prompts"):
        table = full(task)
        assert 0 < table["mcqa"] < 1
        # Some are right in all variants.
        assert 0 < table["mcqa"] * (1 - table["mcqa"]) < table["cora"] < table["mcqa"]
        assert table["cora_stderr"] > 0
    assert full("cora_demo")["bmca@0.5"] > full("cora_demo")["bmca@1.0"]
    assert full("cora_demo")["invalid"] > 0


def test_where_all_is_right_everything_is_asked():
    model, plain = Simulated(knows), Simulated(knows)
    run(plain, options={"questions": 2})
    found = scores(run(stop_early(model), options={"questions": 2}))
    assert {value for name, value in found.items() if "_stderr" not in name} == {1.0}
    assert sorted(model.prompts) == sorted(plain.prompts)


def test_the_signature_says_the_rule_and_the_share_that_was_asked():
    model = Moody(1)
    results = run(stop_early(model), options=QUESTIONS)
    parts = results["configs"]["cora_demo"]["metadata"]["signature"].split("|")
    assert "stop:exact" in parts
    assert f"asked:{100 * len(model.asked) / (6 * 26):.1f}%" in parts
    assert not [part for part in parts if part.startswith("invalid")]  # the share in a selected sample is misleading
    whole = run(Moody(1), options=QUESTIONS)["configs"]["cora_demo"]["metadata"]["signature"]
    assert ("stop:" in whole, "asked:" in whole) == (False, False)


ANSWERS = st.lists(st.sampled_from([(0, 0), (1, 0), (1, 1)]), min_size=2, max_size=60)


@given(ANSWERS, st.integers(0, 1_000))
def test_the_bias_is_the_covariance_with_the_costs_per_request(answers, seed):
    costs = np.random.default_rng(seed).integers(1, 27, len(answers))
    right, always = np.array(answers, dtype=int).T
    found = bias_of_budget(Moments(len(costs), costs.sum(), right.sum(), costs @ right, always.sum(), costs @ always))
    expected = [covariance(costs.tolist(), which.tolist()) / costs.sum() for which in (right, always)]
    assert found == pytest.approx(Bias(*expected))


def test_without_two_questions_the_bias_is_unknown():
    assert bias_of_budget(Moments()) == bias_of_budget(Moments(1, 26, 1, 26, 1, 26)) == Bias()


ENTRIES = {
    "mcqa": {"aggregation": mcqa},
    "bmca@1.0": {"aggregation": bmca, "level": 1.0},
    "ci": {"aggregation": ci},
    "cora": {"aggregation": cora},
}


@st.composite
def samples(draw):
    asked = draw(st.integers(1, 60))
    right = draw(st.integers(0, asked))
    followed = draw(st.integers(min(right, 1), right))
    return Phases(asked + draw(st.integers(0, 60)), asked, right, followed, draw(st.integers(0, followed)))


# ---- by hand
def test_the_values_and_errors_by_hand():
    # 50 of 100 originals, 40 right; 21 of these followed, 7 always right: m = 0.8, r = 1/3.
    phases = Phases(questions=100, asked=50, right=40, followed=21, always=7)
    m = 0.8
    assert estimate("mcqa", phases).value == pytest.approx(m)
    assert estimate("bmca@1.0", phases).value == pytest.approx(0.8 / 3)
    assert estimate("ci", phases).value == pytest.approx(1 - 0.8 * 2 / 3)
    assert estimate("cora", phases).value == pytest.approx(0.8 * (1 - 0.8 * 2 / 3))  # 0.3733
    # Half of the originals are asked: V_m = 0.5 * 0.8 * 0.2 / 49. An estimated 80 of the 100 questions are right, so
    # V_r = (1 - 21 / 80) * (1/3) (2/3) / 20.
    of_m, of_r = 0.5 * 0.16 / 49, (1 - 21 / 80) * 2 / 9 / 20
    assert estimate("mcqa", phases).stderr == pytest.approx(sqrt(of_m))
    assert estimate("bmca@1.0", phases).stderr == pytest.approx(sqrt(of_m / 9 + 0.64 * of_r + of_m * of_r))
    # cora = m - m^2 (1 - r): derivatives 1 - 2 m (1 - r) = -1/15 and m^2, second ones -2 (1 - r) and 2 m.
    squares = of_m / 225 + 0.4096 * of_r + (4 / 3) ** 2 * of_m**2 / 2 + 1.6**2 * of_m * of_r
    assert estimate("cora", phases).stderr == pytest.approx(sqrt(squares))
    # All 10 of 20 that are asked are right: Wilson's interval of 10 * 19 / (20 - 10) trials starts at 19 / (19 + z^2).
    assert estimate("mcqa", Phases(20, 10, 10, 1)).stderr == pytest.approx(3.8414588 / 22.8414588 / 3.919928)


def test_the_phases_of_a_table():
    rows = [
        [1, 1, 1],  # followed, always right
        [1, 0, nan],  # followed to its first miss
        [1, 1, 0],  # followed to the end, missed the last
        [1, nan, nan],  # right, not followed
        [0, nan, nan],  # wrong: nothing to follow
        [nan, nan, nan],  # not asked
        [nan, nan, nan],
    ]
    table = ResponseTable.from_hits(rows)
    assert phases_of(table) == Phases(questions=7, asked=5, right=4, followed=3, always=1)
    for name, entry in ENTRIES.items():
        assert compute(entry, table, whole=True) == estimate(name, Phases(7, 5, 4, 3, 1))
    # Other metrics have no estimate; without the flag the question that was not followed leaves them open.
    assert isnan(compute({"aggregation": acc_h}, table, whole=True).value)
    assert isnan(compute({"aggregation": bmca, "level": 0.5}, table, whole=True).value)
    assert isnan(compute(ENTRIES["cora"], table).value)
    assert isnan(compute(ENTRIES["cora"], ResponseTable.from_hits([[nan, nan]]), whole=True).value)  # no questions
    for phases in (Phases(5), Phases(5, 4, right=2, followed=0)):  # nothing is known about m, or about r
        assert isnan(estimate("cora", phases).value)


# ---- nothing is estimated if everything is asked
@given(ANSWERS)
def test_if_everything_is_asked_the_values_are_those_of_the_full_run(answers):
    table = ResponseTable.from_hits(answers)
    for entry in ENTRIES.values():
        found, full = compute(entry, table, whole=True), compute(entry, table)
        assert found.value == full.value
        assert found.stderr == 0
        assert found.interval == pytest.approx((full.value, full.value), abs=1e-12)


@given(samples(), st.sampled_from(list(FORMULAS)))
def test_an_interval_is_inside_the_range_and_has_a_width_unless_nothing_can_vary(phases, metric):
    found = estimate(metric, phases)
    assert 0 <= found.value <= 1
    if isnan(found.stderr):
        first, second = shares_of(phases)
        assert (first.trials == 1 and phases.questions > 1) or second.trials == 1
        assert all(map(isnan, found.interval))
        return
    low, high = found.interval
    assert 0 <= low <= found.value <= high <= 1
    exact = phases.asked == phases.questions if metric == "mcqa" else phases.is_complete
    assert (found.stderr == 0) == exact
    assert (high - low < 1e-12) == exact


# ---- all samples of a benchmark
N, RIGHT, ALWAYS = 8, 5, 3
"""A benchmark with 8 questions, of which 5 are right and 3 of these always."""


def all_samples(asked, followed):
    """Each pair of random samples once: originals, and right ones among them to follow."""
    for originals in combinations(range(N), asked):
        right = [question for question in originals if question < RIGHT]
        for chosen in combinations(right, min(followed, len(right))):
            # Each choice of originals has the same weight, whatever its number of choices to follow.
            repeats = 60 // comb(len(right), min(followed, len(right)))
            phases = Phases(N, asked, len(right), len(chosen), sum(question < ALWAYS for question in chosen))
            yield from [phases] * repeats


@pytest.mark.parametrize(("asked", "followed"), [(8, 4), (7, 2)])
def test_over_all_samples_the_estimates_are_unbiased(asked, followed):
    drawn = list(all_samples(asked, followed))
    m, r = RIGHT / N, ALWAYS / RIGHT
    mean = {metric: np.mean([estimate(metric, phases).value for phases in drawn]) for metric in FORMULAS}
    assert mean["mcqa"] == pytest.approx(m)
    assert mean["bmca@1.0"] == pytest.approx(m * r)
    assert mean["ci"] == pytest.approx(1 - m * (1 - r))
    # E[m^2] = m^2 + V_m, so cora is too low by (1 - r) V_m = O(1 / n1), and exact if all originals are asked.
    of_m = m * (1 - m) / asked * (N - asked) / (N - 1)
    assert mean["cora"] == pytest.approx(m * (1 - m * (1 - r)) - (1 - r) * of_m)


def test_over_all_samples_the_squared_errors_are_the_variance():
    # No sample has only right originals (n1 = 6 of 8 with three wrong), and none has followed questions that are all
    # alike (4 of 5 with three and two), so the formulas apply without Wilson's interval.
    originals, followed = list(all_samples(6, 3)), list(all_samples(8, 4))
    for metric, drawn in {"mcqa": originals, "bmca@1.0": followed, "ci": followed, "cora": followed}.items():
        values = [estimate(metric, phases).value for phases in drawn]
        squares = [estimate(metric, phases).stderr ** 2 for phases in drawn]
        assert np.mean(squares) == pytest.approx(np.var(values))


# ---- the interval, slowly
def slow_ends(phases, metric):
    """Try a million pairs of shares, and keep those within 1.96 standard errors of the sample."""
    first, second = shares_of(phases)
    grid = np.linspace(0, 1, 1_001)
    squares = []
    for share in (first, second):
        population = share.trials / share.fraction
        variance = grid * (1 - grid) / share.trials * (population - share.trials) / (population - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(variance > 0, (share.value - grid) ** 2 / variance, np.inf)
        z[np.isclose(grid, share.value, atol=6e-4)] = 0  # the nearest point of the grid
        certain = share.fraction * share.value, 1 - share.fraction * (1 - share.value)
        possible = (grid >= certain[0] - 1e-9) & (grid <= certain[1] + 1e-9)
        squares.append(np.where(possible, z, np.inf))
    inside = squares[0][:, None] + squares[1][None, :] <= 1.96**2
    values = FORMULAS[metric](*np.meshgrid(grid, grid, indexing="ij"))[0][inside]
    return float(values.min()), float(values.max())


@pytest.mark.parametrize("metric", ["bmca@1.0", "ci", "cora"])
@pytest.mark.parametrize(
    "phases", [Phases(200, 100, 65, 40, 16), Phases(1_000, 120, 60, 40, 0), Phases(300, 150, 148, 100, 95)]
)
def test_the_interval_is_that_of_a_search(metric, phases):
    assert estimate(metric, phases).interval == pytest.approx(slow_ends(phases, metric), abs=2e-3)
