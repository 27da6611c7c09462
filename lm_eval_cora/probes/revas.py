"""The probe of the REVAS study (sections 3 and 4; MCQA+, sections 2 and 3): what its tables need, in one pass."""

from __future__ import annotations

from collections.abc import Iterator

from lm_eval_cora import formats
from lm_eval_cora.probes.alterations import (
    COUNTS,
    KINDS,
    NOTA_ANSWER,
    ORIGINAL,
    REPLACED,
    SELECT_ALL,
    TRUE_OR_FALSE_RIGHT,
    filler_options,
    in_orders,
    letters,
    nota_as_answer,
    once_each,
    resized,
    shuffled,
    source_options,
    true_or_false,
    with_options,
)
from lm_eval_cora.probes.base import Probe
from lm_eval_cora.probes.fillers import fillers
from lm_eval_cora.question import NOTA, Question
from lm_eval_cora.variants import Altered, Variant, variants_of

NAME = "revas"

_NOTA_ORDERS = 4


def revas(
    question: Question, *, seed: int = 0, nota_text: str = "None of the above", select_all: bool = True
) -> list[Variant]:
    """Make the study's variants of a question: 45 for four options.

    In this order: the original and its shuffled twins, A orders in all; for 2, 3, 6, 8 and 10 options, less the
    question's own number, one draw of the options (distractors left out at random, or fillers added) in as many
    orders as it has options, the first one the source's with fillers last; nota_answer, the right option gone and
    NOTA right, in min(4, A!) orders, NOTA last in the first one; true or false for each option; select_all; and for
    each distractor the original with a filler in its place (replaced). Of few options fewer orders exist: two have 2.

    Equal distractors are one option: there are fewer orders, true or false is asked once for both, and both are
    replaced at once.

    Args:
        question: A question with 2 to 26 options.
        seed: Another seed gives other orders, distractors and fillers.
        nota_text: How NOTA is printed.
        select_all: Whether to ask for all right letters at once; scored letters cannot answer that.

    Returns:
        The variants; `ordinal` counts them from 0, and the first one is the original.

    Example:
        >>> variants = revas(Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog", "Dew"), 1))
        >>> from collections import Counter
        >>> len(variants), Counter(variant.ask for variant in variants)
        (45, Counter({'letter': 40, 'yes_no': 4, 'select_all': 1}))

    Source: REVAS, sections 3.3, 3.4 and 4. Its 37 variants are 33 orders and four true-or-false questions; what NOTA,
    select-all and replacement cost, it does not count.
    """
    return variants_of(question, _altered(question, seed, nota_text, select_all))


def _altered(question: Question, seed: int, nota_text: str, select_all: bool) -> Iterator[Altered]:
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    words = fillers(max(*COUNTS, len(options)), (question.stem, nota_text, *question.choices), seed, question.id)
    key = (seed, question.id, NAME)

    arrangements = {ORIGINAL: options, **resized(options, question.answer, words, *key)}
    for kind, arrangement in arrangements.items():
        yield from in_orders(kind, arrangement, right, len(arrangement), *key)
    with_nota = nota_as_answer(options, question.answer, nota_text)
    yield from in_orders(NOTA_ANSWER, with_nota, NOTA, _NOTA_ORDERS, *key)
    yield from true_or_false(options, right)
    if select_all:
        yield Altered(SELECT_ALL, options, right, formats.SELECT_ALL.name)
    in_place = filler_options(words)
    for distractor, _ in once_each(options):
        if distractor != right:
            replaced = [in_place[p] if option[0] == distractor else option for p, option in enumerate(options)]
            yield letters(REPLACED, replaced, right)


_IN_ORDERS = (*map(with_options, COUNTS), NOTA_ANSWER)

REVAS = Probe(
    name=NAME,
    study="REVAS",
    summary="the study of REVAS and MCQA+: orders, numbers of options, “None of the above”, true or false, select all",
    expand=lambda question, setting: revas(
        question,
        seed=setting.options.seed,
        nota_text=setting.options.nota_text,
        select_all=setting.form == "generate",
    ),
    formats={"generate": formats.LETTER.name, "loglikelihood": formats.LETTER.name},
    kinds={
        **KINDS,
        **{shuffled(kind): f"The options of {kind} in another order." for kind in _IN_ORDERS},
    },
    hardest_first=(TRUE_OR_FALSE_RIGHT, NOTA_ANSWER, shuffled(ORIGINAL)),
    tables=("study_tables", "by_category", "with_references"),
)
