from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_cora.runs.documents import DocumentRun, documents_differ, read_documents
from tests.support.documents import Models, run_of, samples_of, told
from tests.support.written import Written, edit, lines_of, put


def test_the_address_of_an_image_is_not_part_of_a_document(tmp_path: Path) -> None:
    """The harness writes an image as its `repr`, so its hash of the document is another one in each run."""

    def run(name: str, address: str, question: str) -> DocumentRun:
        doc = {"image": f"<PIL.Image.Image image mode=RGB size=9x9 at {address}>", "question": question}
        line = {"doc_id": 0, "doc": doc, "doc_hash": name, "resps": ["at 0x0"], "acc": 1.0, "metrics": ["acc"]}
        put(tmp_path / name / "samples_pictures.jsonl", [line])
        return run_of(tmp_path / name, "pictures", "")

    one, same, other = run("one", "0x7F12", "Why?"), run("same", "0x7E34", "Why?"), run("other", "0x7F12", "How?")
    assert documents_differ(one, same) == ""
    assert "1 of 1 documents differ" in documents_differ(one, other)


def test_an_address_in_a_response_does_not_change_the_document(models: Models, copy: Path) -> None:
    edit(samples_of(copy), lambda line: line.update(resps=[["<object at 0x7f00>"]]))
    assert documents_differ(run_of(models.one), run_of(copy)) == ""


def test_our_own_tasks_are_not_read(other: Written, copy: Path) -> None:
    assert read_documents(other.folder) == []
    line = lines_of(other.samples)[0]
    put(samples_of(copy), [*lines_of(samples_of(copy)), line])
    assert "left out 1 line: 1 from an lm-eval-cora task" in run_of(copy).notes


def test_repeated_lines_of_a_document_are_left_out(models: Models, copy: Path) -> None:
    path = samples_of(copy)
    lines = lines_of(path)
    put(path, [*lines, {**lines[0], "exact_match": not lines[0]["exact_match"]}])
    assert "left out 1 repeated line of a document" in run_of(copy).notes
    assert run_of(copy).estimates == run_of(models.one).estimates


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "{}",
        b"\xff\xfe",
        '{"doc_id": "0", "doc": {}}',
        '{"doc_id": true, "doc": {}}',
        '{"doc_id": 99}',
        "[" * 100_000,
    ],
    ids=range(8),
)
def test_a_hostile_line_is_left_out_with_a_note(models: Models, copy: Path, line: str | bytes) -> None:
    put(samples_of(copy), [line, *lines_of(samples_of(copy))])
    run = run_of(copy)
    assert "left out 1 line: 1 " in told(run)
    assert run.estimates == run_of(models.one).estimates


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("NaN", "nan or infinite for some documents"),
        ("1e999", "nan or infinite for some documents"),
        ('"0.5"', "values of the type str"),
        ('{"a": 1}', "values of the type dict"),
    ],
)
def test_a_metric_with_a_value_that_is_not_a_number_is_left_out(
    models: Models, copy: Path, value: str, reason: str
) -> None:
    first, *others = lines_of(samples_of(copy))
    put(samples_of(copy), [json.dumps({**first, "likeness": "HERE"}).replace('"HERE"', value), *others])
    found, whole = run_of(copy).estimates, run_of(models.one).estimates
    assert f"likeness ({reason})" in told(run_of(copy))
    assert found == {metric: estimate for metric, estimate in whole.items() if metric != "likeness"}


def test_lines_of_an_older_harness_do_not_list_their_metrics(tmp_path: Path) -> None:
    lines = [
        {"doc_id": key, "doc": {"text": str(key)}, "target": "x", "resps": [], "acc": key % 2, "bypass": 999}
        for key in range(4)
    ]
    put(tmp_path / "one" / "samples_old.jsonl", lines)
    put(tmp_path / "two" / "samples_old.jsonl", [*lines[:3], {**lines[3], "doc": {"text": "another"}}])
    one, two = run_of(tmp_path / "one", "old", ""), run_of(tmp_path / "two", "old", "")
    assert {metric: estimate.value for metric, estimate in one.estimates.items()} == {"acc": 0.5}
    assert "1 of 4 documents differ (3)" in documents_differ(one, two)
