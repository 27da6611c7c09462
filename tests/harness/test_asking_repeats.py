"""The option `repeats`: every repeat is sent, none is counted, and no cache merges them."""

import random
from types import SimpleNamespace

import pytest
from lm_eval.api.model import CachingLM

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.answer_cache import AnswerCache, key_for, key_of, repeat_number
from lm_eval_cora.harness.asking import AskingLM, stop_early
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.comparable import not_comparable
from tests.support.messages import tells
from tests.support.names import OF_REPEATS
from tests.support.simulated import Simulated, knows, run, scored, scores, signature_of
from tests.support.written import digits, lines_of, the_run, write

REPEATS = {"questions": 6, "repeats": 2}


class Fickle(Simulated):
    """Picks B in three of ten answers."""

    def __init__(self):
        dice = random.Random(3)
        super().__init__(lambda doc: "B" if dice.random() < 0.3 else knows(doc))


@pytest.mark.parametrize("task", ["cora_demo", "cora_demo_mc", "cora_demo_order", "cora_demo_prompts"])
def test_every_repeat_is_sent_in_a_call_of_its_own_and_counts_for_noise_alone(task):
    model = Fickle()
    found = run(AskingLM(model), task, REPEATS)
    first, *again_calls = model.calls
    again = [request for call in again_calls for request in call]
    assert len(again_calls) == 2
    letters = 5 if task.endswith("_mc") else 1
    assert {request.doc["kind"] for request in again} == {"repeat"}
    assert "repeat" not in {request.doc["kind"] for request in first}
    assert len(again) == 6 * 2 * letters
    prompts = {request.args[0] for request in first if request.doc["original"]}
    assert {request.args[0] for request in again} == prompts
    if letters == 1:  # plain runs send every repeat, too
        assert scored(alone := Fickle(), task, REPEATS)["noise"] > 0
        assert sum(map(len, alone.calls)) == len(first) + len(again)
    plain = scored(AskingLM(Fickle()), task, {"questions": 6})
    noisy = scores(found, task)
    assert {name.partition("_stderr")[0] for name in noisy.keys() - plain.keys()} == OF_REPEATS
    assert {name: noisy[name] for name in plain} == plain
    assert 0 < noisy["noise"] <= 1
    assert "|repeats:2|" in signature_of(found, task)
    assert f"|n:6x{first[0].doc['variants']}|" in signature_of(found, task)


class Merging(Simulated):
    """Scores equal contexts of a call once, as the harness' local models do, and prefers a random letter each time."""

    def __init__(self):
        super().__init__(knows)
        self.dice = random.Random(1)

    def loglikelihood(self, requests, disable_tqdm=False):
        preferred = {context: self.dice.choice("ABC") for context in dict.fromkeys(one.args[0] for one in requests)}
        return [self._score(preferred[one.args[0]], one.args[1].strip()) for one in requests]


def test_a_back_end_that_merges_equal_contexts_of_a_call():
    task = "cora_demo_order_mc"
    found = scored(AskingLM(Merging()), task, {"questions": 60, "repeats": 4})
    assert found["noise"] == pytest.approx(2 / 3, abs=0.06)


def test_a_doc_of_another_task_that_looks_like_a_repeat():
    request = SimpleNamespace(args=("x", {"do_sample": False}), doc={"kind": "repeat"}, task_name="other")
    assert repeat_number(request) == 0
    assert key_for("generate_until", request) == key_of("generate_until", request.args)


def test_reports_and_comparisons(tmp_path):
    with_repeats = write(tmp_path / "a", AskingLM(Fickle()), "cora_demo", REPEATS)
    without = write(tmp_path / "b", AskingLM(Fickle()), "cora_demo", {"questions": 6})
    one, other = the_run(with_repeats.folder), the_run(without.folder)
    assert one.differences == []
    assert one.estimates["noise"].value == with_repeats.printed["noise,none"]
    assert one.estimates["cora"] == other.estimates["cora"]
    assert not_comparable(one, other) == ""
    more = the_run(write(tmp_path / "c", AskingLM(Fickle()), "cora_demo", REPEATS | {"repeats": 3}).folder)
    assert tells(not_comparable(one, more), "18 answers", "24", "option 'repeats'")
    section, *_ = make_report([one]).sections
    assert any("noise explains about" in note for _, note in section.notes)
    lines = {(line["doc"]["question_id"], line["doc"]["ordinal"]): line for line in lines_of(with_repeats.samples)}
    for line in lines_of(without.samples):
        assert lines.pop((line["doc"]["question_id"], line["doc"]["ordinal"]))["doc_hash"] == line["doc_hash"]
    assert {line["acc"] for line in lines.values()} == {"repeat"}
    with_repeats.results.unlink()  # the probe is then found by the kinds of variants
    assert digits(the_run(with_repeats.folder)) == digits(one)


def test_an_interrupted_run_keeps_repeats_apart(tmp_path):
    model, idle, found = Fickle(), Fickle(), []
    for asked in (model, idle):
        cache = AnswerCache(Simulated(knows), str(tmp_path / "answers.db"))
        cache.lm = asked
        found.append(scored(AskingLM(cache), "cora_demo", REPEATS))
        cache.close()
    assert idle.calls == []
    assert found[0] == found[1]
    assert found[0]["noise"] > 0


@pytest.mark.parametrize(
    ("make", "task", "told"),
    [
        (lambda _: stop_early(Fickle()), "cora_demo", "--stop skips answers"),
        (lambda _: stop_early(Fickle(), None, budget=999), "cora_demo", "--budget skips answers"),
        (lambda path: AskingLM(CachingLM(Fickle(), path)), "cora_demo", "the harness' cache answers equal"),
        (lambda _: Fickle(), "cora_demo_mc", "may score equal prompts once. Use lm-eval-cora run"),
    ],
)
def test_what_would_merge_or_skip_repeats_is_refused(make, task, told, tmp_path):
    with pytest.raises(UserError, match=r"option 'repeats': ") as refused:
        run(make(str(tmp_path / "cache.db")), task, REPEATS)
    assert told in str(refused.value)
    with pytest.raises(UserError, match="the harness' cache answers equal prompts once"):
        run(knows, "cora_demo", REPEATS, use_cache=str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("task", "options", "told"),
    [
        ("cora_demo_sampling", {}, "the probe 'sampling' has no original"),
        ("cora_demo_plus", {"variants": 1}, "the option 'variants' is set, too"),
        ("cora_demo", {"repeats": -1}, "expected a whole number from 0"),
    ],
)
def test_options_that_do_not_fit(task, options, told):
    with pytest.raises(UserError, match=told):
        run(knows, task, REPEATS | options)
