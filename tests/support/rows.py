"""Rows of benchmarks as questions."""

from __future__ import annotations

from typing import Any

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.benchmarks.declarations import declared
from lm_eval_cora.question import Question, UnusableQuestion
from lm_eval_cora.task_files import benchmark

LOCAL = declared({"open": True}, data_files=("local.jsonl",))
"""A user's file."""


def question_of(source: Benchmark | str, row: dict[str, Any], default_id: str = "test-0") -> Question:
    """The question that a row alone becomes."""
    source = benchmark(source) if isinstance(source, str) else source
    reader = source.reader(list(row))
    ((result,), _) = reader.finish([reader.read(row, default_id, "row 0")])
    if isinstance(result, UnusableQuestion):
        raise result
    assert isinstance(result, Question)
    return result
