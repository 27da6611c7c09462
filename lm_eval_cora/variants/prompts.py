"""The prompts probe of SCORE (section 3.2): questions in differently worded prompts."""

from __future__ import annotations

from lm_eval_cora.answers.formats import BEST_ANSWER, BOXED
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.probe import Probe, Setting
from lm_eval_cora.variants.template import Template, Templates
from lm_eval_cora.variants.variant import Altered, Variant, variants_of


def unaltered(
    question: Question | OpenQuestion, kind: str, template: Template | None, *, original: bool = False
) -> Altered:
    r"""Make a variant that asks for the best answer, or for a boxed answer if there are no options.

    Args:
        question: A question, with or without options.
        kind: Kind of the variant.
        template: The template of the prompt.
        original: Whether the variant is the original.

    Example:
        >>> unaltered(OpenQuestion("q1", "What is half of a half?", r"\frac14"), "sample_1", None).ask
        'boxed'
    """
    ask = BOXED if isinstance(question, OpenQuestion) else BEST_ANSWER
    options = list(zip(question.identities, question.choices, strict=True))
    return Altered(kind, options, question.answer, ask.name, original=original, template=template)


NAME = "prompts"

SINGLE_LETTER = "single_letter_only"
"""A template that SCORE's paper drops, because it asks for a single letter only and then for a sentence."""


def prompts(question: Question | OpenQuestion, templates: Templates) -> list[Variant]:
    """Ask a question with each template. Question and options are unchanged.

    Args:
        question: A question, with or without options.
        templates: The templates. Their names are the kinds, and the variant of the fixed template is the original.

    Returns:
        One variant per template.

    Example:
        >>> from lm_eval_cora.variants.template import own_templates
        >>> variants = prompts(Question("q1", "What is frozen water?", ("Steam", "Ice"), 1), own_templates())
        >>> len(variants), [variant.kind for variant in variants if variant.original]
        (10, ['question_middle'])

    Source: SCORE, section 3.2 (prompt robustness) and appendix G.
    """
    fixed = templates.fixed
    return variants_of(question, (unaltered(question, one.name, one, original=one is fixed) for one in templates.all))


def _expand(question: Question | OpenQuestion, setting: Setting) -> list[Variant]:
    templates = setting.templates
    compared = {template.name for template in templates.all} - {SINGLE_LETTER}
    if len(compared) < 2:
        raise UserError(
            f"option 'templates': expected at least two templates besides {SINGLE_LETTER!r}, because the prompts probe "
            f"compares their answers, got {len(compared)}. Add templates to the file."
        )
    return prompts(question, templates)


PROMPTS = Probe(
    name=NAME,
    study="SCORE",
    summary="each question in differently worded prompts (SCORE)",
    expand=_expand,
    formats={"generate": BEST_ANSWER.name},
    options=("templates",),
    open_questions=True,
    one="template",
    several="templates",
    note="The table marks a template as an outlier if its accuracy is more than 1.5 interquartile ranges below the "
    "first or above the third quartile.",
    marks_outliers=True,
    in_aggregate=True,
)
