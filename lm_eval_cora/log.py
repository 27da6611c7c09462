"""The logger for messages of a run."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger("lm_eval.cora")
"""A child of the harness' logger, with the same handler and verbosity."""


_SECRET = re.compile(
    r"(key|headers?|secret|password|credentials?|auth|authorization|(?<!end_|eos_|bos_|pad_|sep_)(?<!stop_|mask_)token)$",
    re.IGNORECASE,
)


def without_secrets(value: Any, name: str = "") -> Any:
    """Mask texts with names such as `auth_token` or `header`, also inside other values.

    Example:
        >>> without_secrets({"model": "m", "header": {"Authorization": "Bearer 1"}, "think_end_token": "</think>"})
        {'model': 'm', 'header': {'Authorization': '***'}, 'think_end_token': '</think>'}
    """
    is_secret = _SECRET.search(name) is not None
    if isinstance(value, dict) and name != "cora":  # the options of our tasks have no keys, but may have such names
        return {key: without_secrets(item, name if is_secret else str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_secrets(item, name) for item in value)
    return "***" if is_secret and isinstance(value, str) else value


def hide_secrets(record: logging.LogRecord) -> bool:
    """Mask the arguments of a message: the harness logs those of the model."""
    record.args = without_secrets(record.args)
    return True


@contextmanager
def silence() -> Iterator[None]:
    """Hide log messages of the harness and this package that the run will repeat."""
    parent, level = logging.getLogger("lm_eval"), logging.getLogger("lm_eval").level
    parent.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        parent.setLevel(level)
