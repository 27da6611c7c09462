"""Runs that end as soon as their requirements are certain: in the harness, with a baseline, and what is refused."""

import re
import shutil
from unittest.mock import patch

import pytest
from lm_eval.api.model import CachingLM

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.scoring import Scoring
from lm_eval_cora.metrics.sequences import in_drawn_order
from tests.support.messages import user_error
from tests.support.simulated import Simulated, knows, run, scored, scores, signature_of
from tests.support.stopping import Moody
from tests.support.written import put, write

EXACT = {"cora", "ci", "mcqa", "bmca@1.0"}


def printed(results, task="cora_demo"):
    return {name for name in scores(results, task) if not name.endswith("_stderr")}


def questions_of(model):
    return {question for question, _ in model.asked}


def told(caplog, *parts):
    pattern = ".*".join(map(re.escape, parts))
    return [message for message in caplog.messages if re.search(pattern, message)]


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level("INFO", "lm_eval.cora")


@pytest.fixture(scope="module")
def full():
    return scores(run(Moody(8)))


# ---- a run
VERDICTS = [
    ("exact", "cora>=0.25", "pass"),
    ("exact", "cora>=0.75", "fail"),
    ("exact", "mcqa<=0.95", "pass"),
    ("exact", "cora±0.1", "pass"),
    (None, "mv>=0.45", "pass"),
    (None, "bmca@0.9<=0.2", "fail"),
]


@pytest.mark.parametrize(("stop", "text", "verdict"), VERDICTS)
def test_a_run_ends_early_with_the_verdict_of_the_whole_run(stop, text, verdict, full, caplog):
    results = run(stop_early(model := Moody(8), stop, until=[text]), log_samples=True)
    asked = len(questions_of(model))
    assert 10 < asked < 90
    metric, sign, number = re.fullmatch(r"(.*?)(>=|<=|±)(.*)", text).groups()
    assert told(caplog, f"{metric} {sign} {number}: {verdict}; {metric} 0.")
    value = full[metric]
    is_met = {">=": value >= float(number), "<=": value <= float(number), "±": True}[sign]
    assert is_met == (verdict == "pass")
    (last,) = told(caplog, f"cora_demo: {metric} 0.", f" after {asked} of 120 questions")
    low, high = (float(end) for end in re.findall(r"0\.\d+", last.partition(" after")[0])[-2:])
    assert low <= value <= high
    assert told(caplog, f"until this is certain: {text}")
    assert told(caplog, f"asked {asked} of 120 questions", "about the values for all of them")
    # The first questions of the order of the seed, and only metrics with such intervals.
    names = {sample["doc"]["question_id"] for sample in results["samples"]["cora_demo"]}
    assert questions_of(model) == {*in_drawn_order(names, 0)[:asked]}
    assert f"|until:{text}|asked:{len(model.asked) / 3120:.1%}|n:{asked}x26|" in signature_of(results)
    assert printed(results) == EXACT if stop else printed(results) > EXACT
    assert not {"core", "consistency_rate"} & printed(results)


def test_what_stays_uncertain_ends_with_the_exact_values_of_all_questions(full, caplog):
    exact = full["cora"]
    results = run(stop_early(Moody(8), until=[f"cora>={exact!r}"]))
    assert told(caplog, "pass; cora 0.507 to 0.507")
    assert (scores(results)["cora"], scores(results)["cora_stderr"]) == (exact, 0)


def test_several_requirements_and_tasks_each_end_on_their_own(caplog):
    tasks = ["cora_demo", "cora_demo_plus"]
    until = ["cora>=0.3", "cora_demo_plus:mcqa_plus±0.07"]
    results = run(stop_early(Moody(8), None, until=until), tasks)
    counts = {task: int(re.search(r"\|n:(\d+)x", signature_of(results, task))[1]) for task in tasks}
    assert counts["cora_demo"] < counts["cora_demo_plus"] < 120
    for task, count in counts.items():
        assert len(told(caplog, f"{task}: cora 0.", f" after {count} of 120")) == 1
        looks = [int(n) for n in re.findall(rf"{task}: .* after (\d+) of 120 questions", caplog.text)]
        assert looks == sorted(set(looks))
        assert looks[-1] == count
    alone = run(stop_early(Moody(8), None, until=["cora>=0.3"]), "cora_demo")
    assert scores(alone) == scores(results)


def test_a_budget_may_end_it_first(caplog):
    results = run(stop_early(model := Moody(8), until=["cora±0.01"], budget=900))
    assert len(model.asked) <= 900
    assert told(caplog, "until this is certain: cora±0.01, or 900 requests are sent")
    assert told(caplog, "cora ± 0.01: undecided; cora 0.")
    assert "|stop:exact|budget:900|until:cora±0.01|" in signature_of(results)
    # One question of one task, whose error is unknown, and none of the other one.
    tasks = ["cora_demo", "cora_demo_plus"]
    few = run(stop_early(Moody(8), until=["cora±0.01"], budget=26), tasks)
    assert told(caplog, "cora_demo_plus: cora ± 0.01: undecided; cora unknown")
    assert ["nan" in str(scores(few, task)["cora"]) for task in tasks] == [False, True]


def test_a_killed_run_goes_on_and_decides_the_same(tmp_path):
    def asking(model):
        return stop_early(CachingLM(model, str(tmp_path / "cache_rank0.db")), until=["cora±0.1"])

    undisturbed = run(stop_early(whole := Moody(8), until=["cora±0.1"]))
    killed, resumed = Moody(8), Moody(8)
    answer, calls = killed.generate_until, []

    def dies(requests, disable_tqdm=False):
        calls.append(requests)
        if len(calls) > 12:
            raise RuntimeError("killed")
        return answer(requests)

    with patch.object(killed, "generate_until", dies), pytest.raises(RuntimeError):
        run(asking(killed))
    results = run(asking(resumed))
    assert scores(results) == scores(undisturbed)
    assert signature_of(results) == signature_of(undisturbed)
    assert sorted(killed.asked + resumed.asked) == sorted(whole.asked)


def test_large_batches_are_filled():
    sizes = []
    for batch_size in (1, 40, "auto"):
        model = Moody(8)
        model.batch_size = batch_size
        run(stop_early(model, until=["cora±0.1"]))
        sizes.append(len(questions_of(model)))
    assert sizes == [62, 40 + 40, 64]


def test_an_answer_without_a_result_makes_nothing_certain(caplog):
    score, calls = Scoring._score_early, []

    def fails_once(self, answered):
        calls.append(answered)
        if len(calls) == 2:
            raise RuntimeError("not scored")
        return score(self, answered)

    with patch.object(Scoring, "_score_early", fails_once):
        run(stop_early(Moody(8), until=["cora>=0.1"]))
    assert told(caplog, "cora >= 0.1: undecided; cora unknown")


# ---- passages
@pytest.fixture
def passages(tmp_path):
    """Options for 120 questions, of which 60 share 15 passages."""
    rows = [
        {"question": f"{n}?", "choices": list("abcde"), "answer": n % 5, **({"cluster": f"{n % 15}"} if n < 60 else {})}
        for n in range(120)
    ]
    return {"data_files": str(put(tmp_path / "rows.jsonl", rows))}


def test_passages_stay_together_and_are_the_units(passages, caplog):
    results = run(stop_early(model := Moody(8), until=["cora>=0.2"]), "cora_local", passages, log_samples=True)
    asked, clusters = questions_of(model), {}
    for sample in results["samples"]["cora_local"]:
        doc = sample["doc"]
        clusters[doc["question_id"]] = doc.get("cluster") or doc["question_id"]
    for cluster in set(clusters.values()):
        assert len({question in asked for question, other in clusters.items() if other == cluster}) == 1
    assert len(asked) < 120
    assert told(caplog, "cora >= 0.2: pass; cora 0.")
    ends = re.findall(r"cora_local: cora (\S+) to (\S+) after", caplog.text)
    assert all(0 <= float(low) <= float(high) <= 1 for low, high in ends)
    # A budget that ends within a passage.
    for budget in (900, 1_000, 1_100):
        found = scored(stop_early(Moody(8), None, until=["mcqa±0.01"], budget=budget), "cora_local", passages)
        assert 0 < found["mcqa"] < 1


# ---- a baseline
@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    return write(tmp_path_factory.mktemp("baseline"), stop_early(Moody(8)), "cora_demo", {}).folder


@pytest.mark.parametrize(
    ("model", "text", "verdict"),
    [
        (Moody(8), "no-worse cora:0.03", "pass"),
        (Moody(8), "same mcqa:0.03", "pass"),
        (Simulated(lambda doc: "?"), "no-worse cora:0.03", "fail"),
        (Simulated(knows), "same cora:0.1", "fail"),
        (Simulated(knows), "no-worse bmca@1.0:0", "pass"),
    ],
)
def test_comparisons_with_a_whole_run(model, text, verdict, baseline, caplog):
    run(stop_early(model, until=[text], baseline=baseline))
    (line,) = told(caplog, f": {verdict}; ", " minus the baseline ")
    asked = int(re.search(r"asked .* requests for (\d+) of 120", caplog.text)[1])
    assert asked < 120
    assert re.search(r"-?0\.\d+ to -?\d\.\d+$", line)


@pytest.mark.parametrize("text", ["mcqa>=1", "no-worse cora:0"])
def test_only_a_wrong_answer_makes_a_requirement_of_1_fail(text, tmp_path, caplog):
    perfect = write(tmp_path, Simulated(knows), "cora_demo", {}).folder if "worse" in text else None
    for rule, verdict, asked in ((knows, "pass", 120), (lambda doc: "?", "fail", 1)):
        run(stop_early(model := Simulated(rule), until=[text], baseline=perfect))
        assert told(caplog, f": {verdict}; ")
        assert len({request.doc["question_id"] for call in model.calls for request in call}) == asked


def test_paired_values_need_fewer_questions_than_unpaired_ones(baseline, full):
    margin = 0.08
    paired, alone = Moody(8), Moody(8)
    run(stop_early(paired, until=[f"no-worse cora:{margin}"], baseline=baseline))
    run(stop_early(alone, until=[f"cora>={full['cora'] - margin}"]))
    assert len(questions_of(paired)) < len(questions_of(alone))


# ---- what is refused before the first request
@pytest.mark.parametrize(
    ("task", "how", "parts"),
    [
        (
            "cora_demo",
            {"until": ["consistency_rate>=0.5"]},
            ["no metric 'consistency_rate' that can be tested", "mcqa_plus"],
        ),
        ("cora_demo", {"until": ["core>=0.5"]}, ["no metric 'core'", "Did you mean 'cora'"]),
        ("cora_demo", {"until": ["mv>=0.5"], "stop": "exact"}, ["no metric 'mv'", "with --stop exact", "cora, ci"]),
        ("cora_demo", {"until": ["cora>=45"]}, ["cora >= 45: expected a bound from 0 to 1"]),
        ("cora_demo", {"until": ["cora_dmo:cora>=0.4", "cora>=0.4"]}, ["no such task", "Did you mean 'cora_demo'"]),
        ("cora_demo", {"until": ["x:cora>=0.4"]}, ["--until x:cora >= 0.4: there is no such task", "cora_demo"]),
        ("cora_demo", {"until": ["same cora:0.1"]}, ["--until same cora:0.1: expected --baseline OUT"]),
        ("cora_demo", {"until": ["cora>=0.1"], "baseline": "x"}, ["--baseline: expected --until 'no-worse"]),
        ("cora_demo", {"until": ["no-worse cora:0"], "baseline": "nowhere"}, ["nowhere"]),
        ("cora_demo_plus", {"until": ["no-worse cora:0"], "baseline": "."}, ["expected one run of cora_demo_plus"]),
        ("cora_demo", {"until": ["no-worse mv:0"], "baseline": ".", "stop": None}, ["cora_demo has no metric 'mv'"]),
    ],
)
def test_mistakes(task, how, parts, baseline, monkeypatch):
    monkeypatch.chdir(baseline)
    with user_error(*parts):
        run(stop_early(model := Moody(8), **{"stop": None, **how}), task)
    assert model.prompts == []


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"seed": 1}, ["their settings differ: seed is 0 in the first, 1 in the second"]),
        ({"reader": "strict"}, ["their settings differ: reader is flexible"]),
    ],
)
def test_baselines_that_were_asked_something_else(options, parts, baseline):
    with user_error(f"--baseline {baseline}: cora_demo cannot be compared with it:", *parts):
        run(stop_early(model := Moody(8), until=["no-worse cora:0.1"], baseline=baseline), options=options)
    assert model.prompts == []


def test_baselines_that_stopped_or_have_other_questions(passages, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text((tmp_path / "rows.jsonl").read_text().replace("7?", "8!"))
    for name, how, options, parts in (
        ("part", {"until": ["cora±0.2"]}, passages, ["answered", "of 120 questions"]),
        ("data", {}, {"data_files": str(other)}, ["their settings differ: data is"]),
        ("alone", {}, {**passages, "cluster": "question"}, ["of the run are not in it, or in another passage"]),
    ):
        folder = write(tmp_path / name, stop_early(Moody(8), **how), "cora_local", options).folder
        with user_error("--baseline", "cannot be compared with it", *parts):
            run(stop_early(Moody(8), until=["no-worse cora:0.1"], baseline=folder), "cora_local", passages)


def test_a_part_of_the_questions():
    # A verdict about 60 of 120 questions would be read as one about all of them.
    for options, how in (({"questions": 60}, {}), ({}, {"limit": 5}), ({}, {"samples": {"cora_demo": [0, 1, 2]}})):
        (name,) = {**options, **how}
        with user_error("--until: cora_demo has only", f"because of {name}", "--budget N limits the cost"):
            run(stop_early(model := Moody(8), until=["cora>=0.1"]), options=options, **how)
        assert model.prompts == []


def test_a_baseline_without_its_results_file(baseline, tmp_path):
    shutil.copytree(baseline, tmp_path / "copy")
    for file in tmp_path.rglob("results_*.json"):
        file.unlink()
    with user_error("cannot be compared with it: the baseline has no results file"):
        run(stop_early(Moody(8), until=["no-worse cora:0.1"], baseline=tmp_path / "copy"))


def test_answers_that_are_not_scored_decide_nothing():
    with pytest.raises(UserError, match=r"--until cora>=0\.1 needs scored answers"):
        run(stop_early(Simulated(knows), None, until=["cora>=0.1"]), predict_only=True)
