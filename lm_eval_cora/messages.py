"""Parts of messages: numbers with a noun, errors of other libraries, and the first few of many names."""

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


def described(error: BaseException) -> str:
    """The type of another library's error, and its text if it has one.

    Example:
        >>> described(ValueError("no column")), described(TypeError())
        ('ValueError: no column', 'TypeError without a message')
    """
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__} without a message"


def first_few(names: Iterable[object]) -> str:
    """The first three of some names.

    Example:
        >>> first_few(["a", "b", "c", "d"])
        'a, b, c, …'
    """
    told = [str(name) for name in names]
    return ", ".join([*told[:_NAMED], *(["…"] if len(told) > _NAMED else [])])
