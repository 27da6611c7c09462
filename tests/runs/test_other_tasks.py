import json
from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.runs.comparable import not_comparable, setting_differences
from lm_eval_cora.runs.files import find_files
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.other_tasks import estimate_of, read_other_task
from tests.support import simulated
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
from tests.support.messages import tells, user_error
from tests.support.written import edit, lines_of, put, save

DATE = "2026-01-01T00-00-00.000000"
OPTIONS = ("Ice", "Fog", "Dew", "Steam")
TASK = r"""
task: tiny_exam
dataset_path: json
dataset_kwargs: {data_files: {test: %s, train: %s}, cache_dir: %s}
test_split: test
fewshot_split: train
num_fewshot: 2
output_type: generate_until
doc_to_text: "{{question}}\nA) {{a}}\nB) {{b}}\nC) {{c}}\nD) {{d}}\nAnswer:"
doc_to_target: "{{right}}"
generation_kwargs: {until: []}
metric_list: [{metric: exact_match}]
filter_list:
  - {name: bare, filter: [{function: regex, regex_pattern: "^([A-D])$"}, {function: take_first}]}
  - {name: any, filter: [{function: regex, regex_pattern: "([A-D])"}, {function: take_first}]}
"""
SAID = ["{right}", "The answer is {right}.", "So it is **{right}**", "The answer is {wrong}.", "Not A. It is {right}."]


def say(doc):
    right, row = doc["right"], doc["row"]
    return SAID[row % 5].format(right=right, wrong="ABCD"["BCDA".index(right)])


def line(number=0, said="The answer is B.", **changed):
    prompt = "Which one?\n" + "\n".join(f"{label}. {text}" for label, text in zip("ABCD", OPTIONS, strict=True))
    asked = {"arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}}, "target": "B", "filter": "none"}
    said = {"resps": [[said]], "filtered_resps": [said], "metrics": ["exact_match"], "exact_match": 0.0}
    return {"doc_id": number, "doc": {"q": number}, **asked, **said, **changed}


def prompted(text, **changed):
    return line(arguments={"gen_args_0": {"arg_0": text, "arg_1": {}}}, **changed)


def of_lines(folder, *lines):
    (found,) = read_runs([put(folder / f"samples_exam_{DATE}.jsonl", lines)])
    return found


def test_a_run_of_the_harness_with_exemplars_and_two_filters(tmp_path):
    rows = [
        {"row": row, "question": f"Number {row}?", **dict(zip("abcd", OPTIONS, strict=True)), "right": "ABCD"[row % 4]}
        for row in range(40)
    ]
    file = put(tmp_path / "rows.jsonl", rows)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "exam.yaml").write_text(TASK % (file, file, tmp_path / "cache"))
    results = simulated.run(say, "tiny_exam", include_path=tmp_path / "tasks", bootstrap_iters=0)
    printed = dict(results["results"]["tiny_exam"])
    save(tmp_path / "out", results, "org/model")
    (found,) = read_runs([tmp_path / "out"])
    assert (found.model, found.task, found.size) == ("org/model", "tiny_exam", "40 questions")
    values = {name: estimate.value for name, estimate in found.estimates.items()}
    # Of five answers four are right. The first filter reads one of them. The second one takes "A" from "Answer",
    # "The answer" has none, and "Not A" is read as A, which is right for a quarter.
    assert values["acc"] == 4 / 5
    assert values["own_score"] == max(printed["exact_match,bare"], printed["exact_match,any"])
    assert values["acc"] == pytest.approx(values["own_score"] + values["unrecognised"] - values["only_own"])
    assert printed["exact_match,bare"] == 1 / 5
    assert any(tells(note, "exact_match of the filter 'bare' says 0.2") for note in found.notes)
    assert any(tells(note, "filter 'any' says", "the answers say 0.8", "not recognised", "'") for note in found.notes)


def scored(number, likelihoods, acc, target="1", texts=("Ice", "Fog"), more=()):
    pairs = [("Which?\nAnswer:", f" {text}") for text in texts] + [("Answer:", f" {text}") for text in more]
    asked = {f"gen_args_{place}": {"arg_0": one, "arg_1": two} for place, (one, two) in enumerate(pairs)}
    values = [[str(value), "False"] for value in [*likelihoods, *(-9.0 for _ in more)]]
    said = {"resps": [[value] for value in values], "filtered_resps": values, "metrics": ["acc"], "acc": acc}
    return line(number, arguments=asked, target=target, exact_match=None) | said


def test_scored_options_have_the_score_of_the_harness(tmp_path):
    found = of_lines(
        tmp_path,
        scored(0, [-1.0, -2.0], 0.0),
        scored(1, [-2.0, -1.0], 1.0),
        scored(2, [-1.0, -1.0], 0.0),  # the first one of equal likelihoods
        scored(3, [-2.0, -1.0], 1.0, "[1]", more=("Ice", "Fog")),  # the harness also scores texts without the question
        scored(4, [-1.0, "nan"], 1.0, "0", ("2", "0")),  # an index, although a text is equal to it
    )
    assert [record.correct for record in found.source.records] == [False, True, False, True, True]
    values = {name: estimate.value for name, estimate in found.estimates.items()}
    assert values == {"acc": 0.6, "own_score": 0.6, "unrecognised": 0, "only_own": 0, "invalid": 0}
    assert found.notes == ("acc says 0.6, the answers say 0.6",)


TURNS = [json.dumps([{"role": "user", "content": "Which?\n(1) Ice\n(2) Fog"}])]


@pytest.mark.parametrize(
    ("sample", "options", "right"),
    [
        (line(), OPTIONS, True),
        (line(target="(B)"), OPTIONS, True),
        (line(target=["C"]), OPTIONS, False),
        (line(arguments=[[r"Which?\nA. Ice\nB. Fog", {}]]), ("Ice", "Fog"), True),  # an older harness; "\n" written out
        (prompted(TURNS, target="2", said="It must be (2)."), ("Ice", "Fog"), True),
        (prompted("<|im_start|>user\nWhich?\nA. Ice\nB. Fog<|im_end|>\n<|im_start|>assistant\n"), ("Ice", "Fog"), True),
        (prompted("Which?\nA. Ice\nB. Fog\n<think>", said="B? No.</think>A"), ("Ice", "Fog"), False),
        (line(resps=[[None]], filtered_resps=[None]), OPTIONS, False),
    ],
)
def test_options_and_answers(sample, options, right, tmp_path):
    found = of_lines(tmp_path, sample)
    (record,) = found.answers_to("0")
    assert found.line(record)["doc"]["choices"] == options
    assert (record.correct, found.estimates["own_score"].value) == (right, 0)


def test_repeats_passages_and_repeated_lines(tmp_path):
    lines = [line(n, resps=[["B", "The answer is B.", "A"]], doc={"passage": f"p{n // 2}"}) for n in range(4)]
    found = of_lines(tmp_path, *lines, lines[0])
    assert (found.size, found.table.sizes.tolist()) == ("4 questions in 2 passages", [3] * 4)
    assert found.estimates["acc"].value == pytest.approx(2 / 3)


HOSTILE = [
    *({"target": None}, {"arguments": None}, {"resps": []}, {"resps": "B"}, {"doc": None}, {"target": {"a": 1}}),
    *({"arguments": {"gen_args_0": []}}, {"arguments": "text"}, {"exact_match": "1", "metrics": 7}, {"filter": []}),
]


def test_the_example_of_an_answer_shows_what_decided_and_missing_documents_are_counted(tmp_path):
    put(
        tmp_path / f"results_{DATE}.json",
        [{"results": {"exam": {}}, "n-samples": {"exam": {"original": 3, "effective": 3}}}],
    )
    said = f"{'Hm. ' * 40}The answer is B. {'So much for that. ' * 40}"
    notes = of_lines(tmp_path, line(said=said), line(1, "B", exact_match=1.0)).notes
    assert tells(notes[0], "1 documents of the run are missing")
    assert tells(notes[-1], "scored 0: '…", "Hm. The answer is B. So much", "…'")


def test_lines_that_cannot_be_read_are_counted(tmp_path):
    lines = [*map(line, range(50)), *(line(100 + n) | changed for n, changed in enumerate(HOSTILE)), "[", "7"]
    found = of_lines(tmp_path, *lines)
    kept = len(found.table.sizes)
    assert kept >= 50
    left_out = 60 - 1 - kept  # the line with a wrong filter is not a document
    assert any(tells(note, f"left out {left_out} a prompt or target that cannot be read") for note in found.notes)
    assert not any(isnan(estimate.value) for estimate in found.estimates.values())


def test_tasks_without_options_are_refused(tmp_path):
    lines = [line(n, target="#### 18") for n in range(3)]
    path = put(tmp_path / f"samples_gsm8k_{DATE}.jsonl", lines)
    with user_error("gsm8k", "Not read: gsm8k: 3 of 3 docs", "'#### 18'"):
        read_runs([tmp_path])
    (file,) = find_files(put(path, [*lines[:1], *map(line, range(1, 9))]))
    (log,) = read_other_task(file)
    assert (len(log.rows), log.notes) == (8, ["left out 1 a prompt or target that cannot be read"])


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
