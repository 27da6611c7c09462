"""Counts of failed requests, with a clock of the test."""

from __future__ import annotations

import asyncio

import pytest

from lm_eval_cora.harness.served import MALFORMED, UNREACHABLE, FailureCount, NoChoicesError, kind_of


def test_a_server_is_given_up_after_ten_attempts_in_a_row_that_took_a_minute() -> None:
    tally = FailureCount()
    for second in range(0, 58, 2):  # 29 attempts in 56 seconds
        tally.note_attempt(second, patience=60)
    assert not tally.gave_up
    tally.note_attempt(60, patience=60)
    assert tally.gave_up


def test_an_answer_in_between_starts_the_minute_again() -> None:
    tally = FailureCount()
    for second in range(0, 600, 10):
        tally.note_attempt(second, patience=60)
        if second % 50 == 0:
            tally.note_answer(1)
    assert not tally.gave_up


def test_a_few_slow_attempts_are_not_enough() -> None:
    tally = FailureCount()
    for number in range(9):
        tally.note_attempt(300 * number, patience=60)
    assert not tally.gave_up
    tally.note_attempt(2700, patience=60)
    assert tally.gave_up


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


def with_status(status: int, name: str = "status") -> Exception:
    error = RuntimeError()
    setattr(error, name, Response(status) if name == "response" else status)
    return error


KINDS = [
    (with_status(500), "status 500", True),
    (with_status(429, "response"), "status 429", True),
    (with_status(400), "status 400", False),
    (with_status(503, "status_code"), "status 503", True),
    (with_status(200), MALFORMED, True),  # a page that is not JSON
    (asyncio.TimeoutError(), "a timeout", True),
    (ConnectionResetError(), UNREACHABLE, True),
    (KeyError("choices"), MALFORMED, True),
    (UnicodeDecodeError("utf-8", b"", 0, 1, ""), MALFORMED, True),
    (NoChoicesError(), "an empty list of choices", True),
    (RuntimeError(), "RuntimeError", True),
    (AssertionError(), "", False),  # raised by the harness before it sends a request
    (NotImplementedError(), "", False),
]


@pytest.mark.parametrize(("error", "kind", "again"), KINDS, ids=repr)
def test_kinds_of_failures(error: Exception, kind: str, again: bool) -> None:
    assert kind_of(error) == (kind, again)
