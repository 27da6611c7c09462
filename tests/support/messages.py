"""Check the content of a message, independent of its wording."""

from contextlib import contextmanager

import pytest

from lm_eval_cora.errors import UserError


def tells(message, *parts):
    """Whether a message contains these parts in this order.

    Example:
        >>> tells("demo: 500 questions were asked for, there are 120", "demo", "500", "120")
        True
        >>> tells("demo: there are 120", "120", "demo")
        False
    """
    for part in parts:
        _, found, message = message.partition(part)
        if not found:
            return False
    return True


@contextmanager
def user_error(*parts):
    """Expect an error of the user in one line with these parts in this order."""
    with pytest.raises(UserError) as caught:
        yield
    message = str(caught.value)
    assert tells(message, *parts), message
    assert len(message.splitlines()) == 1
