"""Parts of messages: numbers with a noun, and the first few of many names."""

from __future__ import annotations

from collections.abc import Iterable

_NAMED = 3


def counted(number: int, what: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "question"), counted(1_273, "question")
        ('1 question', '1,273 questions')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def first_few(names: Iterable[object]) -> str:
    """The first three of some names.

    Example:
        >>> first_few(["a", "b", "c", "d"])
        'a, b, c, …'
    """
    told = [str(name) for name in names]
    return ", ".join([*told[:_NAMED], *(["…"] if len(told) > _NAMED else [])])
