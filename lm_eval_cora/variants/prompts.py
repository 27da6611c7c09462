"""The prompts probe of SCORE (section 3.2), and its sampling probe: the same prompt five times, at random."""

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.template import BEST_ANSWER, BOXED, Template, Templates
from lm_eval_cora.variants.variant import Altered, Probe, Setting, Variant, variants_of

# A template that SCORE's paper drops, because it asks for a single letter only and then for a sentence.
SINGLE_LETTER = "single_letter_only"


def unaltered(question: Question | OpenQuestion, kind: str, template: Template, *, original: bool = False) -> Altered:
    """Make a variant that asks for the best answer, or for a boxed answer if there are no options."""
    ask = BOXED if isinstance(question, OpenQuestion) else BEST_ANSWER
    options = list(zip(question.identities, question.choices, strict=True))
    return Altered(kind, options, question.answer, ask, original=original, template=template)


def prompts(question: Question | OpenQuestion, templates: Templates) -> list[Variant]:
    """Ask a question with each template. Question and options are unchanged.

    The names of the templates are the kinds, and the variant of the fixed template is the original.

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
    compared = {template.name for template in setting.templates.all} - {SINGLE_LETTER}
    if len(compared) < 2:
        raise UserError(
            f"option 'templates': expected at least two templates besides {SINGLE_LETTER!r}, because the prompts "
            f"probe compares their answers, got {len(compared)}. Add templates to the file."
        )
    return prompts(question, setting.templates)


PROMPTS = Probe(
    name="prompts",
    study="SCORE",
    summary="each question in differently worded prompts (SCORE)",
    expand=_expand,
    formats={"generate": BEST_ANSWER},
    options=("templates",),
    alters_options=False,
    open_questions=True,
    one="template",
    several="templates",
    note="The table marks a template as an outlier if its accuracy is more than 1.5 interquartile ranges below the "
    "first or above the third quartile.",
    marks_outliers=True,
    in_aggregate=True,
)

_KINDS = {f"sample_{number}": f"Random sample {number} of 5 with the same prompt." for number in range(1, 6)}


def sampling(question: Question | OpenQuestion, template: Template) -> list[Variant]:
    """Ask a question five times. None of the five variants is the original.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice"), 1)
        >>> [variant.kind for variant in sampling(question, Template("brief", "{question}{options}"))]
        ['sample_1', 'sample_2', 'sample_3', 'sample_4', 'sample_5']

    Source: SCORE, section 3.2 (non-greedy inference): five seeds at a temperature of 0.7.
    """
    return variants_of(question, (unaltered(question, kind, template) for kind in _KINDS))


SAMPLING = Probe(
    name="sampling",
    study="SCORE",
    summary="each question five times with the same prompt and random sampling (SCORE)",
    expand=lambda question, setting: sampling(question, setting.templates.fixed),
    formats={"generate": BEST_ANSWER},
    kinds=_KINDS,
    options=("templates", "request_seeds"),
    alters_options=False,
    open_questions=True,
    samples=True,
    one="sample",
    several="samples",
    note="",
    ranked_by=("acc_mean", "acc"),
    in_aggregate=True,
)
