"""The logger for messages of a run."""

from __future__ import annotations

import logging

logger = logging.getLogger("lm_eval.cora")
"""A child of the harness' logger, with the same handler and verbosity."""
