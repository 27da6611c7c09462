"""The prompts probe of SCORE (section 3.2): the same question in other words of the asker."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_cora.probes.unaltered import unaltered
from lm_eval_cora.question import OpenQuestion, Question, Variant

NAME = "prompts"

SINGLE_LETTER = "single_letter_only"
"""The template that SCORE's paper drops: it asks for one letter and nothing else, and then for a sentence."""


def prompts(question: Question | OpenQuestion, templates: Sequence[str], fixed: str) -> list[Variant]:
    """Ask a question with each template, question and options unchanged.

    Args:
        question: A question, with options or without.
        templates: Names of the templates; they become the kinds.
        fixed: Name of the one that the other probes ask with; its variant is the original.

    Returns:
        A variant per template.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice"), 1)
        >>> [(variant.kind, variant.original) for variant in prompts(question, ["brief", "long"], fixed="long")]
        [('brief', False), ('long', True)]

    Source: SCORE, section 3.2 (prompt robustness) and appendix G.
    """
    return unaltered(question, templates, original=fixed)
