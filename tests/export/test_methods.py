"""Methods sections and prompts: each sentence against what the code does."""

import re
from dataclasses import replace

import pytest

from lm_eval_cora.export.methods import _written, methods, prompts
from lm_eval_cora.metrics.facts import FUNCTIONS
from lm_eval_cora.metrics.paired import METHODS
from lm_eval_cora.report.pair_views import Compared
from lm_eval_cora.report.score_views import main_of
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.task_files import benchmark_names
from lm_eval_cora.variants.probes import PROBES
from tests.support.markdown import ROOT
from tests.support.messages import tells, user_error
from tests.support.written import DEMO, answers, run_by_hand, runs_by_hand, the_run, write_answers

GOOD, BAD = (
    {"original": "1" * 40, "a": "1" * 30 + "0" * 10},
    {"original": "1" * 25 + "0" * 15, "a": "1" * 15 + "0" * 25},
)
PAPERS = (ROOT / "tasks" / "_papers.bib").read_text()
SHARES = "95% intervals are Wilson's"


def cited(text):
    return set(re.findall(r"^@\w+\{(\w+)", text, re.MULTILINE))


@pytest.mark.parametrize("task", DEMO)
def test_it_is_short_and_its_facts_are_those_of_the_run(task, demo):
    run = the_run(demo[task].folder)
    text = methods([run])
    assert len(text.partition("```")[0].split()) <= 200
    sizes, scored = run.table.sizes, run.form == "loglikelihood"
    counts = " to ".join(map(str, dict.fromkeys((sizes.min(), sizes.max()))))
    assert tells(text, f"{task}: {len(sizes)} question", f"data {run.data.digest}", f"in {counts} variants.")
    assert tells(text, run.probe.summary, "(0-shot, without a chat template)", "lm-eval-cora 1.", f"`{run.signature}`")
    assert ("The model writes nothing" in text, "the flexible reader" in text) == (scored, not scored)
    if "invalid" in run.estimates:
        assert f"Invalid answers: {run.model} {run.table.invalid.mean():.1%}." in text
    assert not any(word in text for word in ("Differences", "end early", "passage", "at every look"))


def test_the_tests_are_those_that_compare_uses():
    runs = runs_by_hand({"good": GOOD, "bad": BAD, "worst": {**BAD, "a": "0" * 40}})
    for own in (runs, runs[:2]):
        for names in (["mcqa"], ["cora"], ["mcqa", "cora"], []):
            pairs = Compared.of(own, names or main_of(own), 0).chosen.values()
            used = {pair.method for by_place in pairs for pair in by_place.values()}
            text = methods(own, names)
            assert {name for name, reason in METHODS.items() if reason in text} == used
            assert ("hold for all models of a metric together" in text) is (len(own) > 2)


def test_models_that_were_not_asked_the_same_are_not_tested():
    runs = [run_by_hand(GOOD, "good"), run_by_hand({kind: marks[:30] for kind, marks in GOOD.items()}, "short")]
    text = methods(runs)
    assert tells(text, "answers: 30 to 40 questions", "were not asked the same, so no differences are tested.")
    assert not any(word in text for word in ("paired", "McNemar", "p-values"))


def test_passages_are_the_units(tmp_path):
    rows = [{**row, "cluster": f"p{int(row['question_id'][1:]) // 2}"} for row in answers(questions=60)]
    others = [{**row, "cluster": rows[0 + n]["cluster"]} for n, row in enumerate(answers("other", 0.8, 60))]
    runs = read_runs([write_answers(tmp_path / f"{n}.jsonl", own) for n, own in enumerate((rows, others))])
    text = methods(runs, ["mcqa"])
    assert runs[0].estimates["mcqa"].units == 30
    assert tells(text, "60 questions in 30 passages", "over passages", "Student's t", METHODS["t"])
    assert SHARES not in text
    assert "over questions" not in text


def test_a_stopped_run_says_what_its_intervals_are_about(demo):
    run = the_run(demo["cora_demo"].folder)
    whole = methods([run])
    end = "until:cora>=0.4|asked:40.0%"
    stopped = replace(run, signature=run.signature.replace("|invalid", f"|stop:exact|{end}|invalid"))
    text = methods([stopped])
    assert stopped.is_stopped
    assert stopped.estimates["cora"].ends is not None
    assert tells(text, "end early (stop exact, until cora>=0.4): 40.0% of the variants", "at every look (betting)")
    assert (SHARES in text, SHARES in whole) == (False, True)
    # Beside a task that did not stop, both are said.
    both = methods([stopped, the_run(demo["cora_demo_plus"].folder)])
    assert tells(both, "Errors and intervals of stopped runs are about", SHARES)


def test_bootstrapped_errors_and_ways_of_asking_are_told_apart():
    runs = runs_by_hand({"good": GOOD, "bad": BAD})
    assert "acc_min: errors from a bootstrap" in methods(runs, ["mcqa", "acc_min"])
    assert "bootstrap" not in methods(runs, ["mcqa"])
    assert "How the questions were asked is not recorded." in methods(runs)
    signed = [
        replace(run, form="generate", reader=name) for run, name in zip(runs, ("strict", "flexible"), strict=True)
    ]
    text = methods(signed)
    assert tells(
        text, "good: The model writes its answer; the strict reader", "bad: The model writes its answer; the fl"
    )


def test_the_papers_are_those_of_the_printed_metrics(demo):
    run = the_run(demo["cora_demo"].folder)
    assert cited(methods([run], ["mcqa"])) == {"cavalin2025cora", "gao2024harness"}
    assert cited(methods([run], ["cora", "mv"])) == {"cavalin2025cora", "gao2024harness", "pezeshkpour2024order"}
    by_hand = run_by_hand(GOOD)
    assert cited(methods([by_hand], ["mcqa"])) == set()
    assert cited(methods([by_hand], ["acc_min"])) == {"nalbandyan2025score"}
    medqa = replace(run, results={"configs": {"cora_demo": {"benchmark": {"name": "medqa"}}}})
    assert "jin2020medqa" in cited(methods([medqa], ["mcqa"]))
    latex = methods([medqa], ["mcqa"], latex=True)
    assert re.findall(r"\\cite\{(.*)\}", latex) == [",".join(re.findall(r"^@\w+\{(\w+)", latex, re.MULTILINE))]


def test_every_keyword_of_the_papers_is_known():
    words = " ".join(re.findall(r"keywords = \{(.*)\}", PAPERS)).split()
    assert len(words) == len(set(words))
    without_paper = {"demo", "hub", "local"}
    assert set(benchmark_names()) - without_paper <= set(words)
    assert set(words) <= {*FUNCTIONS, *PROBES, *benchmark_names(), "lm_eval"}
    assert len(cited(PAPERS)) == PAPERS.count("keywords = ")


def test_every_kind_has_its_whole_prompt(demo):
    run = the_run(demo["cora_demo"].folder)
    text, latex = prompts([run]), prompts([run], latex=True)
    first = run.answers_to(run.table.question_ids[0])
    assert re.findall(r"^## cora_demo: (.*)$", text, re.MULTILINE) == list(run.table.kinds)
    for record in {record.kind: record for record in reversed(first)}.values():
        assert run.line(record)["arguments"]["gen_args_0"]["arg_0"] in text
    assert latex.count(r"\subsection*{") == len(run.table.kinds)
    with user_error("expected runs whose samples have prompts"):
        prompts([run_by_hand(GOOD)])


def test_a_prompt_cannot_leave_its_block():
    rows = [("task", "kind", "", attack := "```\n# Head\n\\end{document} %")]
    assert f"``````text\n{attack}\n``````" in _written("prompts.j2", latex=False, rows=rows)
    assert r"\end{document}" not in _written("prompts.j2", latex=True, rows=rows)
