"""Rows of benchmarks as questions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_cora.discovery.task_files import benchmark
from lm_eval_cora.questions.benchmark import Benchmark, declared
from lm_eval_cora.questions.question import Question, UnusableQuestion

LOCAL = declared({"open": True}, data_files=("local.jsonl",))
"""A user's file."""


def question_of(source: Benchmark | str, row: dict[str, Any], default_id: str = "test-0") -> Question:
    """Convert a single row to a question."""
    source = benchmark(source) if isinstance(source, str) else source
    reader = source.reader(list(row))
    ((result,), _) = reader.finish([reader.read(row, default_id, "row 0")])
    if isinstance(result, UnusableQuestion):
        raise result
    assert isinstance(result, Question)
    return result


def on_the_hub(source: Benchmark, **changes: Any) -> Benchmark:
    return replace(source, source=replace(source.source, **changes))


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)
