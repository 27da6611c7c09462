"""The labels and the choices-only probe in simple_evaluate, with models whose scores can be computed by hand."""

import pytest

import lm_eval_cora as cora
from tests.support.simulated import knows, run, scored, scores
from tests.support.study import four_options
from tests.support.written import put


def only_letters(doc):
    """Right with letters, else always the first label."""
    return doc["labels"][0] if "labels" in doc else knows(doc)


def needs_the_question(doc):
    return knows(doc) if doc["question"] else "A"


@pytest.mark.parametrize("form", ["", "_mc"])
def test_a_model_that_knows_only_letters(form, tmp_path):
    task = f"cora_local_labels{form}"
    values = scored(only_letters, task, four_options(tmp_path, [0, 1, 2, 3]), num_fewshot=1)
    # Right in all five styles if the answer is the first option; otherwise only in the original: (5 + 3) / 20. The list
    # without labels, which is only written, is right, too.
    assert values["acc"] == pytest.approx(0.4 if form else 0.5)
    assert (values["mcqa"], values["acc_min"], values["acc_max"]) == (1.0, 0.25, 1.0)
    assert values["all_equal"] == values["ci"] == values["cora"] == 0.25
    # All pairs agree, or those of the four other styles: 6 of 10, (1 + 3 * 0.6) / 4; with the list 7 of 15.
    assert values["consistency_rate"] == pytest.approx(0.7 if form else 0.6)
    assert values["invalid"] == 0


@pytest.mark.parametrize("form", ["", "_mc"])
def test_a_model_that_needs_the_question(form, tmp_path):
    task, texts = f"cora_local_choices_only{form}", ["w", "xx", "y", "zz"]
    rows = [{"question": f"Which {right}?", "choices": texts, "answer": right} for right in range(4)]
    options = {"data_files": str(put(tmp_path / "rows.jsonl", rows))}
    results = run(needs_the_question, task, options, num_fewshot=1)
    # The two longest options are right in one question each, and share its point.
    expected = {"acc": 1, "acc_choices_only": 0.25, "chance": 0.25, "above_chance": 0, "acc_longest": 0.25}
    values = scores(results, task)
    assert {name: values[name] for name in expected} == expected
    (again,) = cora.read_runs(results)
    assert {name: again[name].value for name in expected} == expected
    for sample in results["samples"][task]:
        assert ("Which" in sample["arguments"][0][0]) == sample["doc"]["original"], (
            "an exemplar hides its question, too"
        )
