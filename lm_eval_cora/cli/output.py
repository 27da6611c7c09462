"""Write the results of a command to stdout or a file, and messages to stderr."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from lm_eval_cora.cli.arguments import labels_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.report.writing import replace_file
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.runs.model_run import Run

EXPORTS = ["eval-results", "eval-yaml", "every-eval-ever", "model-index", "latex", "markdown", "csv"]
"""The formats of `export`."""

STDOUT = Path("-")
"""The path that stands for standard output."""

_OTHER_FORMATS = (".pdf", ".svg", ".png", ".jpg", ".jpeg", ".docx", ".xlsx", ".pptx")
"""Suffixes of files that no command writes as its output."""


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    sys.stdout.write(json_text(value))


def json_text(value: Any) -> str:
    """A value as JSON, on lines."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(text: str, path: Path) -> None:
    """Write a text to a file, or to stdout if the path is `STDOUT`."""
    if path == STDOUT:
        sys.stdout.write(text)
        return
    write_bytes(text.encode("utf-8", "backslashreplace"), path)  # lone surrogates cannot be encoded


def write_bytes(content: bytes, path: Path) -> None:
    """Write a file, in a new folder if needed, and say so. An error leaves an old file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content)
    say(f"wrote {path}")


def check_output(path: Path) -> None:
    """Check the output path before the runs are read, which may take minutes."""
    if path.is_dir():
        raise UserError(f"-o {path}: expected a file, got a folder")
    if path.suffix.lower() in _OTHER_FORMATS:
        raise UserError(
            f"-o {path}: there is no such format. Charts as PDF, SVG and PNG: lm-eval-cora report OUT --figures DIR. "
            f"Formats of report: html, md, json, csv; of export: {', '.join(EXPORTS)}"
        )
    if path != STDOUT:
        path.parent.mkdir(parents=True, exist_ok=True)


def check_folder(path: Path, option: str) -> None:
    """Check that a folder exists or can be made, before the runs are read."""
    existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise UserError(f"{option} {path}: expected a folder, but {existing} is a file")


def check_file(path: Path, option: str, suffixes: tuple[str, ...] = ()) -> None:
    """Check that a file can be written, before the runs are read. Nothing is made."""
    if path == STDOUT:
        return
    if path.is_dir():
        raise UserError(f"{option} {path}: expected a file, got a folder")
    if suffixes and path.suffix.lower() not in suffixes and not path.exists():  # /dev/stdout exists
        raise UserError(f"{option} {path}: expected a name that ends in {' or '.join(suffixes)}")
    check_folder(path.parent, option)


def say(text: str) -> None:
    """Print a message to stderr."""
    print(text, file=sys.stderr)


def read_runs_of(given: argparse.Namespace) -> list[Run]:
    """Read the runs and print their warnings to stderr."""
    runs = read_runs(given.out, reader=given.reader, labels=labels_of(given))
    for run in runs:
        for note in run.warnings:
            say(f"{run.model}, {run.task}: {note}")
    return runs
