"""`lm-eval-cora score`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support.messages import tells
from tests.support.programs import Cli
from tests.support.written import put, strict


def two(folder: Path, kind: str) -> Path:
    common: dict[str, Any] = {"question_id": "q", "answer": "a"}
    first = {**common, "kind": kind, "ordinal": 0, "picked": "a"}
    return put(folder / "answers.jsonl", [first, {**common, "kind": "x", "ordinal": 1, "picked": None}])


def test_scores(cli: Cli, tmp_path: Path) -> None:
    path = two(tmp_path, "original")
    found = strict(cli.printed("score --json", path))
    assert (found["questions"], found["answers"]) == (1, 2)
    assert found["metrics"]["mcqa_plus"] == {"value": 0.5, "stderr": None, "low": None, "high": None}
    assert found["metrics"]["cora"]["value"] == 0.0
    assert "followed" in found["undefined"]
    assert "cora" not in found["undefined"]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in cli.printed("score", path).splitlines()]
    assert ["mcqa_plus", "0.5000", "±", "N/A", ""] in rows
    assert "followed" not in cli.out
    assert re.search("1 questions? with 2 variants", cli.err)


def test_scores_without_an_original(cli: Cli, tmp_path: Path) -> None:
    path = two(tmp_path, "x")
    found = strict(cli.printed("score --json", path))
    for name in ("mcqa", "cora", "ci", "mcqa_plus_diff"):
        assert found["metrics"][name] == dict.fromkeys(("value", "stderr", "low", "high"))
        assert tells(found["undefined"][name], "the column 'original'", "kind named 'original'")
    assert found["metrics"]["mcqa_plus"]["value"] == 0.5
    assert cli("score", path) == 0
    assert re.search(r"undefined: mcqa, .*cora.*: .*original", cli.err)
