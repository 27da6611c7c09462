"""Parts of messages: numbers with a noun, errors of other libraries, and the first few of many names."""

from __future__ import annotations

from collections.abc import Iterable
from traceback import extract_tb

_NAMED = 3


def counted(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def described(error: BaseException) -> str:
    """The type of another library's error, and its text or else the function that raised it."""
    kind, text = type(error).__name__, str(error).strip()
    raised = [f" in {frame.name} of {frame.filename}" for frame in extract_tb(error.__traceback__)]
    return f"{kind}: {text}" if text else kind + "".join(raised[-1:])


def first_few(names: Iterable[object]) -> str:
    """The first three of some names.

    Example:
        >>> first_few(["a", "b", "c", "d"])
        'a, b, c, …'
    """
    told = [str(name) for name in names]
    return ", ".join([*told[:_NAMED], *(["…"] if len(told) > _NAMED else [])])
