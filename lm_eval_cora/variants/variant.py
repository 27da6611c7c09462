"""Variants: altered forms of a question, with the same fields from the probe to the samples file. Probes make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import AnyQuestion, Form, Question, Reference
from lm_eval_cora.questions.references import references
from lm_eval_cora.variants.template import LETTER, Template, Templates, own_templates, prompt_of

# The kind of the repeats of an original (option `repeats`), after its variants. Only `ResponseTable.repeats` has them.
REPEAT = "repeat"
PrintedOption = tuple[int, str]  # identity and text of an option


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
        question: Text of the question; empty if the prompt hides it.
        variants: Number of variants of the question.
        ordinal: Index of this variant among them, from 0.
        kind: How the question was altered, such as `original` or `decoupled_with_nota`.
        original: Whether this is the unchanged question of the benchmark; true for at most one variant of a question.
        ask: Name of the answer format.
        choices: Text of each printed option, in printed order.
        printed: Identity of each printed option, in the same order.
        answer: Identity of the right option, printed or not; the reference answer if there are no options.
        template: The template of the prompt. Missing in the dict if the answer format has its own prompt.
        cluster: What the question shares with others, such as a passage. Missing in the dict if it shares nothing.
        labels: The labels of options, the first ones for those that are printed. Missing in the dict for A, B, C.
        longest: The accuracy of always picking the longest option. Missing in the dict if the probe does not need it.
    """

    question_id: str
    category: str = field(default="", kw_only=True)
    refers_to_options: bool = field(default=False, kw_only=True)
    question: str = field(default="", kw_only=True)
    variants: int
    ordinal: int
    kind: str
    original: bool = field(default=False, kw_only=True)
    ask: str = field(default=LETTER, kw_only=True)
    choices: tuple[str, ...] = field(default=(), kw_only=True)
    printed: tuple[int, ...]
    answer: int | str
    template: Template | None = field(default=None, init=False)
    cluster: str = field(default="", init=False)
    labels: tuple[str, ...] = field(default=(), init=False)
    longest: float | None = field(default=None, init=False)

    @property
    def prompt(self) -> str:
        """The text to send to the model."""
        return prompt_of(vars(self))


class Altered(NamedTuple):
    """A variant as a probe returns it, without the fields that all variants of a question share."""

    kind: str
    options: Sequence[PrintedOption]
    answer: int | str
    ask: str
    original: bool = False
    template: Template | None = None


# Returns the same object for equal tuples, to save memory: many variants print the same few orders.
_one_object = lru_cache(maxsize=4096)(tuple)


def variants_of(question: AnyQuestion, altered: Iterable[Altered]) -> list[Variant]:
    """Complete the variants of a question with the fields that they share."""
    forms, variants = list(altered), []
    refers = any(references(question.choices, question.stem))
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
        if question.cluster:
            variant.cluster = question.cluster
        variants.append(variant)
    return variants


def repeats_of(variants: Sequence[Variant], times: int) -> list[Variant]:
    """Ask the original among the variants of a question again, unchanged."""
    repeats = [copy(variant) for variant in variants if variant.original for _ in range(times)]
    for ordinal, repeat in enumerate(repeats, len(variants)):
        repeat.kind, repeat.original, repeat.ordinal = REPEAT, False, ordinal
    return repeats


def place_in_asking(doc: Mapping[str, Any], hardest_first: Sequence[str]) -> tuple[bool, int, int]:
    """Sort key of a variant in the order of asking: the original, the hardest kinds, and all others in order."""
    kind = doc["kind"]
    place = hardest_first.index(kind) if kind in hardest_first else len(hardest_first)
    return not doc["original"], place, doc["ordinal"]


def passages_of(docs: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """The passage of each question; a question without one is a passage of its own."""
    return {doc["question_id"]: doc.get("cluster") or (doc["question_id"],) for doc in docs}


@dataclass(frozen=True)
class Setting:
    """Settings on which the variants of a question depend."""

    options: Options = field(default_factory=Options)
    form: Form = "generate"
    templates: Templates = field(default_factory=own_templates)


_EXAMPLES = [
    Question(f"example {number}", "What is the name for water that is frozen?", ("Steam", "Ice", "Fog"), 1)
    for number in range(9)
]


@dataclass(frozen=True)
class Probe:
    """A rule that makes variants of a question, with all that tasks, reports and exports need to know about it."""

    name: str  # in task files and in the signature
    study: str  # the paper of the probe; probes of the same study run together and accept each other's options
    summary: str  # a short description for the report
    expand: Callable[[Any, Setting], list[Variant]]  # makes the variants of a question; raises a UserError if it cannot
    formats: Mapping[Form, str]  # name of the answer format for each form; some kinds may use another format
    kinds: Mapping[str, str] = field(default_factory=dict)  # a sentence about each; empty if they are templates
    options: tuple[str, ...] = ()  # options that change its variants, except those that all probes share
    alters_options: bool = True  # also if it only reorders them
    can_alter: Callable[[Any, Sequence[Reference], Options], bool] = lambda *_: True  # a question with references
    open_questions: bool = False  # whether the probe also accepts questions without options
    samples: bool = False  # whether the variants of a question have the same prompt and differ by random sampling only
    hardest_first: tuple[str, ...] = ()  # kinds to ask directly after the original, hardest first
    one: str = "kind of variant"  # name for one kind in titles of the report
    several: str = "kinds of variants"
    note: str = "Kinds with fewer options are easier to guess."  # below the accuracy by kind in the report
    by_position: bool = False  # whether the kinds are positions of the right option
    marks_outliers: bool = False  # whether the report marks kinds whose accuracy is an outlier
    in_aggregate: bool = False  # whether the probe is part of SCORE's aggregated row
    ranked_by: tuple[str, ...] = ("cora", "acc")  # the report ranks models by the first of these that a run defines
    charts: tuple[str, ...] = ("changes", "accuracy_ranges", "by_kind", "heat_maps")  # of `report.sections.BLOCKS`
    tables: tuple[str, ...] = ("by_category", "with_references")  # folded tables in its report

    @cached_property
    def own_prompts(self) -> bool:
        """Whether its variants differ in more than their options, so that no other prompt can replace theirs.

        What a probe draws may leave some questions unchanged, so several are tried.
        """
        return any(
            one.question != example.stem or (one.template, one.labels) != (first.template, first.labels)
            for example in _EXAMPLES
            for first, *others in [self.expand(example, Setting())]
            for one in (first, *others)
        )

    def leaves_out(self, question: AnyQuestion, options: Options) -> bool:
        """Whether a question is left out because its options refer to others."""
        found = references(question.choices, question.stem)
        leaves = options.option_references == "leave_out"
        if options.option_references == "keep" and self.alters_options:
            leaves = "other" in found or not self.can_alter(question, found, options)
        return leaves and any(found)
