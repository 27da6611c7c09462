"""Early stopping in a second run, with a user's own filters, and on several ranks; the progress of a run."""

import json
from contextlib import nullcontext
from unittest.mock import patch

import pytest
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter
from lm_eval.evaluator import evaluate

from lm_eval_cora.answers.records import SKIPPED
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.progress import Progress, counting
from lm_eval_cora.runs.grouping import read_runs
from tests.support.building import build, manager, own_task
from tests.support.simulated import TASKS, Simulated, knows, run, scored, scores, signature_of
from tests.support.stopping import known

QUESTIONS = {"questions": 6}


def half(doc):
    """Right in every second question, except in one variant of each."""
    good = sum(map(ord, doc["question_id"])) % 2 or doc["original"]
    return knows(doc) if good and doc["ordinal"] != 7 else "Z"


def test_answers_of_one_run_are_not_used_in_the_next():
    # The model may change between two runs: a later checkpoint, or another adapter.
    model = Simulated(knows)
    wrapped = stop_early(model)
    assert scored(wrapped, options=QUESTIONS)["mcqa"] == 1.0
    asked = len(model.prompts)
    model.rule = lambda _: "Z"
    assert scored(wrapped, options=QUESTIONS)["mcqa"] == 0.0
    assert len(model.prompts) == asked + 6


def test_a_failed_run_does_not_affect_the_next():
    model = Simulated(knows)
    wrapped = stop_early(model, budget=200)
    with patch.object(model, "generate_until", side_effect=RuntimeError), pytest.raises(RuntimeError):
        run(wrapped, "cora_demo", options=QUESTIONS)
    assert scored(wrapped, "cora_demo_mc", options=QUESTIONS)["mcqa"] == 1.0


def test_the_same_task_serves_several_models():
    tasks = manager(**QUESTIONS).load(["cora_demo"])
    tasks["tasks"]["cora_demo"].set_config("num_fewshot", 0)
    models = [stop_early(Simulated(half)), stop_early(Simulated(half)), Simulated(half)]
    found = [evaluate(lm=model, task_dict=tasks, log_samples=False) for model in models]
    first, second, full = found
    assert second["results"] == first["results"]
    assert full["results"]["cora_demo"] == run(Simulated(half), options=QUESTIONS)["results"]["cora_demo"]
    assert "stop" not in signature_of(full)
    assert {"acc,none", "consistency_rate,none"} <= full["results"]["cora_demo"].keys()


@register_filter("numbers-alone")
class NumbersAlone(Filter):
    """A user's own filter, which expects a pair of numbers as each response."""

    def apply(self, resps, docs):
        return [[(float(pairs[0][0]), bool(pairs[0][1]))] for pairs in resps]


def test_a_users_filter_never_sees_skipped_requests(tmp_path):
    both = "filter: [{function: numbers-alone}, {function: take_first}]"
    own_task(tmp_path, f"filter_list: [{{name: none, {both}}}]", "own", "demo/cora_demo_mc")
    folders = [TASKS, tmp_path]
    found = scored(stop_early(Simulated(half)), "own", QUESTIONS, folders)
    full = scored(Simulated(half), "own", QUESTIONS, folders)
    assert 0 < found["mcqa"] == full["mcqa"]
    assert found["bmca@1.0"] == full["bmca@1.0"]
    assert found["cora_stderr"] == full["cora_stderr"] > 0


def test_the_report_reads_the_first_response_if_the_harness_padded_a_rank(tmp_path):
    results = run(stop_early(Simulated(half)), options=QUESTIONS, log_samples=True)
    lines = results["samples"]["cora_demo"]
    padded = max(number for number, line in enumerate(lines) if line["resps"] == [[SKIPPED]])
    lines[padded]["resps"] = [[SKIPPED, SKIPPED]]
    path = tmp_path / "samples_cora_demo_2026-01-01T00-00-00.000000.jsonl"
    named = ({"gen_args_0": dict(zip(("arg_0", "arg_1"), line["arguments"][0], strict=True))} for line in lines)
    written = [{**line, "arguments": pairs} for line, pairs in zip(lines, named, strict=True)]
    path.write_text("".join(json.dumps(line, default=str) + "\n" for line in written), encoding="utf-8")
    (one,) = read_runs([path])
    assert one.table.answers == sum(line["resps"] != [[SKIPPED]] for line in lines) - 1
    assert not one.table.invalid[one.table.skipped].any()
    assert {name: one.estimates[name].value for name in known("cora_demo")}.items() <= scores(results).items()


@pytest.mark.parametrize(
    ("schedule", "ranks", "told"),
    [
        # All ranks would measure the batch size together in each call, but they make different numbers of calls.
        (1, 2, "--stop exact: .*--batch_size auto.*to a number"),
        # The batch size would be measured four times in a list of three requests: a division by zero.
        (4.0, 1, "--stop exact: --batch_size auto:4 .*to a number"),
        (1, 1, ""),
    ],
)
def test_batch_sizes_that_need_one_long_list_are_refused(schedule, ranks, told):
    model = Simulated(knows)
    vars(model).update(batch_size="auto", batch_schedule=schedule, _world_size=ranks)
    with pytest.raises(UserError, match=told) if told else nullcontext():
        build("cora_demo", **QUESTIONS).prepare(stop_early(model))
    assert model.prompts == []


def test_missing_responses_of_a_model_are_an_error():
    model = Simulated(knows)
    model.generate_until = lambda requests: ["A"] * (len(requests) - 1)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="expected 6 responses, got 5"):
        run(stop_early(model), options=QUESTIONS)


def test_a_budget_alone_needs_no_scores():
    model = Simulated(half)
    results = run(stop_early(model, None, budget=60), options=QUESTIONS, predict_only=True)
    assert "|budget:60|v" in signature_of(results)  # no number of questions
    assert len(model.prompts) == 52
    assert sum(line["resps"] == [[SKIPPED]] for line in results["samples"]["cora_demo"]) == 4 * 26
    with pytest.raises(UserError, match=r"--stop exact.*--predict_only"):
        run(stop_early(model, budget=60), options=QUESTIONS, predict_only=True)


# ---- progress, with a clock of the test
def test_the_time_is_told_once_when_enough_of_it_has_passed(caplog):
    caplog.set_level("INFO", "lm_eval.cora")
    Progress(1, bar=False, clock=iter((0.0, 100.0)).__next__).count()
    assert caplog.messages == []  # the run has ended
    progress = Progress(1000, bar=False, clock=iter(map(float, range(31))).__next__)
    for _ in range(30):
        progress.count()
    # 20 answers in 20 seconds: the other 980 take 980 s, 16 min.
    assert caplog.messages == ["1 requests a second, about 16 min for the other 980"]
    assert (progress.answered, progress.left) == (30, 970)
    caplog.clear()
    progress = Progress(24, bar=False, clock=iter([0.0, *[40.0] * 8, *[60.0] * 8]).__next__)
    for _ in range(16):
        progress.count()
    # The first batch of 8 takes 40 seconds, so the other 16 take 80.
    assert caplog.messages == ["0.2 requests a second, about 1 min for the other 16"]


class Hooked(Simulated):
    """Passes each answer to a cache, as the harness' back ends do."""

    def generate_until(self, requests, disable_tqdm=False):
        self.hidden = disable_tqdm
        answers = super().generate_until(requests)
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial("generate_until", request.args, answer)
        return answers


def test_a_back_end_tells_of_each_answer_and_its_own_hook_is_put_back():
    model = Hooked(knows)
    hook, progress = model.cache_hook, Progress(5, bar=False)
    with counting(model, progress):
        model.cache_hook.add_partial("generate_until", ("A", {}), "B")
    assert progress.left == 4
    assert model.cache_hook is hook


def test_one_bar_covers_all_waves(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(Progress, "after_a_wave", lambda _, *counts: shown.append(counts))
    model = Hooked(lambda doc: "Z" if doc["kind"] == "original" and doc["question_id"] < "demo-0060" else knows(doc))
    run(stop_early(model, "exact"), options={"questions": 6})
    assert model.hidden, "the back end showed a bar of its own beside ours"
    answered, left, wrong, questions = shown[0]
    assert (answered, left, questions) == (6, (6 - wrong) * 25, 6)
    assert shown[-1] == (6 * 26 - wrong * 25, 0, 6, 6)
