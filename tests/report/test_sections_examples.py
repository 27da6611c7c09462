"""Example questions from easy to hard, prompts by kind, and anchors."""

import json
import re
from dataclasses import replace

import pytest

from lm_eval_cora.renderers.page import render
from lm_eval_cora.report.content import Examples, HeatMap
from lm_eval_cora.report.probe_views import anchor, bands_of, example_of
from lm_eval_cora.report.sections import asked, from_easy_to_hard, make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.samples import prompt_in
from tests.support.shown import HOSTILE_NAMES
from tests.support.written import DEMO, run_by_hand, runs_by_hand, the_run, write


def test_bands_have_every_question_once_and_fall():
    run = run_by_hand({"original": "0110" * 25, "a": "0101" * 25, "b": "1100" * 25})
    bands = bands_of(run)
    assert len(bands) == 24
    assert sorted(number for band in bands for number in band.tolist()) == list(range(100))
    hits = [count for band in bands for count in run.table.hits[band].tolist()]
    assert hits == sorted(hits, reverse=True)
    assert {len(band) for band in bands} == {4, 5}
    equal = run_by_hand({"original": "1" * 72, "a": "1" * 72})
    assert [example_of(band) for band in bands_of(equal)] == list(range(1, 72, 3))  # the middle question of each


def test_questions_from_easy_to_hard():
    run = run_by_hand({"original": "0011", "a": "0101"})
    found = from_easy_to_hard(run, 10)
    assert [example.question_id for example in found.examples] == ["q003", "q001", "q002", "q000"]
    assert [example.summary[:6] for example in found.examples] == ["2 of 2", "1 of 2", "1 of 2", "0 of 2"]
    assert [example.anchor for example in found.examples] == [anchor(run, number) for number in (3, 1, 2, 0)]


@pytest.mark.parametrize(("count", "shown"), [(100, 24), (24, 24), (23, 12), (10, 8), (0, 1)])
def test_fewer_examples_are_spread_over_the_bands(count, shown):
    run = run_by_hand({"original": "1" * 60 + "0" * 60, "a": "1" * 60 + "0" * 60})
    ids = [example.question_id for example in from_easy_to_hard(run, count).examples]
    assert len(ids) == shown
    assert ids == sorted(set(ids))


def test_without_questions():
    run = run_by_hand({"original": "1", "a": "1"})
    empty = replace(run, table=run.table.where(run.table.correct & ~run.table.correct))
    assert bands_of(empty) == []
    assert from_easy_to_hard(empty, 5) is None
    assert asked([empty]) is None


def test_anchors_are_names_that_differ():
    names = (*HOSTILE_NAMES.values(), "lone \ud800 surrogate")
    runs = runs_by_hand({name: {"original": "11", "a": "10"} for name in names})
    tasks = (*runs, *(replace(run, name="other") for run in runs))
    anchors = [anchor(run, number) for run in tasks for number in range(2)]
    assert len(set(anchors)) == len(anchors) == 4 * len(runs)
    assert all(re.fullmatch("q-[0-9a-f]{12}", name) for name in anchors)


def links(report):
    """The links of the heat maps, and the anchors of the examples."""
    blocks = [block for section in report.sections for block in (*section.blocks, *section.more)]
    linked = [band.link for block in blocks if isinstance(block, HeatMap) for band in block.bands]
    anchors = [example.anchor for block in blocks if isinstance(block, Examples) for example in block.examples]
    return linked, [*filter(None, anchors)]


def test_every_link_has_its_question(demo):
    linked, anchors = links(make_report(read_runs([demo[task].folder for task in DEMO[:3]])))
    assert len(linked) == 12 * 3
    assert len(set(anchors)) == len(anchors)
    assert set(linked) == set(anchors)


@pytest.mark.parametrize("models", [1, 6])
def test_the_number_of_examples_is_bounded(models):
    """120 in all; a band whose question is not shown has no link."""
    answers = {"original": "1" * 20 + "0" * 10, "a": "1" * 15 + "0" * 15}
    report = make_report(runs_by_hand({f"model-{number}": answers for number in range(models)}))
    linked, anchors = links(report)
    assert len(linked) == 24 * models
    assert set(filter(None, linked)) == set(anchors)
    blocks = [block for block in report.sections[0].more if isinstance(block, Examples)]
    assert models <= sum(len(block.examples) for block in blocks) <= 120


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_revas", "cora_demo_order_mc"])
def test_every_kind_has_a_prompt_of_the_first_question(task, demo):
    run = the_run(demo[task].folder)
    table = asked([run])
    assert [row[0] for row in table.rows] == list(run.table.kinds)
    first = run.answers_to(run.table.question_ids[0])
    stem = str(run.line(first[0])["doc"]["question"])
    present = {record.kind for record in first}
    for kind, meaning, prompt in table.rows:
        assert bool(prompt) is (kind in present)
        assert not prompt or stem in str(prompt)
        assert meaning == run.probe.kinds.get(str(kind), "")


def test_the_prompt_of_chat_turns_is_their_text():
    turns = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Ice?\nA. Fog"}])
    of_turns = ([turns], "Be brief.\n\nIce?\nA. Fog")
    for argument, text in (of_turns, ("Ice?", "Ice?"), (["[1"], "['[1']"), (["[1]"], "['[1]']")):
        assert prompt_in({"arguments": {"gen_args_0": {"arg_0": argument, "arg_1": {}}}}) == text


def test_files_of_answers_have_neither_prompts_nor_meanings_of_kinds():
    assert asked([run_by_hand({"original": "11", "a": "10"})]) is None


def test_an_example_marks_what_decided_or_says_why_nothing_counts(tmp_path):
    said = {"original": "<think>A?</think>The answer is **A**.", "shuffled": "Option A or option B."}
    run = the_run(write(tmp_path, lambda doc: said.get(doc["kind"], "A"), "cora_demo", {"questions": 1}).folder)
    (example,) = from_easy_to_hard(run, 1).examples
    original, shuffled = (next(answer for answer in example.answers if answer.kind == kind) for kind in said)
    assert (original.rule, original.parts) == ("a label", ("<think>A?</think>The answer is **", "A", "**."))
    assert (shuffled.parts, shuffled.places[0]) == ((), 'A, "A" (a letter): several options')
    page = render(make_report([run]))
    assert "The answer is **<mark>A</mark>**." in page
    assert "(a letter): several options</bdi></li>" in page
