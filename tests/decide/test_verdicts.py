"""Verdicts: each outcome, each direction, several tasks, a baseline, and the number of questions that would decide."""

import json
import re
from dataclasses import replace
from math import hypot, isnan, nan, sqrt
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import binom

from lm_eval_cora.decide import verdicts
from lm_eval_cora.decide.sample_size import Contrast, Level, questions_for_same, questions_needed
from lm_eval_cora.decide.verdicts import Requirement, Verdict, as_json, as_junit, as_table, parse, read_requirements
from lm_eval_cora.metrics.estimate import clopper_pearson, mean_of, share_of
from lm_eval_cora.metrics.paired import difference
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.tables.table_formats import table_as_text
from tests.support.messages import tells, user_error
from tests.support.oracles_errors import paired_interval
from tests.support.shown import HOSTILE_NAMES
from tests.support.written import answers, run_by_hand, runs_by_hand, strict, the_run, write_answers

GOOD = {"original": "1111111100" * 10, "x": "1111110100" * 10}
WORSE = {"original": "1111111000" * 10, "x": "1110010100" * 10}


@pytest.fixture(scope="module")
def runs():
    return runs_by_hand({"good": GOOD, "worse": WORSE})


def verdict_on(run, requirement):
    (verdict,) = verdicts.verdicts_of([run], [], read_requirements([requirement], []))
    return verdict


def loss_of(run, baseline, *no_worse, same=()):
    (verdict,) = verdicts.verdicts_of([run], [baseline], read_requirements([], no_worse, None, same))
    return verdict


def test_the_ends_of_the_interval_decide():
    for low, high, outcome in (  # two one-sided tests
        *((-0.02, 0.02, "pass"), (-0.0201, 0.01, "undecided"), (-0.01, 0.0201, "undecided")),
        *((0.0201, 0.05, "fail"), (-0.05, -0.0201, "fail"), (-0.03, 0.03, "undecided"), (nan, nan, "undecided")),
    ):
        assert verdicts.decide(low, high, -0.02, 0.02) == outcome


# mcqa is 0.8 of 100 questions: Clopper and Pearson's interval is from 0.708 to 0.873, Wilson's inside of it.
def test_outcomes_by_the_interval(runs):
    for requirement, outcome in (
        *(("mcqa>=0.70", "pass"), ("mcqa>=0.72", "undecided"), ("mcqa>=0.86", "undecided"), ("mcqa>=0.88", "fail")),
        *(("mcqa<=0.88", "pass"), ("mcqa<=0.86", "undecided"), ("mcqa<=0.72", "undecided"), ("mcqa<=0.70", "fail")),
    ):
        found = verdict_on(runs[0], requirement)
        assert found.outcome == outcome
        assert (found.low, found.high) == pytest.approx(clopper_pearson(80, 100))
        assert (found.value, found.questions, found.task, found.metric) == (0.8, 100, "answers", "mcqa")
        assert (found.questions_to_decide is not None) == (outcome == "undecided")


def test_the_number_of_questions_that_would_decide(runs):
    found = verdict_on(runs[0], "mcqa>=0.75")
    assert found.questions_to_decide == 574
    assert tells(
        found.reason, "0.8000 with the cautious 95% interval 0.7082 to 0.8733", "574 questions would decide it", "0.8"
    )
    assert verdict_on(runs[0], "mcqa>=0.8").questions_to_decide is None  # the value is the bound


def test_questions_that_share_passages_come_with_their_passages(runs):
    pairs = replace(runs[0], table=replace(runs[0].table, clusters=tuple(f"p{number // 2}" for number in range(100))))
    passages = questions_needed(Level(pairs.estimates["mcqa"], 50), 0.8, 0.75)
    assert verdict_on(pairs, "mcqa>=0.75").questions_to_decide == 2 * passages


def test_the_cautious_interval_has_its_own_name_and_contains_the_one_of_reports():
    """None of 10: Wilson's interval of reports ends at 0.278, and with ends that hold alone it ends at 0.308."""
    run = run_by_hand({"original": "0" * 10, "x": "0" * 10})
    table = as_table([verdict_on(run, "mcqa<=0.29")], "a model")
    assert dict(zip(table.columns, table.rows[0], strict=True))["cautious 95%"] == "0.000 to 0.308"
    assert run.estimates["mcqa"].interval == pytest.approx((0, 0.278), abs=5e-4)


def test_so_many_questions_decide_with_the_probability_that_is_promised():
    # A share of 0.8, and a bound of 0.75.
    needed = questions_needed(Level(share_of(np.arange(1_000) < 800), 1_000), 0.8, 0.75)
    passes = [right for right in range(needed + 1) if clopper_pearson(right, needed)[0] >= 0.75]
    assert binom.pmf(passes, needed, 0.8).sum() == pytest.approx(0.8, abs=0.03)


def test_one_question_has_no_interval_and_none_has_no_value():
    run = run_by_hand({"original": "1", "x": "1"})
    none = replace(run, table=run.table.where(run.table.kind < 0))
    for one, reason in ((run, "1.0000 has no interval"), (none, "mcqa is undefined in this run")):
        found = verdict_on(one, "mcqa>=0.1")
        assert (found.outcome, found.questions_to_decide, found.reason) == ("undecided", None, reason)
        assert isnan(found.low)


# ---- a baseline
def test_losses_within_the_margin(runs):
    good, worse = runs
    change = difference(good.estimates["mcqa"], worse.estimates["mcqa"])
    # 30 of 100 questions change: 10 are lost in the original, none is gained.
    assert change.value == pytest.approx(-0.1)
    for margin, outcome in ((-change.low + 0.001, "pass"), (0.1, "undecided"), (-change.high - 0.001, "fail")):
        found = loss_of(worse, good, f"mcqa:{margin}")
        assert found.outcome == outcome
        assert (found.value, found.low, found.high) == (change.value, change.low, change.high)
    contrast = Contrast.of(good.estimates["mcqa"], worse.estimates["mcqa"])
    needed = loss_of(worse, good, "mcqa:0.15").questions_to_decide
    assert needed == max(101, questions_needed(contrast, -0.1, -0.15))
    found, itself = loss_of(good, worse, "mcqa:0"), loss_of(good, good, "cora:0.05")
    assert (found.outcome, found.is_difference, itself.outcome, itself.value) == ("pass", True, "pass", 0.0)


def test_the_same_within_a_margin(runs):
    good, worse = runs
    change = difference(good.estimates["mcqa"], worse.estimates["mcqa"], z=1.6448536269514722)  # 10 of 100 lost
    found = loss_of(worse, good, same=["mcqa:0.2"])
    assert (found.low, found.high, found.level) == (change.low, change.high, 0.9)
    assert (found.value, found.outcome, found.requirement) == (pytest.approx(-0.1), "pass", "mcqa same within 0.2")
    assert loss_of(worse, good, same=["mcqa:0.02"]).outcome == "fail"
    assert loss_of(worse, good, same=["mcqa_plus_diff:1"]).outcome == "pass"  # neither direction is better
    # So many questions put the interval inside with a probability of 0.8; the value is between 0 and the margin.
    open_one = loss_of(worse, good, same=["mcqa:0.12"])
    assert open_one.outcome == "undecided"
    contrast = Contrast.of(good.estimates["mcqa"], worse.estimates["mcqa"])
    assert open_one.questions_to_decide == questions_for_same(contrast, 0.12, open_one.value)
    assert "with the cautious 90% interval" in open_one.reason
    assert str(as_table([open_one], "m").rows[0][4]).endswith("(90%)")
    (case,) = ElementTree.fromstring(as_junit([open_one], "m")).iter("testcase")
    assert case.get("name") == "mcqa same within 0.12"
    assert as_json([open_one], "m", [])["requirements"][0]["level"] == 0.9


def test_four_more_right_answers_of_100_are_not_the_same_within_a_hundredth():
    # 0 lost, 4 gained: Tango's 90% interval. The mid-p-value is 2 / 2^4 / 2 = 0.0625, below 0.1.
    few, more = ({"original": right, "x": right} for right in ("1" * 50 + "0" * 50, "1" * 54 + "0" * 46))
    found = loss_of(*runs_by_hand({"more": more, "few": few}), same=["mcqa:0.01"])
    assert (found.low, found.high) == pytest.approx((0.0126, 0.0862), abs=1e-4)
    assert (found.low, found.high) == pytest.approx(paired_interval(0, 4, 100, 1.6448536), abs=1e-6)
    assert found.outcome == "fail"


@pytest.mark.parametrize("questions", [40, 100, 300])
@pytest.mark.parametrize(("rare", "loss"), [(0.05, 0.5), (0.3, 0.125)])
def test_rare_losses_at_the_margin_pass_with_at_most_the_probability_that_is_promised(questions, rare, loss):
    passes, before = [], mean_of(np.full(questions, 0.9))
    for lost in range(questions + 1):
        after = mean_of(0.9 - loss * (np.arange(questions) < lost))
        change = difference(before, after, z=1.6448536, cautious=True)
        if -rare * loss <= change.low and change.high <= rare * loss:
            passes.append(lost)
    assert binom.pmf(passes, questions, rare).sum() <= 0.05


def test_a_cautious_interval_by_hand():
    # 10 of 100 lose 1/2: mean -0.05, m2 = 0.1 * 0.45^2 + 0.9 * 0.05^2 = 0.0225, m3 = -0.1 * 0.45^3 + 0.9 * 0.05^3
    # = -0.009, so the skew is -0.4. The low end solves d^2 = half^2 - 1.96^2 * 0.4 d / 100.
    before, after = mean_of(np.full(100, 0.5)), mean_of(np.where(np.arange(100) < 10, 0.0, 0.5))
    half = 1.959964 * hypot(0.15 / sqrt(99), 0.45 / 100)
    low, high = difference(before, after, cautious=True)[2:]
    assert (low + 0.05) ** 2 == pytest.approx(half**2 - 3.841459 * 0.4 / 100 * (low + 0.05))
    assert high == pytest.approx(max(half - 0.05, -0.05 + 1.05 * 3.841459 / 103.841459))  # or others gain


def test_a_metric_that_should_be_low(tmp_path):
    paths = (tmp_path / "few.csv", 0.95), (tmp_path / "many.csv", 0.2)
    few, many = (the_run(write_answers(path, answers("m", knows, 100))) for path, knows in paths)
    assert loss_of(few, many, "invalid:0.01").outcome == "pass"
    change = difference(few.estimates["invalid"], many.estimates["invalid"], cautious=True)
    for margin, outcome in ((change.high + 0.001, "pass"), (change.value, "undecided"), (change.low - 0.001, "fail")):
        assert loss_of(many, few, f"invalid:{margin}").outcome == outcome


def test_requirements_that_a_run_cannot_be_compared_with(runs):
    for requirement, *parts in (
        ("coora>=0.5", "coora >= 0.5: answers has no metric 'coora'", "Did you mean 'cora'", "mcqa"),
        ("answer:cora>=0.5", "answer:cora >= 0.5: there is no such task", "Did you mean 'answers'"),
        *((bound, "expected a bound from 0 to 1, the range of") for bound in ("acc<=5", "cora>=30", "mcqa>=-0.1")),
    ):
        with user_error(*parts):
            verdict_on(runs[0], requirement)
    undirected = replace(runs[0])
    vars(undirected)["entries"] = [{**entry, "higher_is_better": None} for entry in runs[0].entries]
    with user_error("neither a high nor a low cora is better"):
        loss_of(undirected, runs[1], "cora:0.05")
    short = run_by_hand({kind: marks[:50] for kind, marks in GOOD.items()})
    with user_error("cora no worse by 0.05: answers cannot be compared", "50 of 100 questions"):
        loss_of(runs[0], short, "cora:0.05")


def test_a_baseline_with_the_same_questions_in_another_file_or_without_them(runs):
    one, other = (replace(run, model="m", label=label) for run, label in zip(runs, ("a", "b"), strict=True))
    margin = read_requirements([], ["mcqa:0.5"])
    assert verdicts.verdicts_of([one], [other], margin)[0].value == pytest.approx(0.1)
    with user_error("the baseline does not have answers (a). Its tasks are another"):
        verdicts.verdicts_of([one], [replace(other, name="another", label="", data=Data("x", "1a2b3c4d"))], margin)


def test_each_task_of_the_run_has_a_verdict(runs):
    one, other = (replace(run, model="m", label=label) for run, label in zip(runs, ("a", "b"), strict=True))
    found = verdicts.verdicts_of([one, other], [], read_requirements(["mcqa>=0.7", "answers (b):mcqa>=0.9"], []))
    told = [f"{each.task}: {each.outcome}" for each in found]
    assert told == ["answers (a): pass", "answers (b): undecided", "answers (b): fail"]
    by_name = read_requirements(["answers:mcqa>=0.7"], [])  # the name without the data
    assert len(verdicts.verdicts_of([one, other], [], by_name)) == 2


def test_a_benchmark_with_too_few_questions(runs):
    found = verdict_on(runs[0], "mcqa>=0.75")
    assert (found.outcome, found.questions_to_decide, found.questions_available) == ("undecided", 574, None)
    decided = replace(found, questions_to_decide=None, questions_available=1)
    assert verdicts.remarks([found, replace(found, questions_available=574), decided]) == []
    assert verdicts.remarks([replace(found, questions_available=573)]) == [
        "answers: mcqa >= 0.75 needs 574 questions to be decided, but the benchmark has 573"
    ]


# ---- the table, JSON and JUnit XML
def made_up(outcome, task="cora_medqa", requirement="cora >= 0.45"):
    needed = 500 if outcome == "undecided" else None
    return Verdict(requirement, task, "cora", outcome, 0.5, 0.03, 0.44, 0.56, False, 100, needed, None, "s")


def test_junit():
    found = [made_up("pass"), made_up("fail"), made_up("undecided", "cora_mmlu")]
    root = ElementTree.fromstring(as_junit(found, "org/model"))
    assert root.tag == "testsuites"
    assert root.attrib == {"name": "lm-eval-cora gate org/model", "tests": "3", "failures": "1", "errors": "1"}
    assert root[0].attrib == {"name": "cora_medqa", "tests": "2", "failures": "1", "errors": "0"}
    assert root[1].attrib == {"name": "cora_mmlu", "tests": "1", "failures": "0", "errors": "1"}
    (passed, failed), (undecided,) = root
    assert passed.attrib == {"classname": "cora_medqa", "name": "cora >= 0.45"}
    (said,) = passed
    assert (said.tag, said.attrib, said.text) == ("system-out", {}, "s")
    for part, tag, verdict in ((failed[0], "failure", found[1]), (undecided[0], "error", found[2])):
        assert (part.tag, part.text) == (tag, verdict.reason)
        assert part.attrib == {"type": verdict.outcome, "message": verdict.reason}


@pytest.mark.parametrize("name", [*HOSTILE_NAMES.values(), "\x00\x1b[2J\ud83d\ufffe", "]]>&amp;<!--"])
def test_hostile_names(name):
    found = [made_up("fail", task=name)]
    root = ElementTree.fromstring(as_junit(found, name))
    assert len(root.findall("./testsuite/testcase/failure")) == 1
    shown = "".join(re.findall("[A-Za-z0-9]", name))
    assert "".join(re.findall("[A-Za-z0-9]", root[0].attrib["name"])) == shown
    assert strict(json.dumps(as_json(found, name, [])))["requirements"][0]["task"] == name
    table = as_table(found, name)
    assert len(table_as_text(table.columns, table.rows).split("\n")) == 3


def test_json_has_no_bare_nan():
    undefined = replace(made_up("undecided"), **dict.fromkeys(("value", "stderr", "low", "high"), nan), signature=None)
    found = as_json([undefined], "m", ["a note"])
    assert (found["outcome"], found["exit_status"], found["notes"]) == ("undecided", 2, ["a note"])
    (entry,) = found["requirements"]
    assert [entry[key] for key in ("value", "stderr", "low", "high", "questions_available", "signature")] == [None] * 6
    assert entry["reason"] == "cora is undefined in this run"
    assert strict(json.dumps(found))


def test_the_table_and_the_overall_outcome():
    table = as_table([made_up("pass"), made_up("undecided")], "m")
    assert table.title == "m: undecided"
    told = [(row[0], row[2], row[-1]) for row in table.rows]
    assert told == [("cora ≥ 0.45", "pass", ""), ("cora ≥ 0.45", "undecided", 500)]
    assert verdicts.overall([made_up("undecided"), made_up("fail"), made_up("pass")]) == "fail"


# ---- requirements as texts, and policies in files
READ = {
    "cora>=0.45": Requirement("cora", ">=", 0.45),
    "pass^k>=0.45": Requirement("pass^k", ">=", 0.45),
    "cora≥0.45": Requirement("cora", ">=", 0.45),
    "cora±0.02": Requirement("cora", "±", 0.02),
    "cora_medqa:cora +- .02": Requirement("cora", "±", 0.02, "cora_medqa"),
    "bmca@1.0>=.3": Requirement("bmca@1.0", ">=", 0.3),
    "cora_local (my: file) : mv <= 0.5": Requirement("mv", "<=", 0.5, "cora_local (my: file)"),
    "cora:0.02": Requirement("cora", "no worse by", 0.02),
    "cora_medqa : bmca@1.0 : 0": Requirement("bmca@1.0", "no worse by", 0.0, "cora_medqa"),
    "cora: .02": Requirement("cora", "same within", 0.02),
}


@pytest.mark.parametrize("text", READ)
def test_requirements(text):
    key = {"no worse by": "no_worse", "same within": "same"}.get(READ[text].sign, "require")
    assert parse(text, key, "here") == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        *("", "cora", "cora>0.45", "cora<0.45", "cora==0.45", "cora>=", ">=0.45", "cora>=x", "cora>=5%", "cora:0.45"),
        *("cora>=nan", "cora>=inf", "cora>=1e999", "cora>=0.45 or more", "cora >= 0.4 5", ":cora>=0.45", "cora>=0,45"),
        *("co ra>=0.45", "cora>=٤", "1cora>=0.5", "two\nlines>=1:x", "\x00>=1", "\u202ecora>=1"),
    ],
)
def test_texts_that_are_not_requirements(text):
    with user_error("--require", "expected [TASK:]METRIC>=NUMBER", "'cora>=0.45'"):
        parse(text, "require", "--require")


def read(folder, content):
    path = folder / "gate.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [str(requirement) for requirement in read_requirements([], [], path)]


def test_a_policy_and_the_command_line_without_repetition(tmp_path):
    path, limits = tmp_path / "gate.yaml", "[cora >= 0.450, 'cora_medqa:mv <= 0.05']"
    path.write_text(f"# Our limits\nno_worse: [cora:0.1]\nrequire: {limits}\nsame: [mv:1]\n")
    requirements = read_requirements(["mv>=0.1", "cora>=0.45"], ["cora:0.2"], path, ["ci:0.1"])
    texts = ["mv >= 0.1", "cora >= 0.45", "mv <= 0.05", "cora no worse by 0.2", "ci same within 0.1"]
    texts += ["cora no worse by 0.1", "mv same within 1"]
    assert [str(requirement) for requirement in requirements] == texts
    assert [requirement.task for requirement in requirements] == ["", "", "cora_medqa", "", "", "", ""]
    assert read(tmp_path, '{"require": ["cora>=0.45"]}') == ["cora >= 0.45"]


WRONG = {
    "require:\n  - cora > 0.45\n": ("gate.yaml: require:", "'cora > 0.45'", "expected [TASK:]METRIC>=NUMBER"),
    "no_worse:\n  - cora: 0.02\n": ("gate.yaml: no_worse: expected", "quotation marks", "{'cora': 0.02}"),
    "require: cora >= 0.45\n": ("gate.yaml: require: expected a list of texts", "got 'cora >= 0.45'"),
    "requires: []\n": ("gate.yaml: expected require, no_worse, same", "'requires'", "Did you mean 'require'"),
    "require: []\n": ("gate.yaml: expected", "got no requirement"),
    "require: [a\n": ("gate.yaml, line 2: cannot be read as YAML",),
    "require: [cora>=0.4]\nrequire: [mv>=0.4]\n": ("gate.yaml, line 2: cannot be read", "the key 'require' is twice"),
    "require: !!python/object/apply:os.system [x]\n": ("gate.yaml, line 1: cannot be read as YAML",),
    "a: " + "[" * 1_000: ("gate.yaml", "cannot be read as YAML"),
    b"\xff\xfe\x00\xd8": ("gate.yaml: cannot be read as YAML",),
}


@pytest.mark.parametrize("content", WRONG, ids=range(len(WRONG)))
def test_files_that_are_not_policies(content, tmp_path):
    with user_error(str(tmp_path), *WRONG[content]):
        read(tmp_path, content)
