"""The error for what a user did wrong."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(ValueError):
    """A wrong option, source, run or table. The message says what was expected, what arrived, where, and what to do."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Put what an error is about before its message."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{what}: {error}") from None
