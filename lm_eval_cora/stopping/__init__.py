"""Asking less: when a question needs no more answers, and how many questions are enough. Knows no harness."""
