"""The probe of MCQA+ (section 4, appendix B): more or fewer options, NOTA as the answer, true-or-false questions."""

from dataclasses import replace

from lm_eval_cora.questions.question import Question
from lm_eval_cora.questions.randomness import draw
from lm_eval_cora.variants import alterations
from lm_eval_cora.variants.alterations import KINDS, REPLACED, SELECT_ALL
from lm_eval_cora.variants.template import LETTER
from lm_eval_cora.variants.variant import Probe, Setting, Variant, variants_of

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

    If the question has `references`, options that refer to all or to none of the others are last in all variants but
    the original, also after fillers, and are the first ones to be removed. Those about none are NOTA. A variant is not
    made if it had not exactly one right option, or another one. If "All of the above" is right, only reordered variants
    are made, and those without a wrong "None of these". True or false is not asked about these options.

    Args:
        question: A question with 2 to 26 options.
        seed: Seed of the reorderings, removed distractors and fillers.
        nota_text: Text of NOTA.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1)
        >>> variants = plus(question)
        >>> len(variants), variants[9].kind, variants[9].choices
        (14, 'nota_answer', ('Steam', 'Fog', 'Dew', 'None of the above'))

    Source: MCQA+, section 4 and appendix B. There a chat model rewrites each option as a statement. Here a template
    asks whether the option is the right answer.
    """
    more = alterations.filler_options(question, nota_text, seed)
    altered = alterations.of_mcqa_plus(question, more, seed, nota_text, NAME)
    return variants_of(question, alterations.kept(question, altered))


def _expand(question: Question, setting: Setting) -> list[Variant]:
    """Make all variants, or a single random one of them with the option `variants`."""
    seed, nota_text = setting.options.seed, setting.options.nota_text
    variants = plus(question, seed=seed, nota_text=nota_text)
    if setting.options.variants is None:
        return variants
    return [replace(variants[draw(len(variants), seed, question.id, NAME, "variants")], ordinal=0, variants=1)]


PLUS = Probe(
    name=NAME,
    study="MCQA+",
    summary="each question with more or fewer options, with “None of the above” as the right answer, and as "
    "true-or-false questions (MCQA+)",
    expand=_expand,
    formats={"generate": LETTER, "loglikelihood": LETTER},
    kinds={kind: meaning for kind, meaning in KINDS.items() if kind not in (SELECT_ALL, REPLACED)},
    options=("variants",),
    hardest_first=alterations.HARDEST_FIRST,
    ranked_by=("cora", "mcqa_plus_sampled", "acc"),
    charts=("changes", "bmca_curve", "by_kind", "accuracy_ranges", "heat_maps"),
)
