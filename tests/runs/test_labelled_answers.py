"""The readers on labelled answers of real chat models; skipped where the folder with them is absent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.readers import HALVES, READERS, Labelled, labelled, outcome

FILE = Path(__file__).parents[3] / "shared" / "answers" / "dev.jsonl"

pytestmark = pytest.mark.skipif(not FILE.exists(), reason=f"{FILE} is absent")


@pytest.fixture(scope="module")
def lines() -> list[Labelled]:
    return list(labelled(FILE))


@pytest.mark.parametrize("half", HALVES)
def test_the_flexible_reader_reads_what_chat_models_write(half: str, lines: list[Labelled]) -> None:
    part = [line for line in lines if line.half == half]
    found = Counter(outcome(READERS["flexible"], line) for line in part)
    chosen = found["right"] + found["wrong"] + found["missed"]
    assert chosen > 600
    assert found["right"] >= 0.99 * chosen
    assert found["wrong"] <= 0.003 * chosen
    assert found["read for no reason"] <= 0.15 * (len(part) - chosen)


def test_the_strict_reader_is_the_papers(lines: list[Labelled]) -> None:
    found = Counter(outcome(READERS["strict"], line) for line in lines)
    assert (len(lines), found["right"], found["wrong"]) == (1373, 990, 3)
    assert found["read for no reason"] == 11


def test_what_is_settled_stays_as_it_is(lines: list[Labelled]) -> None:
    read = READERS["flexible"]
    settled = 0
    for line in lines[::5]:
        whole = read(line.response, line.options).position
        for end in range(0, len(line.response), 7):
            answer = read(line.response[:end], line.options)
            settled += answer.settled
            assert not answer.settled or answer.position == whole, line.response[:end]
    assert settled > 1_000
