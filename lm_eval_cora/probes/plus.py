"""The probe of MCQA+ (section 4, appendix B): more and fewer options, NOTA as the answer, true or false."""

from __future__ import annotations

from collections.abc import Iterator

from lm_eval_cora.probes.alterations import (
    COUNTS,
    NOTA_ANSWER,
    ORIGINAL,
    Altered,
    in_orders,
    nota_as_answer,
    resized,
    source_options,
    true_or_false,
    variants_of,
)
from lm_eval_cora.probes.fillers import fillers
from lm_eval_cora.question import NOTA, Question, Variant

NAME = "plus"

_REORDERINGS = 3


def plus(question: Question, *, seed: int = 0, nota_text: str = "None of the above") -> list[Variant]:
    """Make the MCQA+ set of a question: 14 variants for four options; 9, 12, 15 and 19 for 2, 3, 5 and 10.

    In this order: original; shuffled, min(3, A! - 1) reorderings, all different; options_2, options_3, options_6,
    options_8 and options_10 less the question's own number (distractors left out at random, or fillers added; in the
    source's order, fillers last); nota_answer, where the right option is gone and NOTA, last, is right; and for each
    option the question whether it is the right one, true_or_false_right or true_or_false_wrong.

    Equal distractors are one option: there are fewer orders, and true or false is asked once for both.

    Args:
        question: A question with 2 to 26 options.
        seed: Another seed gives other reorderings, distractors and fillers.
        nota_text: How NOTA is printed.

    Returns:
        The variants; `ordinal` counts them from 0, and the first one is the original.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
        >>> variants = plus(question)
        >>> len(variants)
        14
        >>> variants[9].choices, variants[9].answer == NOTA
        (('Steam', 'Fog', 'Dew', 'None of the above'), True)

    Source: MCQA+, section 4 and appendix B. There a chat model rewrote each option as a statement; here a template
    asks whether it is the right answer.
    """
    return variants_of(_altered(question, seed, nota_text))


def _altered(question: Question, seed: int, nota_text: str) -> Iterator[Altered]:
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    key = (seed, question.id, NAME)
    words = fillers(max(COUNTS), (question.stem, nota_text, *question.choices), seed, question.id)
    yield from in_orders(ORIGINAL, options, right, 1 + _REORDERINGS, *key)
    for kind, arrangement in resized(options, question.answer, words, *key).items():
        yield kind, arrangement, right, "letter"
    yield NOTA_ANSWER, nota_as_answer(options, question.answer, nota_text), NOTA, "letter"
    yield from true_or_false(options, right)
