"""The files that this process has read as inputs, so that no output replaces one of them."""

import os
from pathlib import Path

from lm_eval_cora.errors import UserError

_READ: set[str] = set()


def reading(path: Path) -> Path:
    """Record a file that is read as an input."""
    _READ.add(os.path.realpath(path))
    return path


def check_no_input(path: Path) -> None:
    """Raise a UserError if a file is an input, also through a symbolic link. Writing leaves other hard links alone."""
    if os.path.realpath(path) in _READ:
        raise UserError(f"{path}: this file was read as an input, and is not replaced. Name another output")
