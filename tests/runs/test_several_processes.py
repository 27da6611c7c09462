"""Data-parallel runs over real processes: the numbers are those of one process."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.distributed import launch, outcomes_alone, outcomes_together

# Not importorskip: collecting this module would import torch even where its tests are deselected.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the harness needs torch for more than one rank"
)

FORMS = ["cora_demo", "cora_demo_mc"]

RUNS: dict[str, dict[str, Any]] = {
    # 156 docs: as many for each of two ranks, and of three.
    "even": {"options": {"questions": 6}},
    # 103 docs: one too few for two ranks, two too few for three. The last of the four questions is incomplete.
    "padded": {"options": {"questions": 4}, "arguments": {"limit": 4 * 26 - 1}},
    # Each rank draws the exemplars of its own docs.
    "shots": {"options": {"questions": 3}, "arguments": {"num_fewshot": 2}},
    # 26 docs: fewer questions than ranks.
    "one question": {"options": {"questions": 1}},
}

CASES = [(form, name) for form in FORMS for name in RUNS]

Outcomes = dict[tuple[str, str], dict[str, Any]]


MATHS = ("cora_math_prompts", "boxed")
"""Answers of all ranks to a question are compared with each other."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    chosen = {(form, name): {"task": form, **RUNS[name]} for form, name in CASES}
    if importlib.util.find_spec("math_verify") is None:
        return chosen
    path = tmp_path_factory.mktemp("maths") / "problems.jsonl"
    rows = [
        {"problem": f"Problem {number}?", "level": "Level 1", "type": "Algebra", "solution": r"$\boxed{7}$"}
        for number in range(5)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {**chosen, MATHS: {"task": MATHS[0], "options": {"data_files": str(path)}}}


@pytest.fixture(scope="module")
def alone(runs: dict[tuple[str, str], dict[str, Any]]) -> Outcomes:
    return outcomes_alone(runs)


@pytest.fixture(scope="module", params=[2, 3], ids=["two ranks", "three ranks"])
def together(
    request: pytest.FixtureRequest,
    runs: dict[tuple[str, str], dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcomes:
    return outcomes_together(runs, tmp_path_factory.mktemp("ranks"), request.param)


@pytest.mark.parametrize("form", FORMS)
def test_the_model_knows_some_answers(alone: Outcomes, form: str) -> None:
    # Otherwise the tests below would compare zeros with zeros.
    results = alone[form, "even"]["results"]
    assert 0 < results["acc,none"] < 1
    assert results["acc_stderr,none"] > 0
    assert results["invalid,none"] > 0 or form != "cora_demo"


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_numbers_are_those_of_one_process(alone: Outcomes, together: Outcomes, case: tuple[str, str]) -> None:
    metrics = {key: value for key, value in together[case]["results"].items() if key.endswith(",none")}
    assert "cora_stderr,none" in metrics
    # Equal, not nearly: whichever rank answered what, the sums run in one order.
    assert metrics == {key: value for key, value in alone[case]["results"].items() if key.endswith(",none")}
    assert together[case]["n-samples"] == alone[case]["n-samples"]
    assert together[case]["signature"] == alone[case]["signature"]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_first_rank_has_the_samples_of_all(alone: Outcomes, together: Outcomes, case: tuple[str, str]) -> None:
    samples = together[case]["samples"]
    variants = {(question, ordinal) for question, ordinal, _ in samples}
    assert len(variants) == len(samples) == alone[case]["n-samples"]["effective"]
    assert samples == alone[case]["samples"]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_ranks_share_the_requests(alone: Outcomes, together: Outcomes, case: tuple[str, str]) -> None:
    requests = together[case]["requests"]
    asked = [asked for asked, _ in requests]
    padding = [padding for _, padding in requests]
    # The harness pads until all ranks have as many as the longest, so there is a response too many to some request.
    assert len(set(asked)) == 1
    assert sum(asked) - sum(padding) == alone[case]["requests"][0][0]
    if case[0] == "cora_demo_mc":  # as many requests for a doc as it has letters
        return
    # By hand: questions of 26 docs go to the rank with the fewest; one alone is cut up.
    assert [number - extra for number, extra in requests] == {
        ("even", 2): [78, 78],
        ("even", 3): [52, 52, 52],
        ("padded", 2): [52, 51],
        ("padded", 3): [51, 26, 26],
        ("shots", 2): [52, 26],
        ("shots", 3): [26, 26, 26],
        ("one question", 2): [13, 13],
        ("one question", 3): [9, 9, 8],
    }[case[1], len(requests)]


@pytest.mark.parametrize("form", FORMS)
def test_fewer_variants_than_ranks_are_refused_by_every_rank(tmp_path: Path, form: str) -> None:
    # A rank without docs would end with the harness' "did not find any docs", and the others would wait for it.
    ended = launch([{"task": form, "options": {"questions": 1}, "arguments": {"limit": 1}}], tmp_path, ranks=2)
    for process in ended:
        assert process.status != 0
        assert re.search(rf"OptionError: .*{form}.*1 variants.*2 processes", process.stderr), process.stderr[-3000:]
    assert not (tmp_path / "outcomes.json").exists()


@pytest.mark.skipif(importlib.util.find_spec("math_verify") is None, reason="math-verify is not installed")
def test_answers_of_all_ranks_are_compared_with_each_other(alone: Outcomes, together: Outcomes) -> None:
    assert 0 < alone[MATHS]["results"]["consistency_rate,none"] < 1
    assert 0 < alone[MATHS]["results"]["acc,none"] < 1
    assert together[MATHS]["results"] == alone[MATHS]["results"]
