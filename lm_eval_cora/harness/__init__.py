"""The only package that imports lm_eval: loading, docs, the task class, scoring and what a run says about itself."""

from lm_eval_cora.harness.asking import stop_early

__all__ = ["stop_early"]
