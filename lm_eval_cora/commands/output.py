"""Write the results of a command to stdout or a file, and messages to stderr."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lm_eval_cora.report import ReportError
from lm_eval_cora.report.writing import replace_file

STDOUT = Path("-")
"""The path that stands for standard output."""


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def write_text(text: str, path: Path) -> None:
    """Write a text to a file, or to stdout if the path is `STDOUT`."""
    if path == STDOUT:
        sys.stdout.write(text)
        return
    replace_file(path, text.encode("utf-8", "backslashreplace"))  # lone surrogates cannot be encoded
    say(f"wrote {path}")


def check_output(path: Path) -> None:
    """Check the output path before the runs are read, which may take minutes."""
    if path.is_dir():
        raise ReportError(f"-o {path}: expected a file, got a folder")
    if path != STDOUT:
        path.parent.mkdir(parents=True, exist_ok=True)


def say(text: str) -> None:
    """Print a message to stderr."""
    print(text, file=sys.stderr)
