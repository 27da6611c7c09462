"""The readers on labelled answers of real chat models; skipped where the folder with them is absent."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.readers import READERS, labelled, outcome

FILE = Path(__file__).parents[3] / "shared" / "answers" / "dev.jsonl"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason=f"{FILE} is absent")


@pytest.fixture(scope="module")
def lines():
    return list(labelled(FILE))


@pytest.mark.parametrize(
    ("name", "right", "wrong", "read"),
    [
        *(("dev.jsonl", 0.99, 0.001, 0.15), ("reasoned_dev.jsonl", 0.998, 0.001, 0.02)),
        *(("unseen_dev.jsonl", 0.979, 0.003, 0.015), ("unseen2_dev.jsonl", 0.985, 0.004, 0.13)),
    ],
)
def test_the_flexible_reader_reads_what_models_write(name, right, wrong, read):
    every = list(labelled(FILE.with_name(name)))
    found = Counter(outcome(READERS["flexible"], line) for line in every)
    chosen = found["right"] + found["wrong"] + found["missed"]
    assert chosen > 1000
    assert found["right"] >= right * chosen
    assert found["wrong"] <= wrong * chosen
    assert found["read for no reason"] <= read * (len(every) - chosen)


def test_the_flexible_reader_reads_each_kind_of_response():
    kinds = {}
    for line in labelled(FILE.parents[1] / "cases" / "responses.jsonl"):
        kinds.setdefault(line.source, Counter())[outcome(READERS["flexible"], line)] += 1
    for kind in kinds.keys() - {"other languages"}:
        assert (kinds[kind]["right"] + kinds[kind]["nothing"]) > 0.95 * kinds[kind].total(), kind


def test_the_flexible_reader_reads_other_kinds_in_many_languages():
    every = list(labelled(FILE.parents[1] / "cases" / "responses_other_kinds.jsonl"))
    found = Counter(outcome(READERS["flexible"], line) for line in every)
    assert found["right"] + found["nothing"] >= 0.85 * len(every)
    assert found["wrong"] + found["read for no reason"] <= 0.03 * len(every)


def test_the_strict_reader_is_the_papers(lines):
    found = Counter(outcome(READERS["strict"], line) for line in lines)
    assert (len(lines), found["right"], found["wrong"]) == (1373, 990, 3)
    assert found["read for no reason"] == 11


def test_what_is_settled_stays_as_it_is(lines):
    read = READERS["flexible"]
    settled = 0
    for line in lines[::10]:
        whole = read(line.response, line.options).position
        for end in range(0, len(line.response), 7):
            answer = read(line.response[:end], line.options)
            settled += answer.settled
            assert not answer.settled or answer.position == whole, line.response[:end]
    assert settled > 500
