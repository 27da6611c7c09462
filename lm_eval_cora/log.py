"""The logger for messages of a run."""

import logging

logger = logging.getLogger("lm_eval.cora")
"""A child of the harness' logger, with the same handler and verbosity."""
