"""Read the rows of a jsonl, csv or parquet file."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lm_eval_cora.benchmarks import BenchmarkError, LocatedRow


def read_rows(path: str | Path) -> Iterator[LocatedRow]:
    """Read a file row by row.

    Args:
        path: A file whose name ends in .jsonl, .csv or .parquet; `~` is the home folder.

    Yields:
        Where the row stands ("my.jsonl line 18"), and the row.

    Raises:
        BenchmarkError: If there is no such file, it is of another kind, or cannot be read.
    """
    try:
        path = Path(path).expanduser()
    except RuntimeError as error:
        raise BenchmarkError(f"data_files: {path}: {error}") from None
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BenchmarkError(f"data_files: {path} ends in {path.suffix!r}, expected {', '.join(_READERS)}")
    if not path.is_file():
        raise BenchmarkError(f"data_files: there is no file {path} (looked for it in {Path.cwd()})")
    try:
        yield from reader(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BenchmarkError(f"data_files: cannot read {path}: {error}") from error


def _jsonl(path: Path) -> Iterator[LocatedRow]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path.name} line {number}"
            try:
                row: Any = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BenchmarkError(f"data_files: {where} is no JSON: {error}") from None
            if not isinstance(row, dict):
                raise BenchmarkError(f"data_files: {where} is no JSON object")
            yield where, row


def _csv(path: Path) -> Iterator[LocatedRow]:
    csv.field_size_limit(2**31 - 1)  # a passage may be longer than the 131,072 characters of the default
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        for row in reader:
            where = f"{path.name} line {reader.line_num}"
            if None in row or None in row.values():
                raise BenchmarkError(f"data_files: {where} has more or fewer cells than the header")
            yield where, row


def _parquet(path: Path) -> Iterator[LocatedRow]:
    import pyarrow  # a dependency of datasets; slow to import, and only needed here
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise BenchmarkError(f"data_files: cannot read {path}: {error}") from error
    for number, row in enumerate(rows):
        yield f"{path.name} row {number}", row


_READERS: dict[str, Callable[[Path], Iterator[LocatedRow]]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
