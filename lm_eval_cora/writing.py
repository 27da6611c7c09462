"""Names of files, and writing so that a full disk or a crash never destroys the previous content of a file."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE
from typing import BinaryIO

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.rows import check_no_input

STDOUT = Path("-")  # the path that stands for standard output
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # file names that Windows reserves


def free_name(name: str, taken: set[str]) -> str:
    """Turn a name into one that every system accepts for a file, different from those in `taken`, and add it to them.

    Example:
        >>> taken = set()
        >>> [free_name(name, taken) for name in ("MedQA: kept, lost", "MEDQA kept/lost", "con", "日本")]
        ['MedQA-kept-lost', 'MEDQA-kept-lost-2', 'con-figure', 'figure']
    """
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", name)[:100].strip("-") or "figure"
    safe = f"{safe}-figure" if RESERVED.fullmatch(safe) else safe
    number, unique = 1, safe
    while unique.lower() in taken:  # some systems do not distinguish upper and lower case
        number += 1
        unique = f"{safe}-{number}"
    taken.add(unique.lower())
    return unique


def check_file(path: Path, option: str, suffixes: tuple[str, ...] = ()) -> None:
    """Check that a file can be written, before the runs are read. Nothing is made."""
    if path == STDOUT:
        return
    if path.is_dir():
        raise UserError(f"{option} {path}: expected a file, got a folder")
    if suffixes and path.suffix.lower() not in suffixes and not path.exists():  # /dev/stdout exists
        raise UserError(f"{option} {path}: expected a name that ends in {' or '.join(suffixes)}")
    check_folder(path.parent, option)


def check_folder(path: Path, option: str) -> None:
    """Check that a folder exists or can be made, before the runs are read."""
    existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise UserError(f"{option} {path}: expected a folder, but {existing} is a file")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, in a new folder if needed. An error leaves the old file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Lone surrogates cannot be encoded.
    replace_file(path, content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)


def replace_file(path: Path, data: bytes) -> None:
    """Write a temporary file in the same folder, then rename it, so that an error leaves the old file as it was."""
    check_no_input(path)
    try:
        # Not resolved in general: /dev/stdout may point to a pipe, which has no path.
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        target = Path(os.path.realpath(path))
        mode = S_IMODE(target.stat().st_mode) if target.exists() else None
        if mode is not None and not os.access(target, os.W_OK):  # a rename would replace a read-only file
            raise PermissionError(EACCES, os.strerror(EACCES))
        with temporary_file(target.parent) as (partial, file):
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # some file systems report a full disk only now
            if mode is not None:
                partial.chmod(mode)
            partial.replace(target)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Create a file with a temporary name in a folder. At the end it is removed, unless it was renamed."""
    path = folder / f".lm-eval-cora-{token_hex(8)}.partial"
    try:
        with path.open("xb") as file:
            yield path, file
    finally:
        path.unlink(missing_ok=True)
