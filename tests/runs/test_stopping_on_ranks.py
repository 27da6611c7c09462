"""Stopping early over real processes: the numbers are those of one process, whichever rank asks what."""

from __future__ import annotations

import importlib.util
import re
from itertools import combinations
from typing import Any

import pytest

from tests.support.distributed import Hashing, evaluate, outcomes_alone, outcomes_together

# Not importorskip: collecting this module would import torch even where its tests are deselected.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the harness needs torch for more than one rank"
)

FORMS = ["cora_demo", "cora_demo_mc"]
M = 26

RUNS: dict[str, dict[str, Any]] = {
    "exact": {"options": {"questions": 7}, "early": {"stop": "exact"}},
    # The last of four questions is one variant short, so there are ranks with fewer docs, which the harness pads.
    "cut": {"options": {"questions": 4}, "arguments": {"limit": 4 * M - 1}, "early": {"stop": "exact"}},
    # A question is 26 requests or 90: the rest of a budget pays for further rounds.
    "budget": {"options": {"questions": 12}, "early": {"stop": "exact", "budget": 200}},
    "budget alone": {"options": {"questions": 12}, "early": {"budget": 200}},
    # Of 120 questions; the first look is after 100.
    "target": {"options": None, "early": {"stop": "exact", "target": 0.05}},
    "target not reached": {"options": {"questions": 110}, "early": {"stop": "exact", "target": 0.001}},
    # Fewer questions than ranks; with the seed 1 one that scored letters have right at first and lose later.
    "one question": {"options": {"questions": 1, "seed": 1}, "early": {"stop": "exact"}},
    "one in a budget": {"options": {"questions": 1}, "early": {"stop": "exact", "budget": 100}},
    "one to a target": {"options": {"questions": 1}, "early": {"stop": "exact", "target": 0.01}},
}

# What differs between the forms is how many requests a variant is: these do without the second.
IN_ONE_FORM = ("target not reached", "one in a budget", "one to a target")
CASES = [(form, name) for form in FORMS for name in RUNS if form == "cora_demo" or name not in IN_ONE_FORM]
ALONE_ON_RANKS = [case for case in CASES if case[1].startswith("one ")]
WHOLE = [case for case in CASES if case not in ALONE_ON_RANKS]

Outcomes = dict[tuple[str, str], dict[str, Any]]


def _runs() -> dict[tuple[str, str], dict[str, Any]]:
    return {(form, name): {"task": form, **RUNS[name]} for form, name in CASES}


def metrics(outcome: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in outcome["results"].items() if key.endswith(",none")}


@pytest.fixture(scope="module")
def alone() -> Outcomes:
    return outcomes_alone(_runs())


@pytest.fixture(scope="module", params=[2, 3], ids=["two ranks", "three ranks"])
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return outcomes_together(_runs(), tmp_path_factory.mktemp("ranks"), request.param)


@pytest.mark.parametrize("form", FORMS)
def test_the_runs_are_worth_comparing(alone: Outcomes, form: str) -> None:
    # Otherwise the tests below would compare zeros with zeros, or runs that asked everything.
    for name, asked in {"exact": 7, "budget": 12, "target": 120}.items():
        outcome = alone[form, name]
        assert 0 < outcome["results"]["mcqa,none"] < 1, name
        assert outcome["results"]["mcqa_stderr,none"] > 0, name
        ((requests, padding),) = outcome["requests"]
        assert padding == 0
        assert requests < asked * M * (1 if form == "cora_demo" else 90 / 26) * 0.9, name
    # A budget that is spent in several rounds, and not exceeded.
    assert alone[form, "budget"]["requests"][0][0] <= 200
    assert alone[form, "budget alone"]["requests"][0][0] <= 200
    questions = {name: len(outcome["questions"][0]) for (of, name), outcome in alone.items() if of == form}
    assert questions["budget alone"] == (7 if form == "cora_demo" else 2)  # 200 / 26 and 200 / 90
    assert questions["budget"] > questions["budget alone"]
    assert 100 <= questions["target"] < 120
    assert questions.get("target not reached", 110) == 110


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["exact", "cut", "one question"])
def test_what_is_printed_is_what_the_full_run_prints(alone: Outcomes, form: str, name: str) -> None:
    run = {"task": form, **{key: value for key, value in RUNS[name].items() if key != "early"}}
    full = evaluate(run, Hashing())
    assert full is not None
    exact = metrics(alone[form, name])
    assert {key.removesuffix(",none") for key in exact if "_stderr" not in key} == {"cora", "ci", "mcqa", "bmca@1.0"}
    assert exact == {key: full["results"][key] for key in exact}


@pytest.mark.parametrize("case", WHOLE, ids=" ".join)
def test_the_numbers_are_those_of_one_process(alone: Outcomes, together: Outcomes, case: tuple[str, str]) -> None:
    assert "mcqa_stderr,none" in metrics(together[case])
    # Equal, not nearly: whichever rank answered what, the sums run in one order.
    assert together[case]["results"] == alone[case]["results"]
    assert together[case]["n-samples"] == alone[case]["n-samples"]
    assert together[case]["signature"] == alone[case]["signature"]


@pytest.mark.parametrize("case", ALONE_ON_RANKS, ids=" ".join)
def test_a_question_that_is_shared_out_has_the_numbers_of_one_process(
    alone: Outcomes, together: Outcomes, case: tuple[str, str]
) -> None:
    # Each rank stops by its own part of the question, so more may be asked than by one process: that shows in
    # the share that was asked, and nowhere else.
    assert metrics(together[case]) == metrics(alone[case])
    assert together[case]["n-samples"] == alone[case]["n-samples"]
    signatures = [re.sub(r"\|asked:[\d.]+%", "", outcome["signature"]) for outcome in (together[case], alone[case])]
    assert signatures[0] == signatures[1]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_padding_never_reaches_the_model(together: Outcomes, case: tuple[str, str]) -> None:
    assert [padding for _, padding in together[case]["requests"]] == [0] * len(together[case]["requests"])


@pytest.mark.parametrize("case", WHOLE, ids=" ".join)
def test_the_ranks_ask_together_what_one_process_asks(
    alone: Outcomes, together: Outcomes, case: tuple[str, str]
) -> None:
    assert sum(asked for asked, _ in together[case]["requests"]) == alone[case]["requests"][0][0]


@pytest.mark.parametrize("case", WHOLE, ids=" ".join)
def test_no_question_is_on_two_ranks(alone: Outcomes, together: Outcomes, case: tuple[str, str]) -> None:
    questions = [set(asked) for asked in together[case]["questions"]]
    assert all(one.isdisjoint(other) for one, other in combinations(questions, 2))
    assert set().union(*questions) == set(alone[case]["questions"][0])


@pytest.mark.parametrize("case", ALONE_ON_RANKS, ids=" ".join)
def test_fewer_questions_than_ranks_keep_all_ranks_busy(together: Outcomes, case: tuple[str, str]) -> None:
    assert len({tuple(asked) for asked in together[case]["questions"]}) == 1
    assert all(asked > 0 for asked, _ in together[case]["requests"])


@pytest.mark.parametrize("form", FORMS)
def test_the_ranks_share_a_budget(together: Outcomes, form: str) -> None:
    for name in ("budget", "budget alone"):
        requests = [asked for asked, _ in together[form, name]["requests"]]
        assert sum(requests) <= 200
