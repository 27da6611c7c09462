"""Rows of benchmarks as questions."""

import json
from dataclasses import replace

import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import declared
from lm_eval_cora.questions.loading import collect_questions
from lm_eval_cora.questions.question import Question, UnusableQuestion
from lm_eval_cora.runs.task_files import benchmark

LOCAL = declared({"open": True}, data_files=("local.jsonl",))
"""A user's file."""


def mine(**declaration):
    """The declaration of a file, or of a dataset if it has `hub`."""
    files = () if "hub" in declaration else ("mine.jsonl",)
    return declared({"name": "mine", "open": True}, {"name": "mine", **declaration}, files)


def collected(source, *changes):
    """Collect the questions of rows with these cells and usual ones; `...` takes a column away."""
    rows = []
    for number, change in enumerate(changes, start=1):
        row = {"question": f"{number}?", "choices": ["Ice", "Fog", "Dew"], "answer": 0, **change}
        rows.append((f"line {number}", {name: cell for name, cell in row.items() if cell is not ...}))
    return collect_questions(source, rows, id_prefix="row")


def refused(source, *changes):
    """The error about such rows."""
    with pytest.raises(UserError) as error:
        collected(source, *changes)
    return str(error.value)


def question_of(source, row, default_id="test-0"):
    """Convert a single row to a question."""
    source = benchmark(source) if isinstance(source, str) else source
    reader = source.reader(list(row))
    ((result,), _) = reader.finish([reader.read(row, default_id, "row 0")])
    if isinstance(result, UnusableQuestion):
        raise result
    assert isinstance(result, Question)
    return result


def on_the_hub(source, **changes):
    return replace(source, source=replace(source.source, **changes))


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)
