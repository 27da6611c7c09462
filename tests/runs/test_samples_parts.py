"""A file that is read in parts by several processes gives what one process reads."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.report.text import as_csv
from lm_eval_cora.runs import samples
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.samples import Found, SamplesReaders, read_part
from tests.support.written import Written, copied, lines_of, put


def test_every_partition_gives_the_same(demo: dict[str, Written]) -> None:
    path = demo["cora_demo_order"].samples
    size = path.stat().st_size
    whole = read_part(path, 0, size, "flexible").samples["none"]
    first_line = len(path.read_bytes().partition(b"\n")[0]) + 1
    for step in (1_000, 7_919, first_line, size // 2, size):
        found = Found({}, Counter())
        for start in range(0, size, step):
            found.add(read_part(path, start, min(start + step, size), "flexible"))
        assert not found.broken
        (part,) = found.samples.values()
        assert list(part.records) == list(whole.records)
        assert (part.offsets, part.digests, part.metrics) == (whole.offsets, whole.digests, whole.metrics)
        assert [part.line(number) for number in range(len(part.records))] == lines_of(path)


def test_several_processes(demo: dict[str, Written], monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [demo[task].folder for task in ("cora_demo", "cora_demo_order_mc")]
    before = as_csv(read_runs(folders))
    monkeypatch.setattr(samples, "BYTES_WORTH_A_BAR", 0)
    monkeypatch.setattr(samples, "_AT_A_TIME", 50_000)
    for count in (1, 3):
        monkeypatch.setattr(samples, "processors", lambda count=count: count)
        assert as_csv(read_runs(folders)) == before


def test_errors_of_a_process(demo: dict[str, Written], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "BYTES_WORTH_A_BAR", 0)
    path = demo["cora_demo"].samples
    with SamplesReaders(2) as readers:
        with pytest.raises(UserError, match=r"cannot be read: Is a directory"):
            readers.read(tmp_path, "strict")
        with pytest.raises(IsADirectoryError):
            samples.ask(readers.workers[0], (tmp_path, 0, 1, "strict"))
        assert len(readers.read(path, "strict").samples["none"].records) > 0
        for process in (worker.process for worker in readers.workers if worker.process):
            process.kill()
            process.wait()
        with pytest.raises(UserError, match=f"{path.name}: a process that read it was ended"):
            readers.read(path, "strict")
    with SamplesReaders(2) as readers:
        readers.read(path, "strict")
        processes = [worker.process for worker in readers.workers if worker.process]
    assert {process.poll() is None for process in processes} == {False}


@pytest.mark.parametrize("text", ["1" * 4_000, "[" * 950 + "]" * 950])
@pytest.mark.parametrize("name", ["variants", "ordinal", "question_id", "printed"])
def test_hostile_values(name: str, text: str, demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo_order"], tmp_path)
    lines = lines_of(written.samples)
    first = lines[0]
    first["doc"][name] = "HERE"
    put(written.samples, [json.dumps(first).replace('"HERE"', text), *lines[1:]])
    (run,) = read_runs([written.folder])
    assert len(run.table.sizes) == len({line["doc"]["question_id"] for line in lines[1:]}) - 1 or name == "question_id"
    assert as_csv([run])


def test_a_large_file_of_another_task_is_not_read_to_its_end(
    demo: dict[str, Written], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    others = [{"doc_id": number, "doc": {"query": "?"}, "filter": "none", "acc": 1.0} for number in range(100)]
    path = written.samples.with_name("samples_arc_challenge_2026-01-01T00-00-00.000000.jsonl")
    put(path, others)
    monkeypatch.setattr(samples, "BYTES_WORTH_A_BAR", 0)
    monkeypatch.setattr(samples, "_BYTES_OF_THE_HEAD", 500)
    with SamplesReaders(1) as readers:
        found, broken = readers.read(path, "strict")
        assert not found
        assert 0 < broken["from another task"] < 20
        put(path, [*others[:1], *lines_of(written.samples)])
        assert len(readers.read(path, "strict").samples["none"].records) == len(lines_of(written.samples))


def test_files_of_other_tasks_are_left_out_without_a_note(demo: dict[str, Written], tmp_path: Path) -> None:
    written = copied(demo["cora_demo"], tmp_path)
    path = written.samples.with_name("samples_arc_challenge_2026-01-01T00-00-00.000000.jsonl")
    put(path, [{"doc_id": 0, "doc": {"query": "?"}, "filter": "none", "acc": 1.0}])
    (run,) = read_runs([written.folder])
    assert (run.files, run.notes) == ((written.samples,), ())
    with pytest.raises(UserError, match=r"no samples of lm-eval-cora tasks.*\(arc_challenge\).*lm-eval-cora compare"):
        read_runs([path])
