"""Bounds for files with lines of any length and JSON of any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

LONGEST = 16_000_000
"""Largest number of bytes of a line that is read. The longest prompts and responses have about a tenth of it."""

LARGEST = 200_000_000
"""Largest number of bytes of a JSON file that is not read line by line."""

DEEPEST = 100
"""Largest number of brackets around a value. Python itself fails at about 1,000, and earlier inside other calls."""

_DIGITS = 300
"""Largest number of digits of a whole number that is also a float."""

_CHUNK = 1 << 20


def bounded_lines(file: BinaryIO, end: int, longest: int = LONGEST) -> Iterator[tuple[int, int, bytes | None]]:
    r"""Read the lines of a file that begin before an offset, without holding a longer line than allowed in memory."""
    offset = file.tell()
    while offset < end and (line := file.readline(longest)):
        length = len(line)
        if length == longest and not line.endswith(b"\n"):
            while more := file.readline(_CHUNK):
                length += len(more)
                if more.endswith(b"\n"):
                    break
            yield offset, length, None if length > longest else line
        else:
            yield offset, length, line
        offset += length


def is_deep(value: Any, deepest: int = DEEPEST) -> bool:
    """Whether a value parsed from JSON is nested more deeply than allowed."""
    level = [value]
    for _ in range(deepest + 1):
        nested = [one for one in level if isinstance(one, dict | list)]
        if not nested:
            return False
        level = [part for one in nested for part in (one.values() if isinstance(one, dict) else one)]
    return True


def whole_number(digits: str) -> int:
    """Parse a whole number of JSON that is small enough for all calculations."""
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has {len(digits)} digits, expected at most {_DIGITS}")
    return int(digits)
