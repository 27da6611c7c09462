"""Variants: altered forms of a question, with the same fields from the probe to the samples file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.questions.question import OpenQuestion, Question, refers_to_options
from lm_eval_cora.variants.template import Template


# Not frozen, because creating a frozen object takes six times as long. The harness gets `vars(variant)` as a doc and
# writes it to the samples file with the fields in this order. Python stores the keys of such a dict once per class, so
# it takes a third of the memory of a plain dict; a run has up to 635,804 docs.
@dataclass
class Variant:
    """One altered form of a question.

    Attributes:
        question_id: Id of the source question.
        category: Category of the question; empty if it has none.
        refers_to_options: Whether an option of the question refers to other options.
        question: Text of the question.
        variants: Number of variants of the question.
        ordinal: Index of this variant among them, from 0.
        kind: How the question was altered, such as `original` or `decoupled_with_nota`.
        original: Whether this is the unchanged question of the benchmark; true for at most one variant of a question.
        ask: Name of the answer format.
        choices: Text of each printed option, in printed order.
        printed: Identity of each printed option, in the same order.
        answer: Identity of the right option, printed or not; the reference answer if there are no options.
        template: The template of the prompt. Missing in the dict if the answer format has its own prompt.
    """

    question_id: str
    category: str = field(default="", kw_only=True)
    refers_to_options: bool = field(default=False, kw_only=True)
    question: str = field(default="", kw_only=True)
    variants: int
    ordinal: int
    kind: str
    original: bool = field(default=False, kw_only=True)
    ask: str = field(default="letter", kw_only=True)
    choices: tuple[str, ...] = field(default=(), kw_only=True)
    printed: tuple[int, ...]
    answer: int | str
    template: Template | None = field(default=None, init=False)

    @property
    def prompt(self) -> str:
        """The text to send to the model."""
        return FORMATS[self.ask].prompt(vars(self))


@dataclass(frozen=True)
class Altered:
    """A variant as a probe returns it, without the fields that all variants of a question share.

    Attributes:
        kind: How the question was altered.
        options: Identity and text of each printed option, in printed order.
        answer: Identity of the right option, or the reference answer.
        ask: Name of the answer format.
        original: Whether this is the unchanged question of the benchmark.
        template: The template of the prompt; None if the answer format has its own prompt.
    """

    kind: str
    options: Sequence[tuple[int, str]]
    answer: int | str
    ask: str
    original: bool = False
    template: Template | None = None


def variants_of(question: Question | OpenQuestion, altered: Iterable[Altered]) -> list[Variant]:
    """Complete the variants of a question with the fields that they share."""
    forms = list(altered)
    refers = refers_to_options(question.choices)
    variants = []
    for ordinal, form in enumerate(forms):
        variant = Variant(
            question.id,
            len(forms),
            ordinal,
            form.kind,
            _one_object(tuple(identity for identity, _ in form.options)),
            form.answer,
            category=question.category,
            refers_to_options=refers,
            question=question.stem,
            original=form.original,
            ask=form.ask,
            choices=tuple(text for _, text in form.options),
        )
        if form.template is not None:
            variant.template = form.template
        variants.append(variant)
    return variants


@lru_cache(maxsize=4096)
def _one_object(identities: tuple[int, ...]) -> tuple[int, ...]:
    """Return the same object for equal tuples, to save memory: many variants print the same few orders."""
    return identities
