"""The logger for messages of a run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger("lm_eval.cora")
"""A child of the harness' logger, with the same handler and verbosity."""


@contextmanager
def silence() -> Iterator[None]:
    """Hide log messages of the harness and this package that the run will repeat."""
    parent, level = logging.getLogger("lm_eval"), logging.getLogger("lm_eval").level
    parent.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        parent.setLevel(level)
