"""The logger of what a run says besides the harness' table."""

from __future__ import annotations

import logging

logger = logging.getLogger("lm_eval.cora")
"""A child of the harness' logger, so its handler and its verbosity hold for our lines too."""
