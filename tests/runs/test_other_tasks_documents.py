import json
from dataclasses import replace
from math import nan

import numpy as np
import pytest

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.runs.comparable import not_comparable, setting_differences
from lm_eval_cora.runs.other_tasks import estimate_of
from tests.support.documents import (
    DOCUMENTS,
    change_results,
    documents_in,
    results_of,
    run_of,
    samples_of,
    told,
    values_of,
)
from tests.support.messages import tells
from tests.support.written import edit, lines_of, put


def test_the_means_are_those_of_the_results_file(models):
    runs = documents_in(models.one)
    printed = runs[0].results["results"]
    assert [run.task for run in runs] == ["tiny_choice", "tiny_written (strict)", "tiny_written (letter)"]
    for run in runs:
        assert (len(run.ids), run.model) == (DOCUMENTS, "org/one")
        for metric, estimate in run.estimates.items():
            assert estimate.value == pytest.approx(printed[run.name][f"{metric},{run.filter}"], abs=1e-12)
    choice, written, _ = runs
    assert list(choice.estimates) == ["acc", "acc_norm"]
    assert list(written.estimates) == ["exact_match", "length", "likeness", "short"]
    # Metrics that are not means are left out and named.
    assert choice.notes == ("left out metrics that are not a mean over documents: mcc (values of the type list)",)
    longest = max(values_of(models.one, "length"))
    assert f"longest (the results file has {longest}, the mean over documents is" in told(written)
    assert "words (values of the type list)" in told(written)
    # A document without a value does not count.
    assert "short: only 16 of 24 documents have a value" in written.notes
    outcomes = np.array(written.estimates["short"].outcomes)
    assert [*np.array(written.ids)[np.isnan(outcomes)]] == [*range(0, 24, 3)]


def test_runs_of_two_models_can_be_compared_except_another_task_or_filter(models):
    choice, written, letter = of_one = documents_in(models.one)
    for one, two in zip(of_one, documents_in(models.two), strict=True):
        assert not_comparable(one, two) == not_comparable(two, one) == ""
        assert setting_differences(one, two) == []
    second = "the second is tiny_written with the filter"
    assert not_comparable(written, letter) == f"the first is tiny_written with the filter 'strict', {second} 'letter'"
    assert not_comparable(choice, written) == f"the first is tiny_choice with the filter 'none', {second} 'strict'"


def test_other_documents_and_lost_lines_are_refused(models, copy):
    assert not_comparable(run_of(models.one), run_of(models.limited)) == (
        "14 of 24 documents are only in the first (10, 11, 12, …). --limit is None in the first, 10 in the second. "
        "Run both on the same documents"
    )
    path = samples_of(copy)
    put(path, [line for line in lines_of(path) if line["doc_id"] not in (3, 5)])
    run = run_of(copy)
    assert "the results file has 24 documents, the samples have 22, so the means are not checked" in told(run)
    lost = "2 of 24 documents are only in the second (3, 5). Run both on the same documents"
    assert not_comparable(run, run_of(models.one)) == lost


@pytest.mark.parametrize(("limit", "original"), [(None, DOCUMENTS), (DOCUMENTS, 100), (0.24, 98)])
def test_a_harness_that_counts_the_values_of_the_last_metric(copy, limit, original):
    """lm-eval 0.4.12 writes their number as that of the documents."""
    change_results(copy, "n-samples", "tiny_written", value={"original": original, "effective": DOCUMENTS - 8})
    change_results(copy, "config", "limit", value=limit)
    _, written, _ = documents_in(copy)
    assert "longest" not in written.estimates
    assert "the means are not checked" not in told(written)


def test_other_exemplars_are_refused(models):
    one, shots, others = (run_of(folder) for folder in (models.one, models.shots, models.other_shots))
    assert not_comparable(one, shots) == "their settings differ: num_fewshot is 0 in the first, 2 in the second"
    drawn = "fewshot_seed, which draws the exemplars, is 1234 in the first, 7 in the second"
    assert tells(not_comparable(shots, others), "prompts differ", drawn)
    same = replace(shots, results={**shots.results, "config": {"fewshot_seed": 7}})
    assert not_comparable(shots, same) == ""  # the same prompts in spite of another seed


def test_another_version_of_the_task_is_refused(models, copy):
    of_task = ("configs", "tiny_written")
    for keys, value, reason in (
        (("versions", "tiny_written"), 3, "version is 1 in the first, 3 in the second"),
        ((*of_task, "doc_to_text"), "{{row}}", "doc_to_text is '{{question}}' in the first, '{{row}}'"),
        ((*of_task, "process_results"), "def f(): ...", "process_results is"),
        ((*of_task, "repeats"), 1, "repeats is 2 in the first, 1 in the second"),
    ):
        change_results(copy, *keys, value=value)
        assert reason in not_comparable(run_of(models.one), run_of(copy))


def test_documents_are_compared_by_hash(models, copy):
    for name, reason in (
        ("prompt", "4 of 24 prompts differ (2, 4, 6, …), although the settings are the same"),
        ("target", "the targets of 4 of 24 documents differ (2, 4, 6, …)"),
        ("doc", "4 of 24 documents differ (2, 4, 6, …). Run both on the same version of the task and its data"),
    ):
        lines = lines_of(samples_of(copy))
        changed = [{**line, f"{name}_hash": "0" * 64} if line["doc_id"] in (2, 4, 6, 9) else line for line in lines]
        put(samples_of(copy), changed)
        assert not_comparable(run_of(models.one), run_of(copy)) == reason


def test_prompts_may_differ_with_a_chat_template_or_a_system_instruction(models, copy):
    one, whole = run_of(models.one), results_of(copy).read_text()
    results_of(copy).unlink()
    other = run_of(copy)
    assert "there is no results file beside the samples, so it is not known whether each metric" in told(other)
    assert "longest" in other.estimates
    assert not_comparable(one, other) == ""
    edit(samples_of(copy), lambda line: line.update(prompt_hash="0" * 64))
    assert "24 of 24 prompts differ (0, 1, 2, …). Only the results files" in not_comparable(one, run_of(copy))
    (copy / results_of(models.one).name).write_text(whole)
    for name, value in (("system_instruction", "Be brief."), ("chat_template_sha", "abc")):
        change_results(copy, name, value=value)
        other = run_of(copy)
        assert not_comparable(one, other) == ""
        assert f"{name} is None in the first, {value!r} in the second" in setting_differences(one, other)


def test_the_newest_run_with_answers_counts(copy):
    answered, empty = samples_of(copy), copy / "samples_tiny_written_2099-01-01T00-00-00.000000.jsonl"
    old = put(copy / "samples_tiny_written_2020-01-01T00-00-00.000000.jsonl", lines_of(answered)[:6])
    put(empty, ["{"])
    put(copy / "samples_another_2099-01-01T00-00-00.000000.jsonl", ["{", "[]"])
    change_results(copy, "model_name", value="org/one")
    (copy / "results_2020-01-01T00-00-00.000000.json").write_bytes(results_of(copy).read_bytes())
    run = run_of(copy)
    assert run.files == (answered,)
    assert f"left out {old}, older than {answered}" in run.notes
    assert f"left out {empty}: it has no answers (1 not JSON)" in run.notes
    first, *_ = documents_in(copy)  # notes of a task without answers stand with the first run
    assert "it has no answers (1 not JSON, 1 incomplete or altered)" in told(first)


def test_a_file_can_be_named_instead_of_a_folder(models):
    assert [run.task for run in documents_in(samples_of(models.one, "tiny_choice"))] == ["tiny_choice"]
    assert len(documents_in(results_of(models.one))) == len(documents_in(models.one.parent)) / 5 == 3


def test_infinite_sums_are_left_out_and_metrics_that_the_results_file_does_not_have_are_named(copy):
    edit(samples_of(copy), lambda line: line.update(length=1e308 if line["doc_id"] else 0.5, added=1))
    edit(samples_of(copy), lambda line: line["metrics"].append("added"))
    run = run_of(copy)
    assert "length (its values are too large)" in told(run)
    assert "length" not in run.estimates
    assert run.estimates["added"].value == 1
    assert "not checked, because the results file does not have them: added" in run.notes


@pytest.mark.parametrize("name", ["results", "configs", "versions", "n-shot", "n-samples", "config"])
@pytest.mark.parametrize("value", [[], {"tiny_written": 7}])
def test_a_damaged_results_file_is_not_a_traceback(copy, name, value):
    change_results(copy, name, value=value)
    assert run_of(copy).estimates["exact_match"].value == pytest.approx(np.mean(values_of(copy, "exact_match")))


@pytest.mark.parametrize(
    ("values", "is_share"), [([0, 1, 1], True), ([0.5, 1, 0], False), ([30, 2, 17.5], False), ([-3, -1, -2.5], False)]
)
def test_estimate_of_is_the_mean_with_its_error(values, is_share):
    estimate = estimate_of(np.array(values, dtype=float))
    assert estimate.value == pytest.approx(np.mean(values))
    assert estimate.stderr == pytest.approx(np.std(values, ddof=1) / np.sqrt(len(values)), rel=1e-6)
    assert (estimate.outcomes is not None) == is_share
    low, high = estimate.interval
    assert low < estimate.value < high
    # The error of equal values without limits is unknown.
    assert repr(estimate_of(np.array([7.0, 7.0, 7.0]))) == repr(Estimate(7.0, nan))
    assert estimate_of(np.array([0.5, 0.5, 0.5])).stderr > 0  # others could differ, within 0 and 1


# ---- lines
def test_the_address_of_an_image_is_not_part_of_a_document(tmp_path):
    """The harness writes an image as its `repr`, so its hash of the document is another one in each run."""

    def run(name, address, question):
        doc = {"image": f"<PIL.Image.Image image mode=RGB size=9x9 at {address}>", "question": question}
        line = {"doc_id": 0, "doc": doc, "doc_hash": name, "resps": ["at 0x0"], "acc": 1.0, "metrics": ["acc"]}
        put(tmp_path / name / "samples_pictures.jsonl", [line])
        return run_of(tmp_path / name, "pictures", "")

    one, same, other = run("one", "0x7F12", "Why?"), run("same", "0x7E34", "Why?"), run("other", "0x7F12", "How?")
    assert not_comparable(one, same) == ""
    assert "1 of 1 documents differ" in not_comparable(one, other)


def test_addresses_in_responses_repeated_lines_and_lines_of_our_tasks(models, other, copy):
    assert documents_in(other.folder) == []
    lines = [{**line, "resps": [["<object at 0x7f00>"]]} for line in lines_of(samples_of(copy))]
    again = {**lines[0], "exact_match": not lines[0]["exact_match"]}
    put(samples_of(copy), [*lines, again, lines_of(other.samples)[0]])
    run = run_of(copy)
    assert {*run.notes} >= {*("left out 1 line: 1 from an lm-eval-cora task", "left out 1 repeated line of a document")}
    assert run.estimates == run_of(models.one).estimates
    assert not_comparable(run_of(models.one), run) == ""


def test_a_hostile_line_is_left_out_with_a_note(models, copy):
    whole, lines = run_of(models.one).estimates, lines_of(samples_of(copy))
    of_documents = ('{"doc_id": "0", "doc": {}}', '{"doc_id": true, "doc": {}}', '{"doc_id": 99}')
    for line in ("{", "[]", "{}", b"\xff\xfe", "[" * 100_000, *of_documents):
        put(samples_of(copy), [line, *lines])
        run = run_of(copy)
        assert "left out 1 line: 1 " in told(run), line[:30]
        assert run.estimates == whole, line[:30]


def test_a_metric_with_a_value_that_is_not_a_number_is_left_out(models, copy):
    first, *others = lines_of(samples_of(copy))
    whole = run_of(models.one).estimates
    for value, reason in (
        *((value, "nan or infinite for some documents") for value in ("NaN", "1e999")),
        *(('"0.5"', "values of the type str"), ('{"a": 1}', "values of the type dict")),
    ):
        put(samples_of(copy), [json.dumps({**first, "likeness": "HERE"}).replace('"HERE"', value), *others])
        assert f"likeness ({reason})" in told(run_of(copy))
        found = run_of(copy).estimates
        assert found == {metric: estimate for metric, estimate in whole.items() if metric != "likeness"}


def test_lines_of_an_older_harness_do_not_list_their_metrics(tmp_path):
    same = {"target": "x", "resps": [], "bypass": 999}
    lines = [{"doc_id": key, "doc": {"text": str(key)}, "acc": key % 2, **same} for key in range(4)]
    changed = [*lines[:3], {**lines[3], "doc": {"text": "another"}}]
    paths = [put(tmp_path / str(n) / "samples_old.jsonl", own) for n, own in enumerate((lines, changed))]
    one, two = (run_of(path, "old", "") for path in paths)
    assert {metric: estimate.value for metric, estimate in one.estimates.items()} == {"acc": 0.5}
    assert "1 of 4 documents differ (3)" in not_comparable(one, two)
