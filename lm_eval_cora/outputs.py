"""Write reports and records of runs: the outputs of the Python API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import get_args

from lm_eval_cora.cli.console import check_file
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.every_eval_ever import Relationship, write_every_eval_ever
from lm_eval_cora.report.page import render
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.report.text import as_markdown
from lm_eval_cora.report.writing import replace_file
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.scores import Scores


def write_report(
    scores: Scores | Iterable[Scores], output: str | PathLike[str], *, title: str = "Consistency of the answers"
) -> Path:
    """Write the report of runs, as `lm-eval-cora report` does.

    Args:
        scores: The scores of one or more runs, from one call of `read_runs`. The report shows the models of a task side
            by side.
        output: The file: a page with charts (`.html`) or its tables as text (`.md`). The page needs matplotlib:
            `pip install 'lm-eval-cora[report]'`.
        title: Title of the report.

    Returns:
        The file.

    Raises:
        UserError: If the scores are not from `read_runs`, if the file has another suffix or is a folder, or if
            matplotlib is not installed.
    """
    path, runs = Path(output), _runs_of("write_report", scores)
    check_file(path, "write_report: output", (".html", ".htm", ".md"))
    report = make_report(runs, title)
    text = as_markdown(report) if path.suffix == ".md" else render(report)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode("utf-8", "backslashreplace"))
    return path


def write_records(
    scores: Scores | Iterable[Scores],
    folder: str | PathLike[str],
    *,
    organization: str = "",
    relationship: Relationship = "other",
) -> list[Path]:
    """Write records of Every Eval Ever, as `lm-eval-cora export --format every-eval-ever` does.

    Args:
        scores: The scores of one or more runs, from one call of `read_runs`.
        folder: The folder in which to create `data`.
        organization: Name of who evaluated the models; empty if unknown.
        relationship: Relationship of the organization to the makers of the models: `first_party`, `third_party`,
            `collaborative` or `other`.

    Returns:
        The files: for each model the record, then a file with a row per variant.

    Raises:
        UserError: If the scores are not from `read_runs`, if `relationship` has another value, or if a file cannot be
            written.
    """
    if relationship not in get_args(Relationship):
        expected = ", ".join(map(repr, get_args(Relationship)))
        raise UserError(f"write_records: relationship: expected one of {expected}, got {relationship!r}")
    return write_every_eval_ever(_runs_of("write_records", scores), Path(folder), organization, relationship)


def _runs_of(function: str, scores: Scores | Iterable[Scores]) -> list[Run]:
    """The runs of scores, each model and task once."""
    several = [scores] if isinstance(scores, Scores) else list(scores)
    if any(isinstance(one, Mapping) and not isinstance(one, Scores) for one in (scores, *several)):
        raise UserError(f"{function}: expected scores, got results of simple_evaluate. Pass cora.read_runs(results)")
    runs = [one._run for one in several if isinstance(one, Scores) and one._run is not None]
    if not runs or len(runs) < len(several):
        raise UserError(
            f"{function}: expected scores that read_runs returns, got {len(several) - len(runs)} others of "
            f"{len(several)}. Save other answers to a file with the columns of `score`, and pass the file to read_runs"
        )
    (run, count), *_ = Counter((run.model, run.task) for run in runs).most_common(1)
    if count > 1:
        raise UserError(
            f"{function}: expected each model and task once, got {', '.join(run)} {count} times. Read all runs in one "
            "call of read_runs, which gives them different names"
        )
    return runs
