"""Variants with unchanged question and options."""

from __future__ import annotations

from lm_eval_cora.formats import BEST_ANSWER, BOXED
from lm_eval_cora.prompting.template import Template
from lm_eval_cora.question import OpenQuestion, Question
from lm_eval_cora.variants import Altered


def unaltered(
    question: Question | OpenQuestion, kind: str, template: Template | None, *, original: bool = False
) -> Altered:
    r"""Make a variant that asks for the best answer, or for a boxed answer if there are no options.

    Args:
        question: A question, with or without options.
        kind: Kind of the variant.
        template: The template of the prompt.
        original: Whether the variant is the original.

    Example:
        >>> unaltered(OpenQuestion("q1", "What is half of a half?", r"\frac14"), "sample_1", None).ask
        'boxed'
    """
    ask = BOXED if isinstance(question, OpenQuestion) else BEST_ANSWER
    options = list(zip(question.identities, question.choices, strict=True))
    return Altered(kind, options, question.answer, ask.name, original=original, template=template)
