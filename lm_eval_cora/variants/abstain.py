"""The abstain probe: questions with "I don't know" as an added last option."""

from lm_eval_cora.questions.question import ABSTAIN, MAX_OPTIONS, Question
from lm_eval_cora.variants.alterations import KINDS, ORIGINAL, letters
from lm_eval_cora.variants.template import LETTER
from lm_eval_cora.variants.variant import Probe, Variant, variants_of

NAME = "abstain"
WARNED = f"{NAME}_warned"


def abstain(question: Question, *, text: str = "I don't know") -> list[Variant]:
    """Ask a question as it is, and twice with "I don't know" as a further option, which is never right.

    The options are in their own order, so that "All of the above" keeps its place; the added one is last. The last
    variant says after the question that a wrong answer costs a point.

    Args:
        question: A question with 2 to 26 options.
        text: The text of the added option.

    Returns:
        Three variants of the kinds `original`, `abstain` and `abstain_warned`. The original alone if the question has
        an option with this text, or 26 options, so that no letter is left.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice"), 1)
        >>> [variant.choices for variant in abstain(question)][1:]
        [('Steam', 'Ice', "I don't know"), ('Steam', 'Ice', "I don't know")]
        >>> print(abstain(question)[2].question)
        What is frozen water?
        A right answer gains a point, a wrong answer costs a point, and "I don't know" does neither.

    Source: ours.
    """
    options = list(zip(question.identities, question.choices, strict=True))
    altered = [letters(ORIGINAL, options, question.answer)]
    if len(options) < MAX_OPTIONS and text not in question.choices:
        altered += [letters(kind, [*options, (ABSTAIN, text)], question.answer) for kind in (NAME, WARNED)]
    variants = variants_of(question, altered)
    for variant in variants[2:]:
        variant.question += f'\nA right answer gains a point, a wrong answer costs a point, and "{text}" does neither.'
    return variants


ABSTENTION = Probe(
    name=NAME,
    study="this package",
    summary="each question with and without the option “I don't know”, to measure whether the model uses it when it "
    "would be wrong",
    expand=lambda question, setting: abstain(question, text=setting.options.abstain_text),
    formats={"generate": LETTER, "loglikelihood": LETTER},
    kinds={
        ORIGINAL: KINDS[ORIGINAL],
        NAME: "The same options in the same order, then “I don't know”.",
        WARNED: f"The same as {NAME}; the prompt says that a wrong answer costs a point.",
    },
    options=("abstain_text",),
    alters_options=False,
    note="An abstention is not a right answer; acc_answered leaves it out.",
    ranked_by=("penalised", "mcqa"),
    charts=("by_kind",),
    tables=(),
)
