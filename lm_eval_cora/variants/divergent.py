"""The divergent probe of CoRA (section 5): questions with their options reordered, removed, or replaced by NOTA."""

from lm_eval_cora.questions.question import NOTA, Question
from lm_eval_cora.variants.alterations import KINDS, ORIGINAL, kept, letters, orders, shuffled, source_options
from lm_eval_cora.variants.template import LETTER
from lm_eval_cora.variants.variant import Altered, Probe, Variant, variants_of

NAME = "divergent"
WITH_NOTA = "with_nota"
DECOUPLED = "decoupled"
DECOUPLED_WITH_NOTA = f"{DECOUPLED}_{WITH_NOTA}"
SAME_SIZE = (ORIGINAL, shuffled(ORIGINAL), WITH_NOTA, shuffled(WITH_NOTA))  # as many options as the question


def divergent(question: Question, *, seed: int = 0, nota_text: str = "None of the above") -> list[Variant]:
    """Make the divergence set of a question: 2 + 6(A - 1) variants for A options.

    The kinds, in this order:

    - original and shuffled: all options; one variant each.
    - with_nota and with_nota_shuffled: NOTA replaces one distractor, in its place; one variant per distractor.
    - decoupled and decoupled_shuffled: the answer and one distractor, in the question's order; one per distractor.
    - decoupled_with_nota and decoupled_with_nota_shuffled: the same, followed by NOTA; one per distractor.

    A shuffled variant never has the order of the variant that it shuffles. In the paper it may, which asks the same
    prompt twice.

    A source option with the same words as `nota_text` gets the identity NOTA, so that both are the same answer.

    If the question has `references`, options that refer to all or to none of the others ("All of the above", "None of
    these") are last in all variants but the original. The latter get the identity NOTA, too. A variant is not made if
    it had not exactly one right option, or another one: if it printed NOTA twice or the right option beside "All of the
    above" alone. If "All of the above" is right, only the original and shuffled are made, and those that replace "None
    of these" by NOTA.

    Args:
        question: A question with 2 to 26 options.
        seed: Seed of the reorderings.
        nota_text: Text of NOTA.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog"), 1)
        >>> [variant.choices for variant in divergent(question) if variant.ordinal in (2, 6, 10)]
        [('None of the above', 'Ice', 'Fog'), ('Steam', 'Ice'), ('Steam', 'Ice', 'None of the above')]

    Source: CoRA, section 5; 26 variants for five options.
    """
    nota = (NOTA, nota_text)
    options = source_options(question, nota_text)
    right = options[question.answer][0]
    distractors = [position for position in range(len(options)) if position != question.answer]
    decoupled = [[options[p] for p in sorted((question.answer, d))] for d in distractors]
    arrangements = {
        ORIGINAL: [options],
        WITH_NOTA: [[nota if p == d else option for p, option in enumerate(options)] for d in distractors],
        DECOUPLED: decoupled,
        DECOUPLED_WITH_NOTA: [[*pair, nota] for pair in decoupled],
    }
    altered = list[Altered]()
    for kind, members in arrangements.items():
        altered += [letters(kind, member, right) for member in members]
        for member in members:
            drawn = orders(question, member, 2, seed, question.id, NAME, shuffled(kind), len(altered))
            altered += [letters(shuffled(kind), order, right) for order in drawn[1 if question.references else -1 :]]
    return variants_of(question, kept(question, altered))


DIVERGENT = Probe(
    name=NAME,
    study="CoRA",
    summary="each question with its options reordered, removed or replaced by “None of the above” (CoRA)",
    expand=lambda question, to: divergent(question, seed=to.options.seed, nota_text=to.options.nota_text),
    formats={"generate": LETTER, "loglikelihood": LETTER},
    kinds={
        ORIGINAL: KINDS[ORIGINAL],
        shuffled(ORIGINAL): KINDS[shuffled(ORIGINAL)],
        WITH_NOTA: "“None of the above” replaces one of the wrong options, in its place.",
        shuffled(WITH_NOTA): f"The options of {WITH_NOTA} in another order.",
        DECOUPLED: "Only the right option and one wrong option, in their original order.",
        shuffled(DECOUPLED): f"The options of {DECOUPLED} in another order.",
        DECOUPLED_WITH_NOTA: "Only the right option and one wrong option, followed by “None of the above”.",
        shuffled(DECOUPLED_WITH_NOTA): f"The options of {DECOUPLED_WITH_NOTA} in another order.",
    },
    # docs/results.md: SmolLM2-135M got 74 to 97% of each shuffled kind wrong, and at most 4% of each other kind. Among
    # similar kinds, those with as many options as the original come first, because four larger models got these wrong
    # 1.4 to 1.9 times as often (from CoRA, tables 1 and 5).
    hardest_first=(
        *map(shuffled, (ORIGINAL, WITH_NOTA, DECOUPLED, DECOUPLED_WITH_NOTA)),
        *(WITH_NOTA, DECOUPLED, DECOUPLED_WITH_NOTA),
    ),
    charts=("changes", "bmca_curve", "by_kind", "accuracy_ranges", "heat_maps"),
    tables=("by_category", "same_size", "resampled", "with_references"),
)
