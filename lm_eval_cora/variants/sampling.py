"""The sampling probe of SCORE (section 3.2): the same prompt five times, with random sampling."""

from __future__ import annotations

from lm_eval_cora.answers.formats import BEST_ANSWER
from lm_eval_cora.questions.question import OpenQuestion, Question
from lm_eval_cora.variants.probe import Probe, Setting
from lm_eval_cora.variants.prompts import unaltered
from lm_eval_cora.variants.template import Template
from lm_eval_cora.variants.variant import Variant, variants_of

NAME = "sampling"

SAMPLES = 5

KINDS = {
    f"sample_{number}": f"Random sample {number} of {SAMPLES} with the same prompt." for number in range(1, SAMPLES + 1)
}


def sampling(question: Question | OpenQuestion, template: Template) -> list[Variant]:
    """Ask a question five times. None of the five variants is the original.

    Args:
        question: A question, with or without options.
        template: The template of the prompt.

    Returns:
        Five variants that differ only in their kinds.

    Example:
        >>> question = Question("q1", "What is frozen water?", ("Steam", "Ice"), 1)
        >>> [variant.kind for variant in sampling(question, Template("brief", "{question}{options}"))]
        ['sample_1', 'sample_2', 'sample_3', 'sample_4', 'sample_5']

    Source: SCORE, section 3.2 (non-greedy inference): five seeds at a temperature of 0.7.
    """
    return variants_of(question, (unaltered(question, kind, template) for kind in KINDS))


def _expand(question: Question, setting: Setting) -> list[Variant]:
    return sampling(question, setting.templates.fixed)


SAMPLING = Probe(
    name=NAME,
    study="SCORE",
    summary="each question five times with the same prompt and random sampling (SCORE)",
    expand=_expand,
    formats={"generate": BEST_ANSWER.name},
    kinds=KINDS,
    options=("templates", "request_seeds"),
    open_questions=True,
    samples=True,
    one="sample",
    several="samples",
    note="",
    leads=("acc_mean", "acc"),
    in_aggregate=True,
)
