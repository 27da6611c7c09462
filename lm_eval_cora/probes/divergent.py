"""The divergent probe of CoRA (section 5): the same question with its options reordered, replaced and thinned out."""

from __future__ import annotations

from lm_eval_cora.formats import LETTER
from lm_eval_cora.probes.alterations import KINDS, ORIGINAL, Option, letters, shuffled, source_options
from lm_eval_cora.probes.base import Probe
from lm_eval_cora.question import NOTA, Question
from lm_eval_cora.randomness import reordering
from lm_eval_cora.variants import Altered, Variant, variants_of

NAME = "divergent"

WITH_NOTA = "with_nota"
DECOUPLED = "decoupled"

SAME_SIZE = (ORIGINAL, shuffled(ORIGINAL), WITH_NOTA, shuffled(WITH_NOTA))
"""The kinds that print as many options as the question has."""


def divergent(question: Question, *, seed: int = 0, nota_text: str = "None of the above") -> list[Variant]:
    """Make the divergence set of a question: 2 + 6(A - 1) variants for A options.

    In this order: original; shuffled; with_nota, one variant per distractor, which NOTA replaces where it stands;
    with_nota_shuffled; decoupled, the answer and one distractor in the question's own order; decoupled_shuffled;
    decoupled_with_nota, the answer, one distractor, then NOTA; decoupled_with_nota_shuffled. A shuffled variant is
    drawn from the orders *other than* the one it starts from; the paper's may repeat it, which asks the same prompt
    twice.

    A source option that reads like `nota_text` has NOTA's identity: the two are one answer wherever they are printed.
    (Where that is the right option, a variant may print it twice, and both are right. With the usual wordings of NOTA
    the option `skip_option_references` leaves such questions out.)

    Args:
        question: A question with 2 to 26 options.
        seed: Another seed gives other reorderings.
        nota_text: How NOTA is printed.

    Returns:
        The variants; `ordinal` counts them from 0, and the first one is the original.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog"), 1)
        >>> variants = divergent(question)
        >>> len(variants)
        14
        >>> [variants[2].choices, variants[6].choices, variants[10].choices]
        [('None of the above', 'Ice', 'Fog'), ('Steam', 'Ice'), ('Steam', 'Ice', 'None of the above')]

    Source: CoRA, section 5; 26 variants for five options.
    """
    nota: Option = (NOTA, nota_text)
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    distractors = [position for position in range(len(options)) if position != question.answer]
    with_nota = [[nota if p == d else option for p, option in enumerate(options)] for d in distractors]
    decoupled = [[options[p] for p in sorted((question.answer, d))] for d in distractors]
    arrangements = {
        ORIGINAL: [options],
        WITH_NOTA: with_nota,
        DECOUPLED: decoupled,
        f"{DECOUPLED}_{WITH_NOTA}": [[*pair, nota] for pair in decoupled],
    }
    altered: list[Altered] = []
    for kind, members in arrangements.items():
        altered += [letters(kind, member, right) for member in members]
        for member in members:
            order = reordering(member, seed, question.id, NAME, shuffled(kind), len(altered))
            altered.append(letters(shuffled(kind), order, right))
    return variants_of(question, altered)


DIVERGENT = Probe(
    name=NAME,
    study="CoRA",
    summary="each question with its options reordered, thinned out and joined by “None of the above” (CoRA)",
    expand=lambda question, setting: divergent(
        question, seed=setting.options.seed, nota_text=setting.options.nota_text
    ),
    formats={"generate": LETTER.name, "loglikelihood": LETTER.name},
    kinds={
        ORIGINAL: KINDS[ORIGINAL],
        shuffled(ORIGINAL): KINDS[shuffled(ORIGINAL)],
        WITH_NOTA: "“None of the above” replaces one of the wrong options where it stands.",
        shuffled(WITH_NOTA): f"The options of {WITH_NOTA} in another order.",
        DECOUPLED: "The right option and one wrong option, in the order of the question.",
        shuffled(DECOUPLED): f"The options of {DECOUPLED} in another order.",
        f"{DECOUPLED}_{WITH_NOTA}": "The right option, one wrong option, then “None of the above”.",
        shuffled(f"{DECOUPLED}_{WITH_NOTA}"): f"The options of {DECOUPLED}_{WITH_NOTA} in another order.",
    },
    # docs/cost.md: SmolLM2-135M got 74 to 97% of each shuffled kind wrong and at most 4% of the others. Among those
    # that are alike the kinds with as many options as the original come first: four larger models got these wrong 1.4
    # to 1.9 times as often (from CoRA, tables 1 and 5).
    hardest_first=(
        *(shuffled(ORIGINAL), shuffled(WITH_NOTA), shuffled(DECOUPLED), shuffled(f"{DECOUPLED}_{WITH_NOTA}")),
        *(WITH_NOTA, DECOUPLED, f"{DECOUPLED}_{WITH_NOTA}"),
    ),
    charts=("bmca_curve", "accuracy_ranges", "by_kind"),
    tables=("by_category", "same_size", "resampled", "with_references"),
)
