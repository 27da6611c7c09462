"""Variants that print a question and its options as the source has them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from lm_eval_cora.question import OpenQuestion, Question, Variant


def unaltered(question: Question | OpenQuestion, kinds: Iterable[str], original: str = "") -> list[Variant]:
    r"""Make a variant of each kind, which asks for the best answer, or for a box where there are no options.

    Args:
        question: A question, with options or without.
        kinds: The kinds, all different.
        original: The kind that is the original, if one is.

    Example:
        >>> unaltered(OpenQuestion("q1", "What is half of a half?", r"\frac14"), ["sample_1"])[0].ask
        'boxed'
    """
    if isinstance(question, OpenQuestion):
        make = partial(Variant, printed=(), choices=(), answer=0, ask="boxed")
    else:
        make = partial(
            Variant,
            printed=question.identities,
            choices=question.choices,
            answer=question.answer,
            ask="best_answer",
        )
    return [make(kind, ordinal, original=kind == original) for ordinal, kind in enumerate(kinds)]
