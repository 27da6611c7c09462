"""MCQA+ and the REVAS study in simple_evaluate, with models whose scores can be computed by hand."""

from collections import Counter
from unittest.mock import ANY

import pytest
from lm_eval.tasks import TaskManager

from tests.support.building import build, own_task
from tests.support.messages import user_error
from tests.support.simulated import Simulated, knows, run, scored, scores
from tests.support.study import believes_two, four_options, study_of

SELECTIONS = ("multi_share", "recall_")
"""How the names of metrics begin that need several selected options."""


# ---- a model that believes two options right and prefers one
def test_a_model_that_believes_two_options_and_prefers_one(tmp_path):
    task = "cora_local_revas"
    results = run(believes_two, task, four_options(tmp_path, [0, 1, 2, 3] * 2))
    values, study = scores(results, task), study_of(results, task)
    by_name = {name: entry["value"] for name, entry in study.items() if "value" in entry}
    # Right in every order of half of the questions, wrong in every order of the other half, always the same pick.
    assert values["mcqa"] == values["acc_h@original"] == by_name["acc@10"] == by_name["acc_h@10"] == 0.5
    assert values["sc@original"] == by_name["sc@6"] == by_name["sc@8"] == by_name["sc@10"] == 1.0
    assert study["sc_buckets"]["4/4"] == {
        # sqrt(8 * 0.25 / 7 / 8): half of eight questions.
        "share": {"value": 1.0, "stderr": ANY, "low": ANY, "high": 1.0},
        "accuracy": {"value": 0.5, "stderr": pytest.approx((0.25 / 7) ** 0.5), "low": ANY, "high": ANY},
    }
    assert study["sc_buckets"]["3/4"] == {
        "share": {"value": 0.0, "stderr": ANY, "low": 0.0, "high": ANY},
        "accuracy": dict.fromkeys(("value", "stderr", "low", "high")),
    }
    # With the right option gone it takes the other one: never NOTA.
    assert values["nota_acc"] == values["nota_acc_h"] == values["nota_acc_always_right"] == 0.0
    assert values["nota_acc_diff"] == by_name["nota_acc_h_diff"] == -0.5
    assert by_name["nota_acc_diff_always_right"] == by_name["nota_acc_h_diff_always_right"] == -1.0
    assert study["questions"] == {"all": 8, "always_right": 4, "wrong": 4, "misled": 4, "no_misleading_option": 0}
    # Always right: yes to the right option, no to two of the three wrong ones.
    assert values["tf_right"] == 1.0
    assert values["tf_wrong"] == pytest.approx(2 / 3)
    # Misled: both are selected, and without the misleading one the right one is left.
    assert {values[name] for name in values if name.startswith(SELECTIONS) and "stderr" not in name} == {1.0}
    assert values["replaced_acc"] == 1.0
    assert values["invalid"] == 0.0


# ---- the cheap version of MCQA+
def test_one_variant_of_each_question():
    def rule(doc):
        return knows(doc) if doc["ask"] == "letter" else "?"

    task = "cora_demo_plus"
    everything = run(rule, task, {"seed": 3})
    results = run(rule, task, {"seed": 3, "variants": 1})
    values = scores(results, task)
    assert {name for name in values if "stderr" not in name} == {"acc", "mcqa_plus_sampled", "invalid", "followed"}
    docs = [sample["doc"] for sample in results["samples"][task]]
    assert len(docs) == len({doc["question_id"] for doc in docs}) == 120
    # Each is identical to one of the question's fifteen variants.
    asked = {(sample["doc"]["question_id"], sample["arguments"][0][0]) for sample in everything["samples"][task]}
    assert {(s["doc"]["question_id"], s["arguments"][0][0]) for s in results["samples"][task]} < asked
    assert len({doc["kind"] for doc in docs}) == 10  # 120 draws contain all kinds of five options
    valid = sum(doc["ask"] == "letter" for doc in docs) / 120
    assert values["mcqa_plus_sampled"] == values["acc"] == pytest.approx(valid)
    assert values["invalid"] == pytest.approx(1 - valid)
    # An estimate of the full number, 10 of 15 variants ask for a letter.
    full = scores(everything, task)["mcqa_plus"]
    assert full == pytest.approx(10 / 15)
    assert values["mcqa_plus_sampled"] == pytest.approx(full, abs=4 * values["mcqa_plus_sampled_stderr"])
    signature = results["configs"][task]["metadata"]["signature"]
    assert "|seed:3|variants:1|n:120x1|" in signature


# ---- requests
def test_each_form_asks_what_it_can():
    written, scored = build("cora_demo_revas").eval_docs, build("cora_demo_revas_mc").eval_docs
    assert len(written) == 120 * 48
    assert len(scored) == 120 * 47
    assert {doc["ask"] for doc in scored} == {"letter", "yes_no"}
    assert [doc["printed"] for doc in written if doc["ask"] != "select_all"] == [doc["printed"] for doc in scored]


def test_all_letters_have_room(tmp_path):
    def room(**arguments):
        samples = run(knows, task, four_options(tmp_path, [0]), **arguments)["samples"][task]
        return {sample["doc"]["ask"]: sample["arguments"][0][1]["max_gen_toks"] for sample in samples}

    task = "cora_local_revas"
    # Eight tokens, four for each of the letters, such as "**(A)**, **(B)**", and 4 // 3 for their texts of one byte are
    # 25; in steps of 32, so that requests can be put together.
    assert room() == {"letter": 32, "yes_no": 32, "select_all": 32}
    assert room(gen_kwargs="max_gen_toks=4096") == dict.fromkeys(("letter", "yes_no", "select_all"), 4096)


@pytest.mark.parametrize(
    ("include", "entry", "options"),
    [
        ("demo_plus", "{metric: mcqa_plus, aggregation: !function lm_eval_cora.metrics.mcqa_plus}", {"variants": 1}),
        ("demo_revas", "{metric: acc, aggregation: !function lm_eval_cora.metrics.acc, table: false}", {}),
        ("demo", "{metric: ties, aggregation: !function lm_eval_cora.metrics.ties, form: loglikelihood}", {}),
    ],
)
def test_a_table_without_metrics_is_refused_before_anything_runs(include, entry, options, tmp_path):
    own_task(tmp_path, f"metric_list: [{entry}]", of=f"demo/cora_{include}")
    manager = TaskManager(include_path=tmp_path, include_defaults=False, metadata={"cora": options})
    with user_error("mine:", "metric_list"):
        manager.load(["mine"])


def test_several_filters_are_warned_about(tmp_path, caplog):
    filters = ", ".join(f"{{name: {name}, filter: [{{function: take_first}}]}}" for name in ("one", "two"))
    own_task(tmp_path, f"filter_list: [{filters}]", of="demo/cora_demo_revas")
    results = run(knows, "mine", {"questions": 2}, tmp_path)
    assert scores(results, "mine", "two")["acc"] == 1.0
    assert "mine: with several filters" in caplog.text
    assert "study" not in results["configs"]["mine"]["metadata"]


def test_yes_and_no_are_what_is_scored():
    samples = run(knows, "cora_demo_plus_mc", {"questions": 1})["samples"]["cora_demo_plus_mc"]
    claims = [sample["arguments"] for sample in samples if sample["doc"]["ask"] == "yes_no"]
    assert len(claims) == 5
    for (context, yes), (same, no) in claims:
        assert context == same
        assert context.endswith("\nIs this the right answer to the question, yes or no?\nAnswer:")
        assert (yes, no) == (" yes", " no")


class Unsure(Simulated):
    """Returns no likelihood for one of the answers."""

    def loglikelihood(self, requests, disable_tqdm=False):
        scored = super().loglikelihood(requests)
        broken = {"0": float("nan"), "1": None, "2": float("-inf"), "3": 7.0}
        for number, request in enumerate(requests):
            if request.doc["ask"] == "yes_no" and request.doc["printed"] == (0,):
                scored[number] = (broken.get(request.doc["question_id"], -1e9), False)
        return scored


def test_a_missing_probability_costs_its_question_only(tmp_path):
    task = "cora_local_revas_mc"
    values = scored(Unsure(knows), task, four_options(tmp_path, [0] * 6))
    # Of the right option: nan, none, 0, 1 (no likelihood is above 1), 0, 0; the wrong ones have 1/8 each.
    assert values["confidence_right"] == pytest.approx(1 / 4)
    assert values["confidence_wrong"] == pytest.approx(1 / 8)
    # Both answers impossible: no ratio of the two, so one question less; 1 / (1 + 1) and 1/2 (both e^-1e9) twice.
    assert values["confidence_right_norm"] == pytest.approx(1 / 2)
    assert values["invalid"] == pytest.approx(2 / (6 * 44))


def test_what_a_line_of_the_samples_file_says(tmp_path):
    results = run(believes_two, "cora_local_revas", four_options(tmp_path, [0]))
    said = {}
    for sample in results["samples"]["cora_local_revas"]:
        said.setdefault(sample["doc"]["kind"], str(sample["sc@original"]))
    assert said["original"] == "0"
    assert said["true_or_false_right"] == "yes"
    assert said["select_all"] == "0 1"


# ---- exemplars
@pytest.mark.parametrize("task", ["cora_demo_revas", "cora_demo_plus", "cora_demo_plus_mc", "cora_demo_revas_mc"])
def test_exemplars_ask_what_their_question_asks(task):
    samples = run(knows, task, {"questions": 6}, num_fewshot=4)["samples"][task]
    stems = {}
    said = Counter[str]()
    for sample in samples:
        doc, prompt = sample["doc"], sample["arguments"][0][0]
        shots = prompt.split("Question: ")[1:-1]
        assert len(shots) == 4
        answers = [shot.partition("\nAnswer: ")[2].partition("\n")[0] for shot in shots]
        claims = doc["ask"] == "yes_no"
        assert all(("\nProposed answer: " if claims else "\nChoices:\n") in shot for shot in shots)
        assert set(answers) <= ({"yes", "no"} if claims else set("ABCDE"))
        said.update(answers)
        stems.setdefault(doc["question_id"], set()).add(tuple(shot.partition("\n")[0] for shot in shots))
    # All variants of a question have the same exemplars, whatever they ask.
    assert all(len(seen) == 1 for seen in stems.values())
    assert said["yes"] == said["no"] > 0  # half of the exemplars are about the right option
