"""The sampling probe of SCORE (section 3.2): the same prompt five times, with chance in the answer."""

from __future__ import annotations

from lm_eval_cora.probes.unaltered import unaltered
from lm_eval_cora.question import OpenQuestion, Question, Variant

NAME = "sampling"

SAMPLES = 5

KINDS = tuple(f"sample_{number}" for number in range(1, SAMPLES + 1))


def sampling(question: Question | OpenQuestion) -> list[Variant]:
    """Ask a question five times. None of the five is the original.

    Args:
        question: A question, with options or without.

    Returns:
        Five variants that differ in their kinds alone.

    Example:
        >>> [variant.kind for variant in sampling(Question("q1", "What is frozen water?", ("Steam", "Ice"), 1))]
        ['sample_1', 'sample_2', 'sample_3', 'sample_4', 'sample_5']

    Source: SCORE, section 3.2 (non-greedy inference): five seeds at a temperature of 0.7.
    """
    return unaltered(question, KINDS)
