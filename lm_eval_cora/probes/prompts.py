"""The prompts probe of SCORE (section 3.2): the same question in other words."""

from __future__ import annotations

from lm_eval_cora.formats import BEST_ANSWER
from lm_eval_cora.options import OptionError
from lm_eval_cora.probes.base import Probe, Setting
from lm_eval_cora.probes.unaltered import unaltered
from lm_eval_cora.prompting.template import Templates
from lm_eval_cora.question import OpenQuestion, Question
from lm_eval_cora.variants import Variant, variants_of

NAME = "prompts"

SINGLE_LETTER = "single_letter_only"
"""The template that SCORE's paper drops: it asks for one letter and nothing else, and then for a sentence."""


def prompts(question: Question | OpenQuestion, templates: Templates) -> list[Variant]:
    """Ask a question with each template, question and options unchanged.

    Args:
        question: A question, with options or without.
        templates: The templates. Their names become the kinds; the variant of the fixed one is the original.

    Returns:
        A variant per template.

    Example:
        >>> from lm_eval_cora.prompting.template import own_templates
        >>> variants = prompts(Question("q1", "What is frozen water?", ("Steam", "Ice"), 1), own_templates())
        >>> len(variants), [variant.kind for variant in variants if variant.original]
        (10, ['question_middle'])

    Source: SCORE, section 3.2 (prompt robustness) and appendix G.
    """
    fixed = templates.fixed
    return variants_of(question, (unaltered(question, one.name, one, original=one is fixed) for one in templates.all))


def _expand(question: Question | OpenQuestion, setting: Setting) -> list[Variant]:
    templates = setting.templates
    if len({template.name for template in templates.all} - {SINGLE_LETTER}) < 2:
        raise OptionError("option 'templates': expected at least two templates, whose answers can be compared")
    return prompts(question, templates)


PROMPTS = Probe(
    name=NAME,
    study="SCORE",
    summary="each question in ten templates (SCORE)",
    expand=_expand,
    formats={"generate": BEST_ANSWER.name},
    options=("templates",),
    open_questions=True,
    one="template",
    several="templates",
    note="In the table an outlier is outside 1.5 interquartile ranges around the middle half.",
    marks_outliers=True,
    in_aggregate=True,
)
