"""Samples files: broken, altered and hostile lines, parts that several processes read, and results in memory."""

import gc
import json
from collections import Counter
from math import inf, isnan, log, nan

import numpy as np
import pytest

import lm_eval_cora as cora
from lm_eval_cora.runs import samples
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.samples import SamplesByFilter, SamplesReaders, read_part
from tests.support import simulated
from tests.support.messages import tells, user_error
from tests.support.shown import scores_as_csv
from tests.support.written import check_numbers, copied, edit, everything, lines_of, put, save, the_run

ORDERS = 5  # variants per question of the probe `order`, which most of these tests use because it has the fewest


# ---- lines that are not samples
def hellaswag(number):
    doc = {"ind": number, "query": "A man", "choices": ["sits", "runs"], "gold": 0}
    asked = {"arguments": {"gen_args_0": {"arg_0": "A man", "arg_1": " sits"}}, "target": "0", "filter": "none"}
    said = {"resps": [[["-1.5", "False"]]], "filtered_resps": [["-1.5", "False"]]}
    return {"doc_id": number, "doc": doc, **asked, **said, "metrics": ["acc"], "acc": 1.0}


NO_JSON = [
    *(b"\xff\xfe\x00garbage", b"{", b"nothing", b"[" * 200_000, b'{"a":' * 200_000, b"1" * 5_000),
    b'{"doc": {"question_id": "\xff"}}',
]
OF_ANOTHER_TASK = [hellaswag(1), [], [1, 2], "text", 7, None, {}, {"doc": None}, {"doc": []}, {"doc": "question_id"}]


def test_invalid_lines_are_counted_and_ignored(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    lines = lines_of(written.samples)
    for place, broken in enumerate([*NO_JSON, *map(json.dumps, OF_ANOTHER_TASK), b"", b"   ", b"\r"]):
        lines.insert(place * 7, broken)
    put(written.samples, [*lines, b"\x00", json.dumps(lines[-1])[:-30]])
    run = the_run(tmp_path)
    check_numbers(run, written, "cora_demo")
    (note,), no_json, others = run.notes, len(NO_JSON) + 2, len(OF_ANOTHER_TASK)
    assert tells(note, f"left out {no_json + others} lines", f"{others} from another task", f"{no_json} not JSON")
    assert note in everything(tmp_path)


GONE = object()


def alter(line, name, value):
    """Change a value of a line or of its doc, or take it away."""
    part = line if name in line else line["doc"]
    part.pop(name)
    if value is not GONE:
        part[name] = value


ALTERED = [
    *(("printed", value) for value in ([999], "01234", 5, [0.0, 1.0])),
    *(("answer", value) for value in (GONE, "A", nan)),
    *(("ordinal", "x"), ("ordinal", inf), ("variants", "26"), ("ask", "sing"), ("ask", GONE)),
    *(("original", GONE), ("original", "yes"), ("filtered_resps", GONE), ("filtered_resps", 5)),
    *(("arguments", value) for value in (GONE, {"gen_args_0": {"arg_0": 1}}, {"gen_args_0": []})),
]


@pytest.mark.parametrize(("name", "value"), ALTERED)
def test_an_altered_line_removes_only_its_question(name, value, demo, tmp_path):
    """Two lines are altered: the first of the file and one in the middle."""
    lines = lines_of(demo["cora_demo_order"].samples)
    ids = list(dict.fromkeys(line["doc"]["question_id"] for line in lines))
    for place in (0, 5 * ORDERS + 3):
        alter(lines[place], name, value)
    run = the_run(put(tmp_path / "samples.jsonl", lines))
    assert set(run.table.question_ids) == {*ids} - {ids[0], ids[5]}
    assert "left out 2 lines: 2 incomplete or altered" in run.notes
    assert "left out 2 questions: variants are missing" in run.notes


RESPONSES = [*([["A"]], ["x" * 100_000], [1.5], [None], [], ["\ud83d"], ["\x00\x1b[31m\u2028|\n| a | b |"])]
BORNE = [
    *({"filtered_resps": value} for value in RESPONSES),
    *({"choices": value} for value in (5, None, ["a"])),
    {"printed": list(range(40)), "choices": list(map(str, range(40)))},
    *({"question": 5}, {"arguments": {"gen_args_0": [[], []]}}, {"doc_hash": [1]}),
    *({"category": {"a": [1, "|\n"]}}, {"kind": 7}),
]


@pytest.mark.parametrize("changes", BORNE)
def test_a_strange_line_affects_only_its_question(changes, demo, tmp_path):
    """A strange line may be read or left out. All other questions are kept, and every output can be written."""
    lines = lines_of(demo["cora_demo_order"].samples)[: 4 * ORDERS]  # the report shows all of these questions
    ids = {line["doc"]["question_id"] for line in lines}
    for line in lines[:ORDERS:2]:
        for name, value in changes.items():
            alter(line, name, value)
    path = put(tmp_path / "samples.jsonl", lines)
    assert {*the_run(path).table.question_ids} >= ids - {lines[1]["doc"]["question_id"]}
    everything(path).encode("utf-8")


def test_lines_without_names_of_metrics(demo, tmp_path):
    """Names that cannot be read leave out no line, another type than a list all of them."""
    lines = lines_of(demo["cora_demo_order"].samples)
    path = put(tmp_path / "samples.jsonl", [{**line, "metrics": [["acc"], {}]} for line in lines])
    assert len(the_run(path).table.sizes) == len(lines) // ORDERS
    with user_error("there are no samples"):
        read_runs([put(path, [{**line, "metrics": 5} for line in lines])])


# ---- scored answers, which the harness writes as text
@pytest.mark.parametrize(
    ("scores", "picked", "reason"),
    [
        (["-1.5", "-2.5", "-0.5", "-9", "-3"], 2, None),
        (["-inf", "-1e300", "-inf", "-inf", "-inf"], 1, None),
        (["inf", "-1", "-2", "-3", "-4"], 0, None),
        *(([first, "-1", "-2", "-3", "-4"], None, "likelihood") for first in ("nan", "what", None, 10**400)),
        ([], None, "likelihood"),
    ],
)
def test_log_likelihoods(scores, picked, reason, demo, tmp_path):
    lines = lines_of(demo["cora_demo_mc"].samples)
    assert lines[0]["doc"]["kind"] == "original"
    lines[0]["filtered_resps"] = [[score, "False"] for score in scores]
    run = the_run(put(tmp_path / "samples.jsonl", lines))
    assert len(run.table.sizes) == len({line["doc"]["question_id"] for line in lines})
    record = run.source.records[0]
    assert record.picked == picked
    assert record.reason is None if reason is None else reason in str(record.reason)


def test_the_likelihoods_of_yes_and_no(demo):
    records = the_run(demo["cora_demo_plus_mc"].folder).source.records
    found = {value for one in records if one.ask == "yes_no" for value in (one.likelihood_yes, one.likelihood_no)}
    assert set() < found <= {log(1 / 2), log(1 / 4), log(1 / 8)}


# ---- incomplete questions
@pytest.mark.parametrize("task", ["cora_demo_mc", "cora_demo_revas", "cora_demo_sampling"])
def test_questions_with_a_missing_variant_are_left_out_and_counted(task, demo, tmp_path):
    lines = lines_of(demo[task].samples)
    ids = list(dict.fromkeys(line["doc"]["question_id"] for line in lines))
    gone = {(ids[0], 1), (ids[3], 0), (ids[3], 2)}
    kept = [line for line in lines if (line["doc"]["question_id"], line["doc"]["ordinal"]) not in gone]
    path = put(tmp_path / "samples.jsonl", kept)
    run = the_run(path)
    assert set(run.table.question_ids) == set(ids) - {ids[0], ids[3]}
    assert "left out 2 questions: variants are missing" in run.notes
    assert "2 questions: variants are missing" in everything(path)
    # No whole question is left.
    run = the_run(put(path, [line for line in lines if line["doc"]["ordinal"]]))
    assert len(run.table.sizes) == 0
    assert all(isnan(estimate.value) for estimate in run.estimates.values())
    everything(path)


def test_of_two_answers_to_a_variant_the_first_counts_in_any_order_of_variants(demo, tmp_path):
    first, *lines = lines_of(demo["cora_demo"].samples)[::-1]  # after a byte order mark
    again = [{**line, "filtered_resps": ["E"]} for line in lines[:5]]
    run = the_run(put(tmp_path / "samples.jsonl", [b"\xef\xbb\xbf" + json.dumps(first).encode(), *lines, *again]))
    check_numbers(run, demo["cora_demo"], "cora_demo")
    assert run.notes == ("left out 5 repeated answers to a variant",)


def test_each_line_is_found_again(demo, tmp_path):
    written = copied(demo["cora_demo"], tmp_path)
    edit(written.samples, lambda line: line["doc"].update(question=f"é{line['doc']['question']}😀"))
    lines = lines_of(written.samples)
    put(written.samples, ["", *[json.dumps(line, ensure_ascii=False) + "\n\r" for line in lines]])
    run = the_run(tmp_path)
    assert [run.line(record) for record in run.source.records] == lines


# ---- a file that is read in parts by several processes gives what one process reads
def test_every_partition_gives_the_same(demo):
    path = demo["cora_demo_order"].samples
    size = path.stat().st_size
    whole = read_part(path, 0, size, "flexible").samples["none"]
    first_line = len(path.read_bytes().partition(b"\n")[0]) + 1
    for step in (1_000, 7_919, first_line, size // 2, size):
        found = SamplesByFilter({}, Counter())
        for start in range(0, size, step):
            found.add(read_part(path, start, min(start + step, size), "flexible"))
        assert not found.broken
        (part,) = found.samples.values()
        assert list(part.records) == list(whole.records)
        assert (part.offsets, part.digests, part.metrics) == (whole.offsets, whole.digests, whole.metrics)
        assert [part.line(number) for number in range(len(part.records))] == lines_of(path)


def read_in_parts(monkeypatch):
    """Let several processes read also small files, in parts."""
    monkeypatch.setattr(samples, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(samples, "_AT_A_TIME", 50_000)


def test_several_processes(demo, monkeypatch):
    folders = [demo[task].folder for task in ("cora_demo", "cora_demo_order_mc")]
    before = scores_as_csv(read_runs(folders))
    read_in_parts(monkeypatch)
    for count in (1, 2):
        monkeypatch.setattr(samples, "processors", lambda count=count: count)
        assert scores_as_csv(read_runs(folders)) == before


def test_errors_of_a_process(demo, tmp_path, monkeypatch):
    read_in_parts(monkeypatch)
    path = demo["cora_demo"].samples
    with SamplesReaders(2) as readers:
        with user_error("cannot be read: Is a directory"):
            readers.read(tmp_path, "strict")
        with pytest.raises(IsADirectoryError):
            samples.ask(readers.workers[0], (tmp_path, 0, 1, "strict"))
        assert len(readers.read(path, "strict").samples["none"].records) > 0
        for process in (worker.process for worker in readers.workers if worker.process):
            process.kill()
            process.wait()
        readers.begin([(path, "strict")])
        with user_error(f"{path.name}: a process that read it was ended"):
            readers.read(path, "strict")
    with SamplesReaders(2) as readers:
        readers.read(path, "strict")
        processes = [worker.process for worker in readers.workers if worker.process]
    assert {process.poll() is None for process in processes} == {False}


@pytest.mark.parametrize("text", ["1" * 4_000, "[" * 950 + "]" * 950])
@pytest.mark.parametrize("name", ["variants", "ordinal", "question_id", "printed"])
def test_hostile_values(name, text, demo, tmp_path):
    written = copied(demo["cora_demo_order"], tmp_path)
    first, *lines = lines_of(written.samples)
    first["doc"][name] = "HERE"
    put(written.samples, [json.dumps(first).replace('"HERE"', text), *lines])
    run = the_run(written.folder)
    assert len(run.table.sizes) == len({line["doc"]["question_id"] for line in lines}) - 1 or name == "question_id"
    assert scores_as_csv([run])


def test_a_file_of_another_task_is_left_out_without_a_note_and_a_large_one_is_not_read_to_its_end(
    demo, tmp_path, monkeypatch
):
    written = copied(demo["cora_demo"], tmp_path)
    others = [hellaswag(number) for number in range(100)]
    path = put(written.samples.with_name("samples_arc_challenge_2026-01-01T00-00-00.000000.jsonl"), others)
    (run,) = read_runs([written.folder])
    assert (run.files, run.notes) == ((written.samples,), ())
    with user_error("no samples of lm-eval-cora tasks", "lm-eval-cora compare", "arc_challenge: 100 of 100 docs"):
        read_runs([path])
    monkeypatch.setattr(samples, "_BYTES_OF_THE_HEAD", 500)
    with SamplesReaders(1) as readers:
        found, broken = readers.read(path, "strict")
        assert not found
        assert 0 < broken["from another task"] < 20
        put(path, [*others[:1], *lines_of(written.samples)])
        assert len(readers.read(path, "strict").samples["none"].records) == len(lines_of(written.samples))


def test_files_are_read_ahead_in_the_order_of_the_plan(demo, monkeypatch):
    """A file that is not read does not delay the next one, and a file outside the plan is read, too."""
    read_in_parts(monkeypatch)
    first, second, third, other = (demo[f"cora_demo_{probe}"].samples for probe in ("order", "revas", "plus", "mc"))
    read_part_here = samples.read_part
    here = []
    monkeypatch.setattr(samples, "read_part", lambda *part: here.append(part[0]) or read_part_here(*part))
    with SamplesReaders(2) as readers:
        readers.begin((path, "strict") for path in (first, second, third))
        for path in (first, other, third, second):
            found = readers.read(path, "strict").samples["none"]
            assert len(found.records) == len(lines_of(path))
    assert set(here) == {other, second}


# ---- what `simple_evaluate` returns is read as its files are
SOME = {"questions": 2}


@pytest.mark.parametrize(("task", "is_scored"), [("cora_demo", True), ("cora_demo_mc", True), ("cora_demo", False)])
def test_results_are_read_as_their_files(task, is_scored, tmp_path):
    results = simulated.run(simulated.prefers, task, SOME, predict_only=not is_scored)
    results["config"]["model_args"] = "pretrained=some-org/base,peft=some-org/some-model"
    results["config"]["more"] = {"count": np.int64(1), "mean": np.float32(0.5), "all": np.arange(2), "types": {int}}
    for line in results["samples"][task]:
        line["doc"]["ordinal"] = np.int64(line["doc"]["ordinal"])
    (ours,) = cora.read_runs(results)
    save(tmp_path, results)
    (theirs,) = cora.read_runs(tmp_path)
    assert (ours.name, ours.notes) == (theirs.name, theirs.notes) == (f"some-org/some-model, {task}", ())
    assert repr(dict(ours)) == repr(dict(theirs))
    assert ours._run.signature == theirs._run.signature != ""
    assert ours._run.results["config"]["more"]["all"] == [0, 1]


def test_several_results_and_other_tasks(tmp_path):
    one = simulated.run(simulated.knows, options=SOME)
    other, saved = (simulated.run(simulated.prefers, options=SOME) for _ in range(2))
    one["samples"] = {"arc_easy": [{"doc_id": 0, "doc": {"query": "?"}}], **one["samples"]}
    other["model_name"] = "named"
    save(tmp_path, {**saved, "samples": dict(saved["samples"])})  # the harness changes the lines when it saves them
    found = cora.read_runs([one, other], tmp_path, saved)
    names = ["Simulated (results 1)", "named", "some-org/some-model", "Simulated (results 3)"]
    assert [scores.name for scores in found] == [f"{name}, cora_demo" for name in names]
    assert found[0]["cora"].value == 1.0
    assert cora.compare(found[1], found[3])["acc"].value == 0.0
    # The temporary files are removed with the last scores.
    (path,) = found[0]._run.files
    assert path.exists()
    del found
    gc.collect()
    assert not path.parents[1].exists()


def test_results_without_samples_of_our_tasks():
    for results, message in (
        ({"results": {}}, "without `samples`. Pass log_samples=True to simple_evaluate"),
        ({"samples": {"arc_easy": [{"doc": {"query": "?"}}]}}, "of other tasks (arc_easy)"),
        (None, "expected folders, files or results of simple_evaluate, got (None,)"),
    ):
        with user_error("read_runs: ", message):
            cora.read_runs(results)
