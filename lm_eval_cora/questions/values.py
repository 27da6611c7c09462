"""Checks for the values of options and declarations. Each returns the checked value or raises an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lm_eval_cora.questions.question import is_encodable

Check = tuple[str, Callable[[Any], Any]]
"""Description of the expected value, for errors, and a function that returns it or raises TypeError or ValueError."""


def integer(value: object) -> int:
    """Accept a whole number.

    Example:
        >>> integer(3)
        3
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def from_1(value: object) -> int:
    """Accept a whole number that is at least 1."""
    if integer(value) < 1:
        raise ValueError
    return integer(value)


def flag(value: object) -> bool:
    """Accept true or false."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def text(value: object) -> str:
    """Accept a text that is not blank and that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise TypeError
    if not value.strip() or not is_encodable(value):
        raise ValueError
    return value


def separator(value: object) -> str:
    """Accept a text, such as a line break."""
    if not isinstance(value, str):
        raise TypeError
    if not value or not is_encodable(value):
        raise ValueError
    return value


def line(value: object) -> str:
    """Accept a text of one line, and remove the white space around it.

    Example:
        >>> line(" test ")
        'test'
    """
    if len(text(value).splitlines()) != 1:
        raise ValueError
    return text(value).strip()


def lines(value: object) -> tuple[str, ...]:
    """Accept a text of one line or a list of such texts, and return a tuple."""
    if isinstance(value, str):
        return (line(value),)
    if not isinstance(value, list | tuple) or not value:
        raise TypeError
    return tuple(line(item) for item in value)


def texts(value: object) -> str | tuple[str, ...]:
    """Accept a text or a list of at least two texts."""
    if isinstance(value, str):
        return text(value)
    if not isinstance(value, list | tuple):
        raise TypeError
    if len(value) < 2:
        raise ValueError
    return tuple(text(item) for item in value)


def mapping(value: object) -> Mapping[str, Any]:
    """Accept a mapping that is not empty and whose keys are texts."""
    if not isinstance(value, Mapping) or not value:
        raise TypeError
    return {text(key): item for key, item in value.items()}


def one_of(values: Sequence[str]) -> Check:
    """Return a check that accepts one of these texts."""

    def read(value: object) -> object:
        if value not in values:
            raise ValueError
        return value

    return " or ".join(map(repr, values)), read


def some_of(values: Sequence[str]) -> Check:
    """Return a check that accepts one of these texts or a list of them."""

    def read(value: object) -> tuple[str, ...]:
        found = lines(value)
        if not set(found) <= set(values):
            raise ValueError
        return found

    return f"a list of {', '.join(map(repr, values))}", read
