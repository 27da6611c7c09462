"""What stopping may leave out: goals against all that could still come, and printed scores against the full run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_cora.harness import stop_early
from lm_eval_cora.harness.docs import divergent, plus
from lm_eval_cora.options import OptionError
from lm_eval_cora.stopping.rule import HARDEST_FIRST, Goal, goals_of, place_of
from tests.simulated import Simulated, knows, run, says, scores

LEVELS = ("bmca@0.5", "bmca@0.6", "bmca@0.7", "bmca@0.8", "bmca@0.9", "bmca@1.0")
GOALS = ("exact", "bmca@0.8", "bmca@0.5", "mv")

CASES = [
    *((task, goal) for task in ("cora_demo", "cora_demo_mc", "cora_demo_plus") for goal in GOALS),
    *((task, "exact") for task in ("cora_demo_plus_mc", "cora_demo_order", "cora_demo_order_mc", "cora_demo_prompts")),
]

ROW = {"id": "q", "question": "Q?", "choices": ["a", "b", "c", "d", "e"], "answer": 2, "category": ""}

HOSTILE = ["", "x" * 1_000_000, "答案是乙", "\ud83d", "__import__('os')", "\x00\x1b[2J", "A" * 9, "1" * 5_000, "٤", " "]


# ---- what must hold, slow and obvious


def reaches(goal: str, right: int, variants: int) -> bool:
    """Whether a question counts, from the definitions: RC = right / variants, in whole numbers."""
    if goal == "mv":
        return 2 * right > variants
    tenths = 10 if goal == "exact" else round(10 * float(goal.removeprefix("bmca@")))
    return 10 * right >= tenths * variants


def is_decided(goal: str, right: int, wrong: int, variants: int) -> bool:
    """Whether all that could still come leads to the same."""
    left = variants - right - wrong
    return len({reaches(goal, right + more, variants) for more in range(left + 1)}) == 1


def known(task: str, goal: str) -> set[str]:
    """The metrics that are the full run's."""
    if goal != "exact":
        return {"mcqa", goal}
    if "_order" in task:
        return {"mcqa", "ci", "cora", "acc_h"}
    if "_prompts" in task:
        return {"mcqa", "ci", "cora"}
    return {"mcqa", "ci", "cora", "bmca@1.0"}


def bounded(task: str, goal: str) -> set[str]:
    """The metrics that have bounds. SCORE's probes have none of them."""
    if "_order" in task or "_prompts" in task:
        return set()
    return {"mcqa_plus", "mv", *LEVELS} - known(task, goal)


def chance(*key: object) -> float:
    """A number from 0 to 1 by the hash of a key."""
    return int.from_bytes(hashlib.sha256(json.dumps(key).encode()).digest()[:4], "big") / 2**32


class Moody(Simulated):
    """Knows some questions in all variants, others in some; else it is wrong, or says nothing that can be read."""

    def __init__(self, seed: int, sure: float = 0.35) -> None:
        super().__init__(self.say)
        self.seed = seed
        self.sure = sure
        self.asked: list[tuple[str, int]] = []

    def say(self, doc: dict[str, Any]) -> str:
        question, ordinal = doc["question_id"], doc["ordinal"]
        self.asked.append((question, ordinal))
        skill = 1.0 if chance(self.seed, question) < self.sure else chance(self.seed, question, "skill")
        if chance(self.seed, question, ordinal) < skill:
            return knows(doc)
        if chance(self.seed, question, ordinal, "invalid") < 0.3:
            return "?"
        if doc["ask"] == "yes_no":
            return "no" if knows(doc) == "yes" else "yes"
        return says(doc, next(identity for identity in doc["printed"] if identity != doc["answer"]))


QUESTIONS = {"questions": 6}

SEEDS = (3, 8)
"""Of models that know some of these questions in all variants, some in the original, and some not at all."""


@cache
def full(task: str, seed: int) -> dict[str, Any]:
    return scores(run(Moody(seed), task, options=QUESTIONS), task)


# ---- goals


@st.composite
def states(draw: st.DrawFn) -> tuple[int, int, int]:
    variants = draw(st.integers(1, 80))
    right = draw(st.integers(0, variants))
    return right, draw(st.integers(0, variants - right)), variants


@given(st.sampled_from(["exact", "mv", *LEVELS]), states())
def test_a_question_is_settled_when_all_that_could_come_leads_to_the_same(
    name: str, state: tuple[int, int, int]
) -> None:
    assert Goal.parse(name).is_settled(*state) == is_decided(name, *state)


@given(st.sampled_from(["exact", "mv", *LEVELS]), st.integers(1, 80))
def test_what_is_needed_is_the_least_that_is_enough(name: str, variants: int) -> None:
    assert Goal.parse(name).needed(variants) == min(k for k in range(variants + 1) if reaches(name, k, variants))


@given(st.integers(1, 100), st.integers(1, 100), st.integers(1, 80))
def test_a_level_is_a_whole_fraction_and_never_a_float(hundredths: int, right: int, variants: int) -> None:
    # 0.55 * 20 is 11.000000000000002 in floats; 11 of 20 are enough.
    goal = Goal.parse(f"bmca@{hundredths / 100}")
    assert goal.level == Fraction(hundredths, 100)
    assert (min(right, variants) >= goal.needed(variants)) == (100 * min(right, variants) >= hundredths * variants)


def test_the_whole_level_is_exact() -> None:
    assert Goal.parse("bmca@1.0") == Goal.parse("exact") == Goal.parse("bmca@1")
    assert Goal.parse("bmca@1.0").name == "exact"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cora",
        "exactly",
        "bmca",
        "bmca@",
        "bmca@0",
        "bmca@-0.5",
        "bmca@1.1",
        "bmca@nan",
        "bmca@inf",
        "bmca@x",
        "mv@0.5",
    ],
)
def test_what_is_no_goal_is_refused_and_the_goals_are_named(text: str) -> None:
    with pytest.raises(OptionError, match=r"exact.*bmca@.*mv"):
        Goal.parse(text)


@pytest.mark.parametrize("probe", [divergent, plus])
def test_the_original_is_asked_first_and_each_variant_has_a_place_of_its_own(probe: Any) -> None:
    docs = probe([ROW])
    order = sorted(docs, key=place_of)
    assert order[0]["original"]
    assert [doc["original"] for doc in order].count(True) == 1
    assert len({place_of(doc) for doc in docs}) == len(docs)  # or the order would depend on that of the docs


def test_the_kinds_follow_each_other_as_it_is_written_down() -> None:
    for docs in (divergent([ROW]), plus([ROW])):
        kinds = list(dict.fromkeys(doc["kind"] for doc in sorted(docs, key=place_of)))
        there = {doc["kind"] for doc in docs}
        measured = [kind for kind in HARDEST_FIRST if kind in there]
        assert len(measured) >= 3
        assert kinds[: 1 + len(measured)] == ["original", *measured]
        assert set(kinds) == there
    assert {doc["kind"] for doc in divergent([ROW])} <= {"original", *HARDEST_FIRST}


def test_the_goals_of_a_task_are_those_of_its_metrics() -> None:
    def entries(names: str) -> Iterator[dict[str, Any]]:
        from lm_eval_cora import metrics

        for name in names.split():
            yield {"metric": name, "aggregation": getattr(metrics, name.partition("@")[0])} | (
                {"level": float(name.partition("@")[2])} if "@" in name else {}
            )

    assert set(goals_of(entries("acc cora bmca@0.8 bmca@1.0 mv"), "divergent")) == {"exact", "bmca@0.8", "mv"}
    assert set(goals_of(entries("acc_h mcqa ci cora"), "order")) == {"exact"}
    assert goals_of(entries("acc consistency_rate invalid"), "sampling") == []


# ---- through the harness


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("task", "goal"), CASES)
def test_what_is_printed_is_the_full_run_and_between_its_bounds(task: str, goal: str, seed: int) -> None:
    model = Moody(seed)
    found, everything = scores(run(stop_early(model, goal), task, options=QUESTIONS), task), full(task, seed)

    values = {name for name in found if "_stderr" not in name}
    expected = bounded(task, goal)
    assert values == known(task, goal) | {f"{name}_{end}" for name in expected for end in ("lower", "upper")}
    for name in known(task, goal):
        assert found[name] == everything[name]
        assert found[f"{name}_stderr"] == everything[f"{name}_stderr"]
    for name in expected:
        assert found[f"{name}_lower"] <= everything[name] <= found[f"{name}_upper"]
    assert set(found) == {f"{name}{end}" for name in values for end in ("", "_stderr", "_stderr_stderr")}


def test_the_models_of_these_tests_leave_something_to_be_found() -> None:
    for task in ("cora_demo", "cora_demo_mc", "cora_demo_plus", "cora_demo_order", "cora_demo_prompts"):
        for seed in SEEDS:
            table = full(task, seed)
            assert 0 < table["mcqa"] < 1
            assert 0 < table["mcqa"] * (1 - table["mcqa"]) < table["cora"] < table["mcqa"]  # some are always right
            assert table["cora_stderr"] > 0
    assert all(full("cora_demo", seed)["bmca@0.5"] > full("cora_demo", seed)["bmca@1.0"] for seed in SEEDS)
    assert all(full("cora_demo", seed)["invalid"] > 0 for seed in SEEDS)


def test_where_nothing_is_right_only_the_original_is_known() -> None:
    found = scores(run(stop_early(Simulated(lambda doc: "?")), options={"questions": 3}))
    assert (found["mcqa"], found["ci"], found["cora"], found["bmca@1.0"]) == (0.0, 1.0, 0.0, 0.0)
    # Of 26 variants one is known to be wrong: 25/26 = 0.96 is enough for every level below 1.
    assert found["mcqa_plus_lower"] == 0.0
    assert found["mcqa_plus_upper"] == pytest.approx(25 / 26)
    assert [found[f"{name}_lower"] for name in ("mv", *LEVELS[:-1])] == [0.0] * 6
    assert [found[f"{name}_upper"] for name in ("mv", *LEVELS[:-1])] == [1.0] * 6


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_plus_mc", "cora_demo_order", "cora_demo_prompts"])
def test_where_all_is_right_everything_is_asked_and_the_bounds_meet(task: str) -> None:
    model, plain = Simulated(knows), Simulated(knows)
    run(plain, task, options={"questions": 2})
    found = scores(run(stop_early(model), task, options={"questions": 2}), task)
    assert {value for name, value in found.items() if "_stderr" not in name} == {1.0}
    assert sorted(model.prompts) == sorted(plain.prompts)


@pytest.mark.parametrize("task", ["cora_demo_order", "cora_demo_order_mc", "cora_demo_prompts"])
@pytest.mark.parametrize("goal", ["bmca@0.8", "bmca@0.5", "mv"])
def test_a_goal_that_a_task_has_no_metric_for_is_an_error_before_the_first_request(task: str, goal: str) -> None:
    model = Moody(1)
    with pytest.raises(OptionError, match=rf"{task}.*{goal}.*expected.*exact"):
        run(stop_early(model, goal), task, options=QUESTIONS)
    assert model.prompts == []


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_plus_mc"])
def test_a_level_that_a_task_does_not_print_is_an_error_naming_those_that_it_does(task: str) -> None:
    model = Moody(1)
    with pytest.raises(OptionError, match=r"exact.*bmca@0\.5.*bmca@0\.9") as error:
        run(stop_early(model, "bmca@0.55"), task, options=QUESTIONS)
    assert "mv" in str(error.value)
    assert model.prompts == []


@pytest.mark.parametrize("task", ["cora_demo_sampling", "cora_demo_revas", "cora_demo_revas_mc"])
def test_a_task_without_anything_to_stop_for_is_asked_whole(task: str) -> None:
    options = {"questions": 2}
    plain, stopped = Moody(1), Moody(1)
    everything = scores(run(plain, task, options=options), task)
    found = scores(run(stop_early(stopped), task, options=options), task)
    assert json.dumps(found) == json.dumps(everything)  # nan is nan
    assert set(stopped.asked) == set(plain.asked)


def test_the_signature_says_the_goal_and_the_share_that_was_asked() -> None:
    model = Moody(1)
    results = run(stop_early(model, "mv"), options=QUESTIONS)
    parts = results["configs"]["cora_demo"]["metadata"]["signature"].split("|")
    assert "stop:mv" in parts
    assert f"asked:{100 * len(model.asked) / (6 * 26):.1f}%" in parts
    assert not [part for part in parts if part.startswith("invalid")]  # a share of selected answers says nothing
    whole = run(Moody(1), options=QUESTIONS)["configs"]["cora_demo"]["metadata"]["signature"]
    assert "stop:" not in whole
    assert "asked:" not in whole


def test_a_single_question_has_the_full_runs_missing_errors() -> None:
    for seed in (3, 4):
        found = scores(run(stop_early(Moody(seed)), options={"questions": 1}))
        everything = scores(run(Moody(seed), options={"questions": 1}))
        assert {name: found[name] for name in ("cora", "ci", "mcqa", "bmca@1.0")} == {
            name: everything[name] for name in ("cora", "ci", "mcqa", "bmca@1.0")
        }
        assert found["cora_stderr"] == everything["cora_stderr"] == "N/A"


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_order", "cora_demo_plus"])
def test_whatever_is_written_the_score_is_that_of_the_full_run(task: str) -> None:
    def answer(doc: dict[str, Any]) -> str:
        place = int(chance(doc["question_id"], doc["ordinal"]) * 100)
        return HOSTILE[place] if place < len(HOSTILE) else knows(doc)

    everything = scores(run(answer, task, options=QUESTIONS), task)
    found = scores(run(stop_early(Simulated(answer)), task, options=QUESTIONS), task)
    for name in known(task, "exact"):
        assert found[name] == everything[name]
        assert found[f"{name}_stderr"] == everything[f"{name}_stderr"]


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\ud83d", None])
def test_a_model_that_says_nothing_but_that_is_scored(text: str | None) -> None:
    found = scores(run(stop_early(Simulated(lambda doc: text)), options={"questions": 2}))  # type: ignore[arg-type]
    assert found["cora"] == 0.0


@pytest.mark.parametrize("cut", [{"limit": 4 * 26 + 7}, {"samples": {"cora_demo": list(range(1, 130))}}])
def test_a_run_that_is_cut_is_exact_for_the_questions_that_are_left(cut: dict[str, Any]) -> None:
    everything, found = scores(run(Moody(SEEDS[0]), **cut)), scores(run(stop_early(Moody(SEEDS[0])), **cut))
    for name in known("cora_demo", "exact"):
        assert found[name] == everything[name]
        assert found[f"{name}_stderr"] == everything[f"{name}_stderr"]


@pytest.mark.parametrize("orders", ["cyclic", "all"])
def test_the_other_orders_are_exact_too(orders: str) -> None:
    options = {"questions": 3, "orders": orders}
    everything = scores(run(Moody(SEEDS[1]), "cora_demo_order", options=options), "cora_demo_order")
    found = scores(run(stop_early(Moody(SEEDS[1])), "cora_demo_order", options=options), "cora_demo_order")
    assert {name for name in found if "_stderr" not in name} == known("cora_demo_order", "exact")
    assert found == {name: everything[name] for name in found}
