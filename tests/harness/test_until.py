"""Runs that end as soon as their requirements are certain: in the harness, with a baseline, and what is refused."""

import re
import shutil
from unittest.mock import patch

import pytest
from lm_eval.api.model import CachingLM

from lm_eval_cora.harness import asking
from lm_eval_cora.harness.scoring import Scoring
from lm_eval_cora.metrics.sequences import in_drawn_order
from tests.support.messages import user_error
from tests.support.simulated import Simulated, knows, run, scored, scores, signature_of
from tests.support.stopping import Moody, two_options
from tests.support.written import write

EXACT = {"cora", "ci", "mcqa", "bmca@1.0"}


def printed(results, task="cora_local"):
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
def options(tmp_path_factory):
    """Options for 120 questions with few variants."""
    return two_options(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def ended(options):
    """Run a task with requirements; return the results and the model."""

    def run_it(until=(), stop="exact", task="cora_local", model=None, more=options, **how):
        given = {name: how.pop(name) for name in ("budget", "baseline") if name in how}
        model = model or Moody(8)
        how = {"log_samples": False, **how}
        return run(asking.stop_early(model, stop, until=until, **given), task, more, **how), model

    return run_it


@pytest.fixture(scope="module")
def full(options):
    return scored(asking.stop_early(Moody(8), None), "cora_local", options)


# ---- a run
@pytest.mark.parametrize(
    ("stop", "text", "verdict"),
    [
        ("exact", "cora>=0.25", "pass"),
        ("exact", "cora>=0.75", "fail"),
        ("exact", "cora±0.1", "pass"),
        (None, "mv<=0.5", "fail"),
    ],
)
def test_a_run_ends_early_with_the_verdict_of_the_whole_run(stop, text, verdict, full, ended, caplog):
    results, model = ended([text], stop, log_samples=True)
    asked = len(questions_of(model))
    assert 10 < asked < 90
    metric, sign, number = re.fullmatch(r"(.*?)(>=|<=|±)(.*)", text).groups()
    assert told(caplog, f"{metric} {sign} {number}: {verdict}; {metric} 0.")
    value = full[metric]
    is_met = {">=": value >= float(number), "<=": value <= float(number), "±": True}[sign]
    assert is_met == (verdict == "pass")
    (last,) = told(caplog, f"cora_local: {metric} 0.", f" after {asked} of 120 questions")
    low, high = (float(end) for end in re.findall(r"0\.\d+", last.partition(" after")[0])[-2:])
    assert low <= value <= high
    assert told(caplog, f"until this is certain: {text}")
    assert told(caplog, f"asked {asked} of 120 questions", "about the values for all of them")
    # The first questions of the order of the seed, and only metrics with such intervals.
    names = {sample["doc"]["question_id"] for sample in results["samples"]["cora_local"]}
    assert questions_of(model) == {*in_drawn_order(names, 0)[:asked]}
    assert re.search(rf"\|until:{text}\|asked:\d+\.\d%\|n:{asked}x8\|", signature_of(results, "cora_local"))
    assert printed(results) == EXACT if stop else printed(results) > EXACT
    assert not {"core", "consistency_rate"} & printed(results)


def test_what_stays_uncertain_ends_with_the_exact_values_of_all_questions(full, ended, caplog):
    exact = full["cora"]
    found = scores(ended([f"cora>={exact!r}"])[0], "cora_local")
    (ends,) = told(caplog, "pass; cora 0.")
    assert [float(end) for end in re.findall(r"0\.\d+", ends)[-2:]] == [pytest.approx(exact, abs=1e-3)] * 2
    assert (found["cora"], found["cora_stderr"]) == (exact, 0)


def test_several_requirements_and_tasks_each_end_on_their_own(ended, caplog):
    tasks = ["cora_local", "cora_local_plus"]
    results, _ = ended(["cora>=0.3", "cora_local_plus:mcqa_plus±0.07"], None, tasks)
    counts = {task: int(re.search(r"\|n:(\d+)x", signature_of(results, task))[1]) for task in tasks}
    assert counts["cora_local"] < counts["cora_local_plus"] < 120
    for task, count in counts.items():
        assert len(told(caplog, f"{task}: cora 0.", f" after {count} of 120")) == 1
        looks = [int(n) for n in re.findall(rf"{task}: .* after (\d+) of 120 questions", caplog.text)]
        assert looks == sorted(set(looks))
        assert looks[-1] == count
    alone, _ = ended(["cora>=0.3"], None)
    assert scores(alone, "cora_local") == scores(results, "cora_local")


def test_a_budget_may_end_it_first(ended, caplog):
    results, model = ended(["cora±0.01"], budget=250)
    assert len(model.asked) <= 250
    assert told(caplog, "until this is certain: cora±0.01, or 250 requests are sent")
    assert told(caplog, "cora ± 0.01: undecided; cora 0.")
    assert "|stop:exact|budget:250|until:cora±0.01|" in signature_of(results, "cora_local")
    # One question of one task, whose error is unknown, and none of the other one.
    tasks = ["cora_local", "cora_local_plus"]
    few, _ = ended(["cora±0.01"], task=tasks, budget=8)
    assert told(caplog, "cora_local_plus: cora ± 0.01: undecided; cora unknown")
    assert ["nan" in str(scores(few, task)["cora"]) for task in tasks] == [False, True]


def test_a_killed_run_sends_only_what_is_left_and_prints_the_same(ended, tmp_path):
    class Killed(Moody):
        def generate_until(self, requests, disable_tqdm=False):
            if len(self.calls) == 12:
                raise KeyboardInterrupt
            return super().generate_until(requests)

    def with_cache(model):
        return ended(["cora±0.1"], model=CachingLM(model, str(tmp_path / "cache_rank0.db")))[0]

    undisturbed, whole = ended(["cora±0.1"])
    killed, resumed = Killed(8), Moody(8)
    with pytest.raises(KeyboardInterrupt):
        with_cache(killed)
    results = with_cache(resumed)
    assert scores(results, "cora_local") == scores(undisturbed, "cora_local")
    assert signature_of(results, "cora_local") == signature_of(undisturbed, "cora_local")
    assert sorted(killed.asked + resumed.asked) == sorted(whole.asked)
    assert 0 < len(killed.asked) < len(whole.asked)


def test_large_batches_are_filled(ended):
    sizes = []
    for batch_size in (1, 40, "auto"):
        model = Moody(8)
        model.batch_size = batch_size
        ended(["cora±0.1"], model=model)
        sizes.append(len(questions_of(model)))
    assert sizes == [62, 40 + 40, 64]


def test_an_answer_without_a_result_makes_nothing_certain(ended, caplog):
    read, calls = Scoring._read, []

    def fails_once(self, answered):
        calls.append(answered)
        if len(calls) == 2:
            raise RuntimeError("not scored")
        return read(self, answered)

    with patch.object(Scoring, "_read", fails_once):
        ended(["cora>=0.1"])
    assert told(caplog, "cora >= 0.1: undecided; cora unknown")


# ---- passages
@pytest.fixture
def passages(tmp_path):
    """Options for 120 questions, of which 60 share 15 passages."""
    return two_options(tmp_path, lambda n: {"cluster": f"{n % 15}"} if n < 60 else {})


def test_passages_stay_together_and_are_the_units(passages, ended, caplog):
    results, model = ended(["cora>=0.2"], more=passages, log_samples=True)
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
    for budget in (250, 280, 310):
        found = scores(ended(["mcqa±0.01"], None, more=passages, budget=budget)[0], "cora_local")
        assert 0 < found["mcqa"] < 1


# ---- a baseline
@pytest.fixture(scope="module")
def baseline(tmp_path_factory, options):
    return write(tmp_path_factory.mktemp("baseline"), asking.stop_early(Moody(8)), "cora_local", options).folder


@pytest.mark.parametrize(
    ("model", "text", "verdict"),
    [
        (Moody(8), "same mcqa:0.03", "pass"),
        (Simulated(lambda doc: "?"), "no-worse cora:0.03", "fail"),
        (Simulated(knows), "same cora:0.1", "fail"),
        (Simulated(knows), "no-worse bmca@1.0:0", "pass"),
    ],
)
def test_comparisons_with_a_whole_run(model, text, verdict, baseline, ended, caplog):
    ended([text], model=model, baseline=baseline)
    (line,) = told(caplog, f": {verdict}; ", " minus the baseline ")
    asked = int(re.search(r"asked .* requests for (\d+) of 120", caplog.text)[1])
    assert asked < 120
    assert re.search(r"-?0\.\d+ to -?\d\.\d+$", line)


@pytest.mark.parametrize("text", ["mcqa>=1", "no-worse cora:0"])
def test_only_a_wrong_answer_makes_a_requirement_of_1_fail(text, options, ended, tmp_path, caplog):
    perfect = write(tmp_path, Simulated(knows), "cora_local", options).folder if "worse" in text else None
    for rule, verdict, asked in ((knows, "pass", 120), (lambda doc: "?", "fail", 1)):
        _, model = ended([text], model=Simulated(rule), baseline=perfect)
        assert told(caplog, f": {verdict}; ")
        assert len({request.doc["question_id"] for call in model.calls for request in call}) == asked


# ---- what is refused before the first request
@pytest.mark.parametrize(
    ("text", "how", "parts"),
    [
        ("consistency_rate>=0.5", {}, ["no metric 'consistency_rate' that can be tested", "mcqa_plus"]),
        ("core>=0.5", {}, ["no metric 'core'", "Did you mean 'cora'"]),
        ("mv>=0.5", {"stop": "exact"}, ["no metric 'mv'", "with --stop exact", "cora, ci"]),
        ("cora>=45", {}, ["cora >= 45: expected a bound from 0 to 1"]),
        ("cora_lcal:cora>=0.4", {}, ["--until cora_lcal:cora >= 0.4: there is no such task", "Did you mean 'cora_lo"]),
        ("same cora:0.1", {}, ["--until same cora:0.1: expected --baseline OUT"]),
        ("cora>=0.1", {"baseline": "x"}, ["--baseline: expected --until 'no-worse"]),
        ("no-worse cora:0", {"baseline": "nowhere"}, ["nowhere"]),
        ("no-worse cora:0", {"baseline": ".", "task": "cora_demo_plus"}, ["expected one run of cora_demo_plus"]),
        ("no-worse mv:0", {"baseline": "."}, ["cora_local has no metric 'mv'"]),
        ("no-worse cora:0", {"baseline": ".", "seed": 1}, ["cannot be compared with it", "seed is 0 in the first, 1"]),
        ("no-worse cora:0", {"baseline": ".", "reader": "strict"}, ["their settings differ: reader is flexible"]),
        # A verdict about 60 of 120 questions would be read as one about all of them.
        ("cora>=0.1", {"questions": 60}, ["cora_local has only", "because of questions", "--budget N limits the cost"]),
        ("cora>=0.1", {"limit": 5}, ["--until: cora_local has only", "because of limit"]),
        ("cora>=0.1", {"samples": {"cora_local": [0, 1]}}, ["because of samples"]),
        ("cora>=0.1", {"predict_only": True}, ["--until cora>=0.1 needs scored answers"]),
    ],
)
def test_mistakes(text, how, parts, options, ended, baseline, monkeypatch):
    monkeypatch.chdir(baseline)
    more = {name: value for name, value in how.items() if name in ("seed", "reader", "questions")}
    others = {name: value for name, value in how.items() if name not in more}
    given = more if "task" in how else {**options, **more}
    with user_error(*parts):
        ended([text], model=(model := Moody(8)), more=given, **{"stop": None, **others})
    assert model.prompts == []


def test_baselines_that_stopped_have_other_questions_or_no_results(passages, baseline, ended, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text((tmp_path / "rows.jsonl").read_text().replace("7?", "8!"))
    for name, how, options, parts in (
        ("part", {"until": ["cora±0.2"]}, passages, ["answered", "of 120 questions"]),
        ("data", {}, {"data_files": str(other)}, ["their settings differ: data is"]),
        ("alone", {}, {**passages, "cluster": "question"}, ["of the run are not in it, or in another passage"]),
    ):
        folder = write(tmp_path / name, asking.stop_early(Moody(8), **how), "cora_local", options).folder
        with user_error("--baseline", "cannot be compared with it", *parts):
            ended(["no-worse cora:0.1"], baseline=folder, more=passages)
    shutil.copytree(baseline, tmp_path / "copy")
    for file in (tmp_path / "copy").rglob("results_*.json"):
        file.unlink()
    with user_error("cannot be compared with it: the baseline has no results file"):
        ended(["no-worse cora:0.1"], baseline=tmp_path / "copy")
