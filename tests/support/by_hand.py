"""Runs of models with answers that a test spells out, and of models that answer by chance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from lm_eval_cora import metrics
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.report.content import Number, Table
from lm_eval_cora.runs.grouping import Run, read_runs
from lm_eval_cora.variants.probes import PROBES
from tests.support.written import put

HOSTILE_NAMES = {
    "line breaks": "two\nlines\r\n\u2028and\x85more",
    "right to left": "safe\u202egpj.exe\u202c",
    "HTML": "<script>window.hacked=1</script><b title=\"x\">& 'bold'",
    "long": "x" * 500,
    "markup": "|_a_|`b`*c*\\textbf{d}$e$%f#g~h^i&j",
}

Answers = Mapping[str, str]
"""For each kind of variant a character per question: 1 is right, 0 is wrong, - is a variant that does not exist."""


def write_by_hand(path: Path, answers: Answers) -> Path:
    """Write answers as a file for `score`."""
    rows = [
        {"question": f"q{number:03}", "variant": kind, "correct": mark == "1"}
        for number, marks in enumerate(zip(*answers.values(), strict=True))
        for kind, mark in zip(answers, marks, strict=True)
        if mark != "-"
    ]
    return put(path, rows)


def runs_by_hand(folder: Path, models: Mapping[str, Answers]) -> list[Run]:
    """The runs of models whose answers are given, as the report reads them from files."""
    paths = [write_by_hand(folder / f"{number}.jsonl", answers) for number, answers in enumerate(models.values())]
    runs = read_runs(paths)
    return [replace(run, model=name) for run, name in zip(runs, models, strict=True)]


def run_by_hand(folder: Path, answers: Answers, model: str = "model") -> Run:
    (run,) = runs_by_hand(folder, {model: answers})
    return run


def simulated_runs(
    seed: int, models: Mapping[str, tuple[float, float]], questions: int, variants: int = 8
) -> list[Run]:
    """Runs of models that answer by chance, with the metrics of a headline only, which takes milliseconds.

    Each model has a probability to know a question, and one that a known question is right in a variant other than the
    original, which is the first.
    """
    hits = simulated_hits(seed, list(models.values()), questions, variants)
    return [light_run(model, ResponseTable.from_hits(rows)) for model, rows in zip(models, hits, strict=True)]


def simulated_hits(
    seed: int, models: Sequence[tuple[float, float]], questions: int, variants: int = 8
) -> npt.NDArray[np.bool_]:
    """(models, questions, variants) the right answers of these models."""
    rng, hits = np.random.default_rng(seed), []
    for knows, keeps in models:
        known = rng.random((questions, 1)) < knows
        hits.append(np.hstack([known, known & (rng.random((questions, variants - 1)) < keeps)]))
    return np.stack(hits)


def light_run(model: str, table: ResponseTable) -> Run:
    """What a headline needs of a run."""
    estimates = {"cora": metrics.cora(table), "mcqa": metrics.mcqa(table), "bmca@1.0": metrics.bmca(table, level=1.0)}
    own = {"model": model, "table": table, "estimates": estimates, "probe": PROBES["divergent"]}
    return cast(Run, type("LightRun", (), own)())


def value_in(table: Table, row: int, column: str) -> Any:
    """The value of a cell: a number, or the cell itself."""
    cell = table.rows[row][list(table.columns).index(column)]
    return cell.value if isinstance(cell, Number) else cell


def marked(table: Table) -> dict[str, list[str]]:
    """For each column with marks, the names of the rows that are marked."""
    found: dict[str, list[str]] = {}
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            if isinstance(cell, Number) and cell.best:
                found.setdefault(column, []).append(str(row[0]))
    return found


def widths(table: Table) -> set[int]:
    """The numbers of cells of the rows."""
    return {len(row) for row in (table.columns, *table.rows)}
