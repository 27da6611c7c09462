"""Integration with lm-evaluation-harness: the task class, its hooks, and wrappers of models."""

from lm_eval_cora.harness.asking import stop_early

__all__ = ["stop_early"]
