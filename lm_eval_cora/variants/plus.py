"""The probe of MCQA+ (section 4, appendix B): more or fewer options, NOTA as the answer, true-or-false questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lm_eval_cora.questions.question import NOTA, Question
from lm_eval_cora.questions.randomness import draw
from lm_eval_cora.variants.alterations import (
    COUNTS,
    KINDS,
    NOTA_ANSWER,
    ORIGINAL,
    TRUE_OR_FALSE_RIGHT,
    TRUE_OR_FALSE_WRONG,
    filler_options,
    in_orders,
    letters,
    nota_as_answer,
    resized,
    shuffled,
    source_options,
    true_or_false,
    with_options,
)
from lm_eval_cora.variants.template import LETTER
from lm_eval_cora.variants.variant import Altered, Probe, Setting, Variant, variants_of

NAME = "plus"


def plus(question: Question, *, seed: int = 0, nota_text: str = "None of the above") -> list[Variant]:
    """Make the MCQA+ set of a question: 14 variants for four options; 9, 12, 15 and 19 for 2, 3, 5 and 10.

    The kinds, in this order, for A options:

    - original.
    - shuffled: min(3, A! - 1) other orders, all different.
    - options_2, options_3, options_6, options_8 and options_10, without the question's own number: distractors are
      removed at random, or fillers are added at the end. The other options keep their order.
    - nota_answer: the right option is removed and NOTA, which is then right, is added at the end.
    - true_or_false_right and true_or_false_wrong: for each option, in the question's order, whether it is right.

    Equal distractors count as one option, so there are fewer orders and only one true-or-false question for them.

    Args:
        question: A question with 2 to 26 options.
        seed: Seed of the reorderings, removed distractors and fillers.
        nota_text: Text of NOTA.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
        >>> variants = plus(question)
        >>> len(variants)
        14
        >>> variants[9].choices, variants[9].answer == NOTA
        (('Steam', 'Fog', 'Dew', 'None of the above'), True)

    Source: MCQA+, section 4 and appendix B. There a chat model rewrites each option as a statement. Here a template
    asks whether the option is the right answer.
    """
    return variants_of(question, _altered(question, seed, nota_text))


def _altered(question: Question, seed: int, nota_text: str) -> Iterator[Altered]:
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    key = (seed, question.id, NAME)
    more = filler_options(question, nota_text, seed)
    yield from in_orders(ORIGINAL, options, right, 1 + 3, *key)
    for kind, arrangement in resized(options, question.answer, more, *key).items():
        yield letters(kind, arrangement, right)
    yield letters(NOTA_ANSWER, nota_as_answer(options, question.answer, nota_text), NOTA)
    yield from true_or_false(options, right)


def _expand(question: Question, setting: Setting) -> list[Variant]:
    """Make all variants, or a single random one of them with the option `variants`."""
    options = setting.options
    variants = plus(question, seed=options.seed, nota_text=options.nota_text)
    if options.variants is None:
        return variants
    drawn = variants[draw(len(variants), options.seed, question.id, NAME, "variants")]
    return [replace(drawn, ordinal=0, variants=1)]


_OTHERS = (NOTA_ANSWER, TRUE_OR_FALSE_RIGHT, TRUE_OR_FALSE_WRONG)

PLUS = Probe(
    name=NAME,
    study="MCQA+",
    summary="each question with more or fewer options, with “None of the above” as the right answer, and as "
    "true-or-false questions (MCQA+)",
    expand=_expand,
    formats={"generate": LETTER, "loglikelihood": LETTER},
    kinds={kind: KINDS[kind] for kind in (ORIGINAL, shuffled(ORIGINAL), *map(with_options, COUNTS), *_OTHERS)},
    options=("variants",),
    # docs/cost.md: SmolLM2-135M got nearly all variants of the first two kinds wrong, 82% of `shuffled`, and none of
    # the other kinds.
    hardest_first=(TRUE_OR_FALSE_RIGHT, NOTA_ANSWER, shuffled(ORIGINAL)),
    leads=("cora", "mcqa_plus_sampled", "acc"),
    charts=("changes", "bmca_curve", "by_kind", "accuracy_ranges", "heat_maps"),
)
