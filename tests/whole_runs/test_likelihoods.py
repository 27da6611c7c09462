"""The loglikelihood form: the model scores all letters of a variant after one prompt."""

import json
import random
from collections import defaultdict
from math import nan

from lm_eval_cora.questions.question import LETTERS
from tests.support.names import METRICS
from tests.support.simulated import Simulated, knows, prefers, run, scored, scores

TASK = "cora_demo_mc"


def test_it_measures_what_the_generate_form_measures():
    # The same picks in both forms give the same numbers, errors included.
    def picks(doc):
        return random.Random(f"{doc['question_id']} {doc['ordinal']}").choice(LETTERS[: len(doc["printed"])])

    few = {"questions": 30}
    for rule in (picks, prefers):
        likely, written = scored(rule, TASK, few), scored(rule, "cora_demo", few)
        same = {name for name in written if not name.startswith("followed")}
        assert {name: likely[name] for name in same} == {name: written[name] for name in same}


def test_the_letters_of_a_variant_share_one_context():
    results = run(knows, TASK, {"questions": 2})
    for sample in results["samples"][TASK]:
        contexts, continuations = zip(*sample["arguments"], strict=True)
        assert len(set(contexts)) == 1
        assert contexts[0].endswith("\nAnswer:")
        assert list(continuations) == [f" {letter}" for letter in LETTERS[: len(sample["doc"]["printed"])]]
        assert "on the first line" not in contexts[0]  # the model writes nothing


def test_with_a_chat_template_the_letter_is_the_first_of_the_reply():
    results = run(knows, TASK, {"questions": 1}, apply_chat_template=True)
    for context, continuation in results["samples"][TASK][0]["arguments"]:
        assert context.endswith("\nAnswer:</user><assistant>")
        assert continuation in LETTERS


def test_ties_take_the_first_letter_and_are_counted():
    # For this model all letters are equally likely.
    results = run(lambda _: "", TASK, {"questions": 20})
    values = scores(results, TASK)
    assert (values["ties"], values["invalid"]) == (1.0, 0.0)
    always_a = scored(lambda _: "A", TASK, {"questions": 20})
    assert {name: values[name] for name in METRICS} == {name: always_a[name] for name in METRICS}
    assert always_a["ties"] == 0.0
    assert str(results["samples"][TASK][0]["ties"]) == "tied"


class Broken(Simulated):
    """Returns values that back ends return after an error."""

    def loglikelihood(self, requests, disable_tqdm=False):
        odd = [(nan, False), (float("-inf"), False), (None, False), (-1, False), [-0.5, True], None, (), "-1"]
        odd += [(-2.0, False), (-1.0, False)] * 20
        return [odd[number % len(odd)] for number in range(len(requests))]


def test_what_is_no_likelihood_costs_nothing(caplog):
    results = run(Broken(knows), TASK, {"questions": 3})
    values = scores(results, TASK)
    assert 0 < values["invalid"] < 1
    assert "The most frequent reason: no likelihood" in caplog.text
    # No option would help.
    assert "try another dtype" in caplog.text
    assert "--apply_chat_template" not in caplog.text
    assert str(results["samples"][TASK][0]["invalid"]) == "no likelihood"


def test_equal_distractors_are_one_option(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"question": "Which?", "choices": ["Ice", "Fog", "Fog", "Dew"], "answer": 0}) + "\n")
    picked = defaultdict(set)
    results = run(lambda doc: LETTERS[len(doc["printed"]) - 1], "cora_local_mc", {"data_files": str(path)})
    for sample in results["samples"]["cora_local_mc"]:
        picked[sample["doc"]["printed"][-1]].add(str(sample["consistency_rate"]))
    assert all(picks == {str(identity)} for identity, picks in picked.items())
    assert 2 not in picked
