"""The files that this process has read as inputs, so that no output replaces one of them."""

import os
from pathlib import Path

from lm_eval_cora.errors import UserError

COMPRESSED = rb"\x1f\x8b|PK\x03|BZh|\xfd7z|\x28\xb5\x2f\xfd"  # how such files begin
_READ: set[str] = set()


def reading(path: Path) -> Path:
    """Record a file that is read as an input."""
    _READ.add(os.path.realpath(path))
    return path


def check_no_input(path: Path) -> None:
    """Raise a UserError if a file is an input, also through a symbolic link. Writing leaves other hard links alone."""
    if os.path.realpath(path) in _READ:
        raise UserError(f"{path}: this file was read as an input, and is not replaced. Name another output")
