"""The labels probe: questions with their options unchanged, under other labels than A, B, C, and without labels."""

from string import ascii_lowercase

from lm_eval_cora.questions.question import MAX_OPTIONS, Question
from lm_eval_cora.variants.alterations import KINDS, ORIGINAL, letters
from lm_eval_cora.variants.template import LETTER, OPTION_TEXT
from lm_eval_cora.variants.variant import Probe, Variant, variants_of

SYMBOLS = "§¶†‡※◊☆★♪♫♭♯◆◇▲△▼▽◎◈♤♧♡♢☾☼"
"""Each is one character that is rare in texts, so a response seldom contains it by chance. None has a meaning in
Markdown, JSON or LaTeX, is part of a word, a number, a price or a formula, marks a list or a verdict (• ✓), has a form
as an emoji, or changes under Unicode normalisation."""

_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx xxi xxii xxiii xxiv xxv xxvi"
STYLES: dict[str, tuple[str, ...]] = {
    "lower_case": tuple(ascii_lowercase),
    "numbers": tuple(map(str, range(1, MAX_OPTIONS + 1))),
    "roman": tuple(_ROMAN.split()),
    "symbols": tuple(SYMBOLS),
}
"""The labels of each kind but the original and the list without labels, for up to 26 options."""
NO_LABELS = "none"


def labels(question: Question, *, written: bool = True) -> list[Variant]:
    """Ask a question with its options in their own order, under five styles of labels and as a list without labels.

    The kinds, in this order: original (A, B, C), lower_case (a, b, c), numbers (1, 2, 3), roman (i, ii, iii), symbols
    (§, ¶, †) and none. The prompt names the labels and is otherwise that of the original; that of `none` asks for the
    text of an option. The exemplars of a variant have its labels.

    Args:
        question: A question with 2 to 26 options. An option that names letters, such as "Both A and B", would be wrong
            under other labels. The tasks of this probe leave such questions out (option `option_references`).
        written: Whether the model writes its answer. Texts of different lengths are not scored, so `none` is left out.

    Returns:
        Six variants, or five; the first one is the original.

    Example:
        >>> variants = labels(Question("q1", "What is frozen water?", ("Steam", "Ice", "Fog"), 1))
        >>> [(variant.kind, *variant.labels[:3]) for variant in variants[2:]]
        [('numbers', '1', '2', '3'), ('roman', 'i', 'ii', 'iii'), ('symbols', '§', '¶', '†'), ('none',)]

    Source: ours, after Alzahrani et al. 2024 (arXiv:2402.01781), who replace A, B, C, D by common ($ & # @) and by rare
    characters.
    """
    options = list(zip(question.identities, question.choices, strict=True))
    altered = [letters(kind, options, question.answer) for kind in (ORIGINAL, *STYLES)]
    if written:
        altered.append(letters(NO_LABELS, options, question.answer)._replace(ask=OPTION_TEXT))
    variants = variants_of(question, altered)
    for variant, style in zip(variants[1:], STYLES.values(), strict=False):
        variant.labels = style
    return variants


LABELS = Probe(
    name="labels",
    study="Alzahrani et al.",
    summary="each question with other labels of its options (after Alzahrani et al.)",
    expand=lambda question, setting: labels(question, written=setting.form == "generate"),
    formats={"generate": LETTER, "loglikelihood": LETTER},
    kinds={
        ORIGINAL: KINDS[ORIGINAL],
        "lower_case": "The same options in the same order, with the labels a, b, c.",
        "numbers": "The same options in the same order, with the labels 1, 2, 3.",
        "roman": "The same options in the same order, with the labels i, ii, iii.",
        "symbols": "The same options in the same order, with symbols such as § and ¶ as labels.",
        NO_LABELS: "The same options in the same order, as a list without labels. The text of one is the answer.",
    },
    one="style of labels",
    several="styles of labels",
    note="",
    tables=("by_category",),
)
