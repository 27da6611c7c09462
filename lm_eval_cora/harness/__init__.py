"""Integration with lm-evaluation-harness: the task class, its hooks, and wrappers of models."""
