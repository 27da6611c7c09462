"""The commands of `lm-eval-cora`, and how they write their results."""
