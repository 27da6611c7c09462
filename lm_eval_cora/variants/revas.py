"""The probe of the REVAS study (sections 3 and 4; MCQA+, sections 2 and 3), with all variants for its tables."""

from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants import alterations, template
from lm_eval_cora.variants.alterations import shuffled
from lm_eval_cora.variants.variant import Altered, Probe, Setting, Variant, variants_of

NAME = "revas"


def revas(
    question: Question, *, seed: int = 0, nota_text: str = "None of the above", select_all: bool = True
) -> list[Variant]:
    """Make the variants of a question for the REVAS study: 45 for four options.

    The kinds, in this order, for A options:

    - original and shuffled: A orders in total.
    - options_n and options_n_shuffled for n = 2, 3, 6, 8 and 10, without the question's own number: distractors are
      removed at random once, or fillers are added at the end, and the result is printed in n orders. The first order is
      the question's own.
    - nota_answer and nota_answer_shuffled: the right option is removed and NOTA, which is then right, is added, in
      min(4, A!) orders. The first order has NOTA at the end.
    - true_or_false_right and true_or_false_wrong: for each option, whether it is right.
    - select_all.
    - replaced: for each distractor, the original with a filler in its place.

    Equal distractors count as one option, so there are fewer orders and only one true-or-false question for them, and
    they are replaced together.

    If the question has `references`, options that refer to all or to none of the others are last in all variants but
    the original, also after fillers, and are the first ones to be removed. Those about none are NOTA. A variant is not
    made if it had not exactly one right option, or another one. If "All of the above" is right, only reordered variants
    are made, and those without a wrong "None of these". True or false is not asked about these options.

    Args:
        question: A question with 2 to 26 options.
        seed: Seed of the orders, removed distractors and fillers.
        nota_text: Text of NOTA.
        select_all: Whether to ask for all right letters. The loglikelihood form cannot ask for them.

    Example:
        >>> variants = revas(Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1))
        >>> from collections import Counter
        >>> len(variants), Counter(variant.ask for variant in variants)
        (45, Counter({'letter': 40, 'yes_no': 4, 'select_all': 1}))

    Source: REVAS, sections 3.3, 3.4 and 4. Its 37 variants are 33 orders and four true-or-false questions. It does not
    count the variants with NOTA, select_all and replaced.
    """
    more = alterations.filler_options(question, nota_text, seed)
    altered = [*alterations.of_mcqa_plus(question, more, seed, nota_text, NAME, several_orders=True)]
    options = alterations.source_options(question, nota_text)
    right = options[question.answer][0]
    if select_all:
        altered.append(Altered(alterations.SELECT_ALL, options, right, template.SELECT_ALL))
    for distractor, _ in alterations.once_each(options):
        if distractor != right:
            replaced = [more[p] if option[0] == distractor else option for p, option in enumerate(options)]
            altered.append(alterations.letters(alterations.REPLACED, replaced, right))
    return variants_of(question, alterations.kept(question, altered))


_IN_ORDERS = (*map(alterations.with_options, alterations.COUNTS), alterations.NOTA_ANSWER)


def _expand(question: Question, setting: Setting) -> list[Variant]:
    return revas(
        question, seed=setting.options.seed, nota_text=setting.options.nota_text, select_all=setting.form == "generate"
    )


REVAS = Probe(
    name=NAME,
    study="REVAS",
    summary="each question reordered, with more or fewer options, with “None of the above” as the right answer, as "
    "true-or-false questions and as a select-all question (REVAS and MCQA+)",
    expand=_expand,
    formats={"generate": template.LETTER, "loglikelihood": template.LETTER},
    kinds={**alterations.KINDS, **{shuffled(kind): f"The options of {kind} in another order." for kind in _IN_ORDERS}},
    hardest_first=alterations.HARDEST_FIRST,
    ranked_by=("acc_h@original", "acc"),
    tables=("study_tables", "by_category", "with_references"),
)
