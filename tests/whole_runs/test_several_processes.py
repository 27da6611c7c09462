"""Runs with several real processes: scores equal those of one process, however docs are distributed."""

import importlib.util
import re
from itertools import combinations

import pytest

from tests.support.distributed import Hashing, evaluate, outcomes_alone, outcomes_together
from tests.support.written import put

# Not importorskip, which would import torch even if these tests are deselected.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the harness needs torch for more than one rank"
)

FORMS = ["cora_demo", "cora_demo_mc"]

RUNS = {
    # 156 docs: divisible by three ranks.
    "even": {"options": {"questions": 6}},
    # Five questions: not divisible by three ranks.
    "padded": {"options": {"questions": 7}, "arguments": {"limit": 5}},
    # Each rank draws the exemplars of its own docs.
    "shots": {"options": {"questions": 3}, "arguments": {"num_fewshot": 2}},
    # 26 docs: fewer questions than ranks.
    "one question": {"options": {"questions": 1}},
}

CASES = [(form, name) for form in FORMS for name in RUNS]

CYCLIC = {"task": "cora_demo_order", "options": {"orders": "cyclic"}}
"""All questions with five variants each."""

EARLY = {
    "exact": {"options": {"questions": 7}, "early": {"stop": "exact"}},
    # Some ranks have fewer docs, and the harness pads them.
    "padded early": {"options": {"questions": 7}, "arguments": {"limit": 5}, "early": {"stop": "exact"}},
    # A question needs 26 or 90 requests. The rest of a budget is used in further rounds.
    "budget": {"options": {"questions": 12}, "early": {"stop": "exact", "budget": 200}},
    "budget alone": {"options": {"questions": 12}, "early": {"budget": 200}},
    # 120 questions; the requirement is tested after each of the first ones.
    "until": {**CYCLIC, "early": {"stop": "exact", "until": ["cora±0.1"]}},
    "until the end": {**CYCLIC, "early": {"until": ["mcqa±0.001"]}},
    # Fewer questions than ranks; with the seed 1 one that scored letters have right at first and lose later.
    "one stopped": {"options": {"questions": 1, "seed": 1}, "early": {"stop": "exact"}},
    "one in a budget": {"options": {"questions": 1}, "early": {"stop": "exact", "budget": 100}},
}

# The forms differ only in the number of requests per variant, so these cases use one form.
IN_ONE_FORM = dict.fromkeys(("until", "until the end", "one in a budget"), "cora_demo")
EARLY_CASES = [(form, name) for form in FORMS for name in EARLY if IN_ONE_FORM.get(name, form) == form]
WHOLE = [case for case in EARLY_CASES if not case[1].startswith("one ")]
"""Those in which no question is distributed over several ranks."""

TOO_FEW = {
    (form, "too few"): {"task": form.replace("demo", "demo_plus"), "options": {"questions": 1, "variants": 1}}
    for form in FORMS
}
"""One variant, and several ranks."""

RANKS = 3

MATHS = ("cora_math_prompts", "boxed")
"""A task that compares the answers of all ranks to a question."""

LETTERS = ("cora_demo_order_mc", "letters")
"""A task whose metrics need the likelihoods of all letters."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All runs; one start of the processes does them all, because starting takes longer than the runs."""
    chosen = {(form, name): {"task": form, **RUNS[name]} for form, name in CASES}
    chosen |= {(form, name): {"task": form, **EARLY[name]} for form, name in EARLY_CASES}
    chosen[LETTERS] = {"task": LETTERS[0], "options": {"orders": "cyclic", "questions": 13}}
    if importlib.util.find_spec("math_verify") is None:
        return chosen
    rows = [
        {"problem": f"Problem {number}?", "level": "Level 1", "type": "Algebra", "solution": r"$\boxed{7}$"}
        for number in range(5)
    ]
    path = put(tmp_path_factory.mktemp("maths") / "problems.jsonl", rows)
    return {**chosen, MATHS: {"task": MATHS[0], "options": {"data_files": str(path)}}}


@pytest.fixture(scope="module")
def alone(runs):
    return outcomes_alone(runs)


@pytest.fixture(scope="module")
def together(runs, tmp_path_factory):
    return outcomes_together({**TOO_FEW, **runs}, tmp_path_factory.mktemp("ranks"), RANKS)


def metrics(outcome):
    return {key: value for key, value in outcome["results"].items() if key.endswith(",none")}


@pytest.mark.parametrize("form", FORMS)
def test_the_model_knows_some_answers(alone, form):
    # Otherwise the tests below would compare zeros with zeros.
    results = alone[form, "even"]["results"]
    assert 0 < results["acc,none"] < 1
    assert results["acc_stderr,none"] > 0
    assert results["invalid,none"] > 0 or form != "cora_demo"


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_numbers_and_samples_are_those_of_one_process(alone, together, case):
    assert "cora_stderr,none" in metrics(together[case])
    # Equal, not nearly: whichever rank answered what, the sums run in one order.
    assert metrics(together[case]) == metrics(alone[case])
    for part in ("n-samples", "signature", "samples"):
        assert together[case][part] == alone[case][part]
    variants = {(question, ordinal) for question, ordinal, _ in together[case]["samples"]}
    assert len(variants) == len(together[case]["samples"]) == alone[case]["n-samples"]["effective"]


def test_the_letter_bias_is_that_of_one_process(alone, together):
    found = metrics(together[LETTERS])
    assert 0 < found["acc_pride,none"] < 1
    assert found["acc_pride_stderr,none"] > 0
    assert found == metrics(alone[LETTERS])


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_ranks_share_the_requests(alone, together, case):
    requests = together[case]["requests"]
    asked = [asked for asked, _ in requests]
    padding = [padding for _, padding in requests]
    # The harness pads all ranks to the same number of requests, so some requests have an extra response.
    assert len(set(asked)) == 1
    assert sum(asked) - sum(padding) == alone[case]["requests"][0][0]
    if case[0] == "cora_demo_mc":  # one request per letter of a doc
        return
    # By hand: questions of 26 docs go to the rank with the fewest docs; a single question is split.
    assert [number - extra for number, extra in requests] == {
        "even": [52, 52, 52],
        "padded": [52, 52, 26],
        "shots": [26, 26, 26],
        "one question": [9, 9, 8],
    }[case[1]]


@pytest.mark.parametrize("form", FORMS)
def test_fewer_variants_than_ranks_are_refused_by_every_rank(together, form):
    # A rank without docs would fail with "did not find any docs", and the others would wait for it.
    errors = together[form, "too few"]["errors"]
    assert len(errors) == RANKS
    told = rf"{form.replace('demo', 'demo_plus')}.*1 variants.*{RANKS} processes"
    assert all(re.search(told, error) for error in errors), errors


@pytest.mark.skipif(importlib.util.find_spec("math_verify") is None, reason="math-verify is not installed")
def test_answers_of_all_ranks_are_compared_with_each_other(alone, together):
    assert 0 < alone[MATHS]["results"]["consistency_rate,none"] < 1
    assert 0 < alone[MATHS]["results"]["acc,none"] < 1
    assert together[MATHS]["results"] == alone[MATHS]["results"]


# ---- stopping early
@pytest.mark.parametrize("form", FORMS)
def test_the_runs_are_worth_comparing(alone, form):
    # Otherwise the tests below would compare zeros with zeros, or runs that asked everything.
    for name, variants in {"exact": 7 * 26, "budget": 12 * 26, "until": 120 * 5}.items():
        if (form, name) not in EARLY_CASES:
            continue
        outcome = alone[form, name]
        assert 0 < outcome["results"]["mcqa,none"] < 1, name
        assert outcome["results"]["mcqa_stderr,none"] > 0, name
        ((requests, padding),) = outcome["requests"]
        assert padding == 0
        assert requests < variants * (1 if form == "cora_demo" else 90 / 26) * 0.9, name
    # A budget that is spent in several rounds, and not exceeded.
    assert alone[form, "budget"]["requests"][0][0] <= 200
    assert alone[form, "budget alone"]["requests"][0][0] <= 200
    questions = {name: len(alone[of, name]["questions"][0]) for of, name in EARLY_CASES if of == form}
    assert questions["budget alone"] == (7 if form == "cora_demo" else 2)  # 200 / 26 and 200 / 90
    assert questions["budget"] > questions["budget alone"]
    assert 20 < questions.get("until", 50) < 120
    assert questions.get("until the end", 120) == 120


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["exact", "padded early", "one stopped"])
def test_what_is_printed_is_what_the_full_run_prints(alone, form, name):
    run = {"task": form, **{key: value for key, value in EARLY[name].items() if key != "early"}}
    full = evaluate(run, Hashing())
    exact = metrics(alone[form, name])
    assert {key.removesuffix(",none") for key in exact if "_stderr" not in key} == {"cora", "ci", "mcqa", "bmca@1.0"}
    assert exact == {key: full["results"][key] for key in exact}


@pytest.mark.parametrize("case", EARLY_CASES, ids=" ".join)
def test_stopped_early_the_numbers_are_those_of_one_process(alone, together, case):
    one, several = alone[case], together[case]
    assert metrics(several) == metrics(one)  # equal, not nearly
    assert "mcqa_stderr,none" in metrics(several)
    assert several["n-samples"] == one["n-samples"]
    asked, padding = zip(*several["requests"], strict=True)
    assert not any(padding)  # padding never reaches the model
    questions = [set(of_rank) for of_rank in several["questions"]]
    signatures = [several["signature"], one["signature"]]
    if case in WHOLE:
        # No question is on two ranks, and together they ask what one process asks.
        assert sum(asked) == one["requests"][0][0]
        assert all(first.isdisjoint(second) for first, second in combinations(questions, 2))
        assert set().union(*questions) == set(one["questions"][0])
    else:
        # All ranks are busy with a single question. Each stops by its own part of it, so more may be asked than with
        # one process. Only the share of asked variants shows this.
        assert len(set(map(tuple, several["questions"]))) == 1
        assert min(asked) > 0
        signatures = [re.sub(r"\|asked:[\d.]+%", "", signature) for signature in signatures]
    assert signatures[0] == signatures[1]
