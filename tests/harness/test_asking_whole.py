"""Runs with `--target whole:E`, and the shares of a budget, through the harness and back from its files."""

import re
from collections import defaultdict

import pytest

import lm_eval_cora as cora
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.metrics.stopping import Phases, estimate
from lm_eval_cora.report.comparison import compare_models
from tests.support.simulated import Simulated, knows, run, scored, scores, signature_of
from tests.support.stopping import Moody
from tests.support.written import everything, put, the_run, write

FOUR = {"cora", "ci", "mcqa", "bmca@1.0"}


def printed(results, task="cora_demo"):
    return {name for name in scores(results, task) if not name.endswith("_stderr")}


def phases_by_hand(model, full):
    """Count the questions of a run from the variants that it asked, and from the answers of a full run."""
    right = defaultdict(dict)
    for sample in full["samples"]["cora_demo"]:
        right[sample["doc"]["question_id"]][sample["doc"]["ordinal"]] = sample["acc"] == 1
    docs = [sample["doc"] for sample in full["samples"]["cora_demo"]]
    originals = {doc["question_id"]: doc["ordinal"] for doc in docs if doc["original"]}
    asked = {question: {ordinal for one, ordinal in model.asked if one == question} for question, _ in model.asked}
    assert all(originals[question] in ordinals for question, ordinals in asked.items())
    rights = [question for question in asked if right[question][originals[question]]]
    followed = [question for question in rights if len(asked[question]) > 1]
    for question, ordinals in asked.items():
        misses = [ordinal for ordinal in ordinals if not right[question][ordinal]]
        if question in followed:  # to the first miss, or to the end
            assert len(misses) == 1 or (not misses and len(ordinals) == 26)
        else:
            assert ordinals == {originals[question]}
    always = [question for question in followed if all(right[question].values())]
    return Phases(120, len(asked), len(rights), len(followed), len(always))


@pytest.fixture(scope="module")
def full():
    return run(Moody(8), log_samples=True)


@pytest.mark.parametrize("width", [0.2, 0.04])
def test_the_estimates_are_those_of_the_questions_asked(full, width):
    model = Moody(8)
    results = run(stop_early(model, target=f"whole:{width}"))
    phases = phases_by_hand(model, full)
    assert phases.followed < phases.right
    found = scores(results)
    assert printed(results) == FOUR
    for name in FOUR:
        expected = estimate(name, phases)
        assert found[name] == pytest.approx(expected.value)
        assert found[f"{name}_stderr"] == pytest.approx(expected.stderr)
        low, high = expected.interval
        assert low <= scores(full)[name] <= high  # the value of the full run
    low, high = estimate("cora", phases).interval
    assert (high - low) / 2 <= width
    signature = signature_of(results)
    assert f"|stop:exact|target:whole:{width}|asked:{len(model.asked) / (120 * 26):.1%}|" in signature
    assert len(model.asked) == len(set(model.asked))


def test_a_tiny_target_gives_the_values_of_stop_exact_without_an_error():
    model, exact = Moody(8), Moody(8)
    found = scored(stop_early(model, target="whole:0.0001"), options={"questions": 60})
    expected = scored(stop_early(exact), options={"questions": 60})
    assert sorted(model.asked) == sorted(exact.asked)
    for name in FOUR:
        assert found[name] == expected[name]  # to the last digit
        assert found[f"{name}_stderr"] == 0
        assert expected[f"{name}_stderr"] > 0  # about other questions of the same kind


@pytest.mark.parametrize("task", ["cora_demo_mc", "cora_demo_order"])
def test_every_form_and_probe_that_can_stop(task):
    model, exact = Moody(8), Moody(8)
    results = run(stop_early(model, target="whole:0.05"), task)
    expected = scored(stop_early(exact), task)
    found = scores(results, task)
    assert printed(results, task) == {name for name in FOUR if name in expected}  # without acc_h
    assert found["mcqa_stderr"] < expected["mcqa_stderr"]
    assert abs(found["cora"] - expected["cora"]) <= 0.05 * 2
    assert len(model.prompts) < len(exact.prompts)


def test_a_model_that_is_always_wrong_is_asked_the_originals_only():
    found = scored(stop_early(model := Simulated(lambda doc: "?"), target="whole:0.01"), options={"questions": 30})
    assert found["cora"] == found["mcqa"] == found["bmca@1.0"] == found["cora_stderr"] == 0
    assert len(model.prompts) == 30


def test_the_log_says_what_the_errors_are_about(caplog):
    with caplog.at_level("INFO", "lm_eval"):
        for how in ({"target": "whole:0.2"}, {"target_stderr": 0.05}, {"budget": 500}):
            run(stop_early(Moody(8), **how), options={"questions": 40})
        run(Moody(8), options={"questions": 10})
    told = caplog.text
    assert "the target is a 95% interval of cora of ± 0.2 for the value of all these questions" in told
    assert re.search(r"followed \d+ of the \d+ right ones, .*for all 40 questions of this run; cora is 0\.", told)
    others = "standard errors are about other questions of the same kind"
    assert f"the target is a standard error of cora below 0.05; {others}" in told
    assert re.search(rf"at most 40 questions, 1,040 requests, .*; the budget is 500 requests; {others}", told)
    assert re.search(rf"10 questions, 260 requests, .*prompt tokens; {others}", told)
    assert re.search(rf"asked \d+ of 40 questions, drawn by the seed; {others}", told)


# ---- from the files
def test_reports_show_the_same_estimates_and_comparisons_are_refused(tmp_path):
    target = "whole:0.04"
    sampled = write(tmp_path / "a", stop_early(Moody(8), target=target), "cora_demo", {})
    again = write(tmp_path / "b", stop_early(Moody(9), target=target), "cora_demo", {}, "an-org/another")
    exact = write(tmp_path / "c", stop_early(Moody(8)), "cora_demo", {}, "an-org/a-third")
    one, third = the_run(sampled.folder), the_run(exact.folder)
    assert set(one.estimates) == FOUR
    for name, found in one.estimates.items():
        assert found.value == sampled.printed[f"{name},none"]
        assert found.stderr == sampled.printed[f"{name}_stderr,none"]
    assert one.differences == []
    assert any("estimates for all 120 questions" in note for note in one.warnings)
    low, high = one.estimates["cora"].interval
    assert low <= third.estimates["cora"].value <= high
    text = everything(sampled.folder, exact.folder)
    assert f"{one.estimates['cora'].value:.4f}" in text
    for pair in ((sampled, again), (sampled, exact), (exact, sampled)):
        (refused,) = compare_models([each.folder for each in pair]).refused
        assert re.search(r"--target followed only a sample.*--stop exact", refused)
    # The Python API has the same numbers.
    (read,) = cora.read_runs(sampled.folder)
    assert {name: tuple(read[name]) for name in FOUR} == {name: tuple(one.estimates[name]) for name in FOUR}
    assert read["cora"].interval == one.estimates["cora"].interval
    (full,) = cora.read_runs(exact.folder)
    with pytest.raises(UserError, match="cannot be compared: --target"):
        cora.compare(read, full)


def test_samples_of_two_runs_are_not_merged(tmp_path):
    for seed in (9, 7):
        options = {"questions": 10, "seed": seed}
        written = write(tmp_path, stop_early(Moody(8), target="whole:0.2"), "cora_demo", options)
    assert the_run(tmp_path).files == (written.samples,)


# ---- mistakes
@pytest.mark.parametrize(
    ("task", "arguments", "how", "told"),
    [
        ("cora_demo", {"predict_only": True}, {}, "--stop exact needs scored answers"),
        ("cora_demo", {"predict_only": True}, {"target": "whole:0.1"}, "--target whole:0.1 needs scored answers"),
        ("cora_demo_sampling", {}, {"target": "whole:0.1"}, "--target needs the metric cora"),
        ("cora_demo_sampling", {}, {"target_stderr": 0.1}, "--target-stderr needs the metric cora"),
    ],
)
def test_runs_that_cannot_be_sampled_are_refused_before_the_first_request(task, arguments, how, told):
    model = Simulated(knows)
    with pytest.raises(UserError, match=told):
        run(stop_early(model, **how), task, **arguments)
    assert model.prompts == []


def test_the_error_of_single_questions_is_no_target_where_they_share_passages(tmp_path):
    rows = [{"question": f"{n}?", "choices": list("abc"), "answer": 0, "cluster": str(n // 2)} for n in range(8)]
    options = {"data_files": str(put(tmp_path / "rows.jsonl", rows))}
    with pytest.raises(UserError, match=r"cora_local: --target-stderr .*share passages.*Use --budget"):
        run(stop_early(model := Moody(8), target_stderr=0.2), "cora_local", options)
    assert model.prompts == []
    for how in ({"target": "whole:0.2"}, {"budget": 100}):
        assert scored(stop_early(Moody(8), **how), "cora_local", options)["cora"] >= 0
    alone = {**options, "cluster": "question"}
    assert run(stop_early(Moody(8), target_stderr=0.2), "cora_local", alone)


def test_whole_questions_of_a_limit_are_the_benchmark():
    asking = stop_early(model := Moody(8), None, target="whole:0.0001")
    assert asking.described == "--stop exact --target whole:0.0001"
    assert scored(asking, limit=2)["mcqa_stderr"] == 0
    assert len({question for question, _ in model.asked}) == 2


# ---- budgets
@pytest.mark.parametrize(("stop", "budget", "biased"), [("exact", 200, 1), (None, 200, 0), ("exact", 1_040, 0)])
def test_a_budget_with_few_questions_and_early_stopping_warns_of_its_bias(stop, budget, biased, caplog):
    with caplog.at_level("WARNING", "lm_eval"):
        run(stop_early(Moody(8), stop, budget=budget), options={"questions": 40})
    told = (
        r"cora_demo: the budget paid for only \d+ questions, and their number depended on the answers, so the scores "
        r"are too high on average: mcqa by about 0\.\d+, bmca@1\.0 by 0\.\d+"
    )
    assert len(re.findall(told, caplog.text)) == caplog.text.count("depended on the answers") == biased
