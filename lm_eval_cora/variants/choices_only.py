"""The choices-only probe: the options of a question without the question."""

from lm_eval_cora.questions.question import Question
from lm_eval_cora.variants.alterations import KINDS, ORIGINAL, letters
from lm_eval_cora.variants.template import LETTER
from lm_eval_cora.variants.variant import Probe, Variant, variants_of

NAME = "choices_only"


def choices_only(question: Question) -> list[Variant]:
    """Ask a question as it is, and again with its options alone.

    The prompt of the second variant says that the question is hidden, and so do its exemplars.

    Args:
        question: A question with 2 to 26 options.

    Returns:
        Two variants of the kinds `original` and `choices_only`. Their `longest` is the accuracy of always picking the
        option with the most characters; t options of this length share it: 1/t if the right one is among them, else 0.
        Equal options count as one.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Ice", "Fog", "No"), 1)
        >>> [(variant.kind, variant.question, variant.longest) for variant in choices_only(question)]
        [('original', 'What is frozen water?', 0.5), ('choices_only', '', 0.5)]

    Source: Balepur et al. 2024 (arXiv:2402.12483), "Artifacts or Abduction".
    """
    options = list(zip(question.identities, question.choices, strict=True))
    variants = variants_of(question, (letters(kind, options, question.answer) for kind in (ORIGINAL, NAME)))
    variants[1].question = ""
    most = max(map(len, question.choices))
    longest = {identity for identity, text in options if len(text) == most}
    for variant in variants:
        variant.longest = (question.answer in longest) / len(longest)
    return variants


CHOICES_ONLY = Probe(
    name=NAME,
    study="Balepur et al.",
    summary="each question with and without its text, to measure how much is guessed from the options (Balepur et al.)",
    expand=lambda question, _: choices_only(question),
    formats={"generate": LETTER, "loglikelihood": LETTER},
    kinds={ORIGINAL: KINDS[ORIGINAL], NAME: "The same options; the prompt hides the question."},
    alters_options=False,
    note="Guessing at random has the accuracy `chance`.",
    ranked_by=("acc",),
    charts=("by_kind", "changes"),
    tables=(),
)
