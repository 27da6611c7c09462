"""Comparisons of several models whose metrics have no standard error."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.content import Number
from tests.support.answers_files import write_answers


def compared(folder: Path, models: Sequence[Sequence[bool]]) -> tuple[list[Any], dict[str, Any]]:
    """The first difference of CoRA in the table, and CoRA in JSON, of models with these answers to one question."""
    paths = [
        write_answers(
            folder / f"model{place}.jsonl",
            [
                {"question": "q", "variant": f"{n}" if n else "original", "correct": right}
                for n, right in enumerate(said)
            ],
        )
        for place, said in enumerate(models)
    ]
    found = compare_models(paths)
    (table,) = [table for table in found.tables if table.title.endswith("differences in cora")]
    return list(table.rows[0]), found.values[0]["metrics"]["cora"]


def test_one_question_has_differences_without_intervals(tmp_path: Path) -> None:
    row, values = compared(tmp_path, [[True, False], [True, True], [True, True]])
    assert row[0] == "model1 - model0"
    assert isinstance(row[1], Number)
    assert row[1].value == 1
    assert isnan(row[1].stderr)
    assert values["values"]["model0"]["value"] == 0
    assert [pair["difference"]["value"] for pair in values["pairs"]] == [1, 1, 0]
