"""Who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "lm_eval_cora"


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_only_the_harness_room_knows_the_harness() -> None:
    know = {path for path in PACKAGE.rglob("*.py") if any(f"{name}.".startswith("lm_eval.") for name in imported(path))}
    assert know
    assert {path.parent.name for path in know} == {"harness"}


def test_nothing_but_the_command_line_imports_the_harness_room() -> None:
    outside = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "harness"]
    know = [path for path in outside if any("lm_eval_cora.harness" in name for name in imported(path))]
    assert know == [PACKAGE / "cli.py"]
