"""The probe of MCQA+ (section 4, appendix B): more and fewer options, NOTA as the answer, true or false."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lm_eval_cora.formats import LETTER
from lm_eval_cora.probes.alterations import (
    COUNTS,
    KINDS,
    NOTA_ANSWER,
    ORIGINAL,
    TRUE_OR_FALSE_RIGHT,
    TRUE_OR_FALSE_WRONG,
    in_orders,
    letters,
    nota_as_answer,
    resized,
    shuffled,
    source_options,
    true_or_false,
    with_options,
)
from lm_eval_cora.probes.base import Probe, Setting
from lm_eval_cora.probes.fillers import fillers
from lm_eval_cora.question import NOTA, Question
from lm_eval_cora.randomness import draw
from lm_eval_cora.variants import Altered, Variant, variants_of

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
    return variants_of(question, _altered(question, seed, nota_text))


def _altered(question: Question, seed: int, nota_text: str) -> Iterator[Altered]:
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    key = (seed, question.id, NAME)
    words = fillers(max(COUNTS), (question.stem, nota_text, *question.choices), seed, question.id)
    yield from in_orders(ORIGINAL, options, right, 1 + _REORDERINGS, *key)
    for kind, arrangement in resized(options, question.answer, words, *key).items():
        yield letters(kind, arrangement, right)
    yield letters(NOTA_ANSWER, nota_as_answer(options, question.answer, nota_text), NOTA)
    yield from true_or_false(options, right)


def _expand(question: Question, setting: Setting) -> list[Variant]:
    """All variants; one of them, drawn by the seed, with the option `variants`."""
    options = setting.options
    variants = plus(question, seed=options.seed, nota_text=options.nota_text)
    if options.variants is None:
        return variants
    drawn = variants[draw(len(variants), options.seed, question.id, NAME, "variants")]
    return [replace(drawn, ordinal=0, variants=1)]


_KINDS = (
    *(ORIGINAL, shuffled(ORIGINAL), *map(with_options, COUNTS)),
    *(NOTA_ANSWER, TRUE_OR_FALSE_RIGHT, TRUE_OR_FALSE_WRONG),
)

PLUS = Probe(
    name=NAME,
    study="MCQA+",
    summary="each question with more and fewer options, “None of the above” as the answer, and true or false (MCQA+)",
    expand=_expand,
    formats={"generate": LETTER.name, "loglikelihood": LETTER.name},
    kinds={kind: KINDS[kind] for kind in _KINDS},
    options=("variants",),
    # docs/cost.md: SmolLM2-135M got nearly all of the first two kinds wrong, 82% of the shuffled, none of the rest.
    hardest_first=(TRUE_OR_FALSE_RIGHT, NOTA_ANSWER, shuffled(ORIGINAL)),
    charts=("bmca_curve", "accuracy_ranges", "by_kind"),
)
