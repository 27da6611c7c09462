"""Numbers recomputed from the samples are those of the harness, whatever else stands in the files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from math import inf, isnan, log, nan
from pathlib import Path
from typing import Any

import pytest

from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.report.runs import Run, read_runs
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import as_csv, as_json, as_markdown

from ..names import PROBES, printed, probe_of
from .written import DEMO, Line, Written, copied, edit, lines_of, put, strict, the_run, varied, write

M = 26


def everything(*paths: Path) -> str:
    """All that is said about runs, in all forms; none of it may raise."""
    runs = read_runs(paths)
    strict(as_json(runs))
    return as_csv(runs) + as_markdown(make_report(runs))


def as_harness(number: float, undefined: str) -> float | str:
    return undefined if isnan(number) else number


def check_numbers(run: Run, written: Written, task: str) -> None:
    """Equal to the last digit, and none is missing."""
    told = {key.removesuffix(",none"): value for key, value in written.printed.items() if key.endswith(",none")}
    names = [name for name in told if not name.endswith("_stderr")]
    assert set(names) == set(printed(task))
    for name in names:
        value, error = run.estimates[name]
        assert as_harness(value, "nan") == told[name], name
        assert as_harness(error, "N/A") == told[f"{name}_stderr"], name
    assert for_json({**run.estimates, **run.studies}).items() >= dict(written.study).items()
    assert run.differences == []


@pytest.mark.parametrize("task", DEMO)
def test_the_numbers_are_those_of_the_harness(task: str, demo: dict[str, Written]) -> None:
    run = the_run(demo[task].folder)
    assert (run.task, run.probe) == (task, probe_of(task))
    assert run.form == ("loglikelihood" if task.endswith("_mc") else "generate")
    check_numbers(run, demo[task], task)
    assert not run.notes
    assert f"task:{task}@1|" in run.signature


MADE_UP = [
    *("cora_truthfulqa", "cora_arc_challenge_order", "cora_arc_challenge_revas_mc", "cora_mmlu_pro_prompts"),
    *("cora_agieval_order_mc", "cora_agieval_prompts", "cora_mmlu_pro_sampling"),
]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("task", MADE_UP)
def test_the_numbers_of_questions_of_many_sizes_and_categories(task: str, tmp_path: Path) -> None:
    written = write(tmp_path, varied, task, {}, num_fewshot=0)
    run = the_run(tmp_path)
    check_numbers(run, written, task)
    written.results.unlink()
    alone = the_run(tmp_path)
    assert (alone.probe, alone.form) == (run.probe, run.form)
    assert alone.estimates == pytest.approx(run.estimates, nan_ok=True) or dict(alone.estimates) == run.estimates


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("task", ["cora_math_prompts", "cora_math_sampling"])
def test_the_numbers_of_answers_of_the_models_own(task: str, tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    written = write(tmp_path, varied, task, {"questions": 8})
    check_numbers(the_run(tmp_path), written, task)
    written.results.unlink()
    assert (the_run(tmp_path).probe, the_run(tmp_path).entries) == (probe_of(task), the_run(tmp_path).entries)
    check_numbers(the_run(tmp_path), written, task)
    everything(tmp_path)


@pytest.mark.parametrize("task", DEMO)
def test_samples_without_a_results_file(task: str, demo: dict[str, Written], tmp_path: Path) -> None:
    path = put(tmp_path / "samples.jsonl", lines_of(demo[task].samples))
    run = the_run(path)
    assert (run.probe, run.form) == (probe_of(task), "loglikelihood" if task.endswith("_mc") else "generate")
    check_numbers(run, demo[task], task)
    assert run.signature == ""
    assert "no results file" in everything(path)


@pytest.mark.parametrize("form", ["", "_mc"])
@pytest.mark.parametrize("questions", [1, 4])
def test_one_variant_of_each_question(form: str, questions: int, tmp_path: Path) -> None:
    task = f"cora_demo_plus{form}"
    written = write(tmp_path, varied, task, {"questions": questions, "variants": 1})
    run = the_run(tmp_path)
    assert "mcqa_plus_sampled" in run.estimates
    assert run.differences == []
    written.results.unlink()
    alone = the_run(tmp_path)
    assert alone.probe == "plus"
    assert list(alone.estimates) == list(run.estimates)
    everything(tmp_path)


@pytest.mark.parametrize("seed", range(3))
def test_a_single_question_without_a_results_file_is_of_the_probe_that_asked_it(
    seed: int, demo: dict[str, Written], tmp_path: Path
) -> None:
    for task in DEMO:
        lines = lines_of(demo[task].samples)
        question = sorted({line["doc"]["question_id"] for line in lines})[seed]
        path = put(tmp_path / task / "one.jsonl", [line for line in lines if line["doc"]["question_id"] == question])
        assert the_run(path).probe == probe_of(task)
        everything(path)


@pytest.mark.parametrize("metric", ["cora", "acc_min", "invalid"])
@pytest.mark.parametrize("ending", ["", "_stderr"])
@pytest.mark.parametrize("value", [0.123, "nan", "N/A", "?", [1], {}, 7])
def test_an_edited_results_file_is_named(
    metric: str, ending: str, value: Any, demo: dict[str, Written], tmp_path: Path
) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    results = json.loads(written.results.read_text())
    results["results"]["cora_demo"][f"{metric}{ending},none"] = value
    written.results.write_text(json.dumps(results))
    (told,) = the_run(tmp_path).differences
    assert told.startswith(f"{metric}: ")
    assert str(value) in told
    assert "says something else" in as_markdown(make_report(read_runs([tmp_path])))


# ---- lines that are none


def hellaswag(number: int) -> Line:
    return {
        "doc_id": number,
        "doc": {"ind": number, "query": "A man", "choices": ["sits", "runs"], "gold": 0},
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": "A man", "arg_1": " sits"}},
        "resps": [[["-1.5", "False"]]],
        "filtered_resps": [["-1.5", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "acc": 1.0,
    }


NO_JSON = [
    b"\xff\xfe\x00garbage",
    b"{",
    b"nothing",
    b"[" * 200_000,
    b'{"a":' * 200_000,
    b"1" * 5_000,
    b'{"doc": {"question_id": "\xff"}}',
]
OF_ANOTHER_TASK = [hellaswag(1), [], [1, 2], "text", 7, None, {}, {"doc": None}, {"doc": []}, {"doc": "question_id"}]


def as_line(value: Any) -> Any:
    return value if isinstance(value, bytes) else json.dumps(value)


def test_lines_that_are_none_are_counted_and_change_nothing(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    lines: list[Any] = lines_of(written.samples)
    for place, broken in enumerate([*NO_JSON, *map(as_line, OF_ANOTHER_TASK), b"", b"   ", b"\r"]):
        lines.insert(place * 7, broken)
    put(written.samples, [*lines, b"\x00", json.dumps(lines[-1])[:-30]])
    run = the_run(tmp_path)
    check_numbers(run, written, "cora_demo")
    (note,) = run.notes
    total = len(NO_JSON) + 2 + len(OF_ANOTHER_TASK)
    assert f"left out {total} lines" in note
    assert f"{len(NO_JSON) + 2} no JSON" in note
    assert f"{len(OF_ANOTHER_TASK)} of another task" in note
    assert note in everything(tmp_path)


def test_a_file_cut_in_the_middle(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    text = written.samples.read_bytes()
    written.samples.write_bytes(text[: len(text) // 2])
    run = the_run(tmp_path)
    whole = text[: len(text) // 2].count(b"\n")
    assert len(run.table.sizes) == whole // M
    assert any("1 no JSON" in note for note in run.notes)
    assert any(note.startswith("left out 1 questions") for note in run.notes)
    assert run.differences  # the results file is about all questions
    everything(tmp_path)


def of_doc(name: str, value: Any) -> Callable[[Line], None]:
    return lambda line: line["doc"].__setitem__(name, value)


def without(name: str) -> Callable[[Line], None]:
    return lambda line: line["doc"].pop(name)


def of_line(name: str, value: Any) -> Callable[[Line], None]:
    return lambda line: line.__setitem__(name, value)


ALTERED: dict[str, Callable[[Line], Any]] = {
    "identity too large": of_doc("printed", [999]),
    "identity below zero": of_doc("printed", [-1, 0]),
    "printed is text": of_doc("printed", "01234"),
    "printed is a number": of_doc("printed", 5),
    "printed is nested": of_doc("printed", [[0], [1]]),
    "printed is an object": of_doc("printed", {"0": 1}),
    "printed in floats": of_doc("printed", [0.0, 1.0]),
    "answer missing": without("answer"),
    "answer is text": of_doc("answer", "A"),
    "answer is NaN": of_doc("answer", nan),
    "answer is null": of_doc("answer", None),
    "answer is yes": of_doc("answer", True),
    "ordinal is text": of_doc("ordinal", "x"),
    "ordinal is Infinity": of_doc("ordinal", inf),
    "variants is text": of_doc("variants", "26"),
    "variants is null": of_doc("variants", None),
    "ask unknown": of_doc("ask", "sing"),
    "ask is a list": of_doc("ask", ["letter"]),
    "ask missing": without("ask"),
    "kind missing": without("kind"),
    "category missing": without("category"),
    "original missing": without("original"),
    "original is text": of_doc("original", "yes"),
    "arguments missing": lambda line: line.pop("arguments"),
    "arguments empty": of_line("arguments", {}),
    "arguments a list": of_line("arguments", []),
    "arguments nested": of_line("arguments", {"gen_args_0": {"arg_0": 1}}),
    "arguments deep": of_line("arguments", {"gen_args_0": [[], []]}),
    "arguments short": of_line("arguments", {"gen_args_0": []}),
    "arguments null": of_line("arguments", {"gen_args_0": None}),
    "responses missing": lambda line: line.pop("filtered_resps"),
    "responses a number": of_line("filtered_resps", 5),
    "responses an object": of_line("filtered_resps", {"0": "A"}),
    "metrics a number": of_line("metrics", 5),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_line_costs_its_question_only(name: str, demo: dict[str, Written], tmp_path: Path) -> None:
    """One of the altered lines is the first of the file, one is amid others."""
    lines = lines_of(demo["cora_demo"].samples)
    for place in (0, 5 * M + 3):
        ALTERED[name](lines[place])
    path = put(tmp_path / "samples.jsonl", lines)
    run = the_run(path)
    spoilt = [lines_of(demo["cora_demo"].samples)[place]["doc"]["question_id"] for place in (0, 5 * M + 3)]
    whole = the_run(demo["cora_demo"].folder).table.question_ids
    assert set(run.table.question_ids) == set(whole) - set(spoilt)
    assert "left out 2 lines: 2 incomplete or altered" in run.notes
    assert "left out 2 questions: variants are missing" in run.notes
    everything(path)


@pytest.mark.parametrize("name", ALTERED)
def test_a_file_of_altered_lines_only(name: str, demo: dict[str, Written], tmp_path: Path) -> None:
    lines = lines_of(demo["cora_demo"].samples)[:M]
    for line in lines:
        ALTERED[name](line)
    path = put(tmp_path / "samples.jsonl", [*lines, *lines_of(demo["cora_demo_mc"].samples)[:0]])
    with pytest.raises(Exception, match=r"samples\.jsonl") as caught:
        everything(path)
    assert type(caught.value).__name__ == "ReportError"


BORNE: dict[str, Callable[[Line], Any]] = {
    "response a list": of_line("filtered_resps", [["A"]]),
    "response of 1 MB": of_line("filtered_resps", ["x" * 1_000_000]),
    "response a number": of_line("filtered_resps", [1.5]),
    "response NaN": of_line("filtered_resps", [nan]),
    "response null": of_line("filtered_resps", [None]),
    "response nested": of_line("filtered_resps", [{"a": [[[]]]}]),
    "responses empty": of_line("filtered_resps", []),
    "responses text": of_line("filtered_resps", "A"),
    "response half an emoji": of_line("filtered_resps", ["\ud83d"]),
    "response control characters": of_line("filtered_resps", ["\x00\x1b[31m\u2028|\n| a | b |"]),
    "choices a number": of_doc("choices", 5),
    "choices an object": of_doc("choices", {"a": 1}),
    "choices null": of_doc("choices", None),
    "choices too few": of_doc("choices", ["a"]),
    "choices missing": without("choices"),
    "question a number": of_doc("question", 5),
    "question missing": without("question"),
    "question half an emoji": of_doc("question", "\ud83d"),
    "printed none": of_doc("printed", []),
    "printed forty": lambda line: line["doc"].update(printed=list(range(40)), choices=list(map(str, range(40)))),
    "filter a list": of_line("doc_hash", [1]),
    "hash null": of_line("doc_hash", None),
    "category nested": of_doc("category", {"a": [1, "|\n"]}),
    "category half an emoji": of_doc("category", "\ud83d"),
    "kind a number": of_doc("kind", 7),
}


@pytest.mark.parametrize("name", BORNE)
def test_what_is_strange_costs_at_most_its_question(name: str, demo: dict[str, Written], tmp_path: Path) -> None:
    """Whether such a line is read or left out, all other questions are there and everything can be written."""
    lines = lines_of(demo["cora_demo"].samples)
    for line in lines[:M:3]:  # of one question, which agrees with itself the least
        BORNE[name](line)
    path = put(tmp_path / "samples.jsonl", lines)
    spoilt = lines[0]["doc"]["question_id"]
    kept = set(the_run(path).table.question_ids) | {spoilt}
    assert kept == set(the_run(demo["cora_demo"].folder).table.question_ids)
    everything(path).encode("utf-8")


# ---- scored answers, as the harness writes them: texts


@pytest.mark.parametrize(
    ("scores", "picked", "reason"),
    [
        (["-1.5", "-2.5", "-0.5", "-9", "-3"], 2, None),
        ([-1.5, -2.5, -0.5, -9, -3], 2, None),
        (["-inf", "-1e300", "-inf", "-inf", "-inf"], 1, None),
        (["nan", "-1", "-2", "-3", "-4"], None, "likelihood"),
        (["inf", "-1", "-2", "-3", "-4"], None, "likelihood"),
        (["-1", "-2", "what", "-3", "-4"], None, "likelihood"),
        (["-1", "-2", None, "-3", "-4"], None, "likelihood"),
        (["-1", "-2", [], "-3", "-4"], None, "likelihood"),
        (["-1", "-2"], None, "likelihood"),
        ([], None, "likelihood"),
        ([10**400, "-1", "-2", "-3", "-4"], None, "likelihood"),
    ],
)
def test_log_likelihoods(
    scores: list[Any], picked: int | None, reason: str | None, demo: dict[str, Written], tmp_path: Path
) -> None:
    lines = lines_of(demo["cora_demo_mc"].samples)
    assert lines[0]["doc"]["kind"] == "original"
    lines[0]["filtered_resps"] = [[score, "False"] for score in scores]
    path = put(tmp_path / "samples.jsonl", lines)
    run = the_run(path)
    assert len(run.table.sizes) == len(the_run(demo["cora_demo_mc"].folder).table.sizes)
    record = run.records[0]
    assert record.picked == picked
    assert (record.reason is None) == (reason is None)
    assert reason is None or reason in str(record.reason)
    everything(path)


def test_the_likelihoods_of_yes_and_no(demo: dict[str, Written]) -> None:
    run = the_run(demo["cora_demo_plus_mc"].folder)
    asked = [record for record in run.records if record.ask == "yes_no"]
    assert asked
    for record in asked:
        assert {record.yes, record.no} <= {log(1 / 2), log(1 / 4), log(1 / 8)}


# ---- questions that are not whole


@pytest.mark.parametrize("task", DEMO)
def test_questions_with_a_missing_variant_are_left_out_and_counted(
    task: str, demo: dict[str, Written], tmp_path: Path
) -> None:
    lines = lines_of(demo[task].samples)
    ids = list(dict.fromkeys(line["doc"]["question_id"] for line in lines))
    first, second = ids[0], ids[3]
    gone = {(first, 1), (second, 0), (second, 2)}
    kept = [line for line in lines if (line["doc"]["question_id"], line["doc"]["ordinal"]) not in gone]
    path = put(tmp_path / "samples.jsonl", kept)
    run = the_run(path)
    assert set(run.table.question_ids) == set(ids) - {first, second}
    assert "left out 2 questions: variants are missing" in run.notes
    assert "2 questions: variants are missing" in everything(path)


@pytest.mark.parametrize("task", DEMO)
def test_no_whole_question_is_left(task: str, demo: dict[str, Written], tmp_path: Path) -> None:
    lines = [line for line in lines_of(demo[task].samples) if line["doc"]["ordinal"]]
    path = put(tmp_path / "samples.jsonl", lines)
    run = the_run(path)
    assert len(run.table.sizes) == 0
    assert all(isnan(estimate.value) for estimate in run.estimates.values())
    everything(path)


def test_of_two_answers_to_a_variant_the_first_counts(demo: dict[str, Written], tmp_path: Path) -> None:
    lines = lines_of(demo["cora_demo"].samples)
    path = put(tmp_path / "samples.jsonl", [*lines, *({**line, "filtered_resps": ["E"]} for line in lines[:5])])
    run = the_run(path)
    check_numbers(run, demo["cora_demo"], "cora_demo")
    assert "left out 5 second answers to a variant" in run.notes


def test_lines_in_any_order(demo: dict[str, Written], tmp_path: Path) -> None:
    path = put(tmp_path / "samples.jsonl", lines_of(demo["cora_demo_revas"].samples)[::-1])
    check_numbers(the_run(path), demo["cora_demo_revas"], "cora_demo_revas")


def test_every_probe_is_among_the_tasks() -> None:
    assert Counter(map(probe_of, DEMO)).keys() == PROBES.keys()


def test_each_line_is_found_again(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    edit(written.samples, lambda line: line["doc"].update(question=f"é{line['doc']['question']}😀"))
    lines = lines_of(written.samples)
    put(written.samples, ["", *[json.dumps(line, ensure_ascii=False) + "\n\r" for line in lines]])
    run = the_run(tmp_path)
    for record, line in zip(run.records, lines, strict=True):
        assert run.line(record) == line
