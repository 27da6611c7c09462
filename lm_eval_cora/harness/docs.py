"""The harness' `process_docs` and `doc_to_*` hooks: one doc per variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.harness.loading import to_question
from lm_eval_cora.harness.templates import templates_of
from lm_eval_cora.option_references import refers_to_options
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.probes import divergent as divergent_probe
from lm_eval_cora.probes import order as order_probe
from lm_eval_cora.probes import plus as plus_probe
from lm_eval_cora.probes import prompts as prompts_probe
from lm_eval_cora.probes import revas as revas_probe
from lm_eval_cora.probes import sampling as sampling_probe
from lm_eval_cora.prompting import claim_block, letter_prompt, question_block, select_all_prompt, yes_no_prompt
from lm_eval_cora.prompting.template import Template
from lm_eval_cora.question import LETTERS, Ask, Form, OpenQuestion, Question, Variant
from lm_eval_cora.randomness import draw

Doc = dict[str, Any]


class Docs(list[Doc]):
    """The docs of a task. The harness wants a list that has `features`; a Dataset would copy every doc at each walk."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


@dataclass
class _Fields:
    """What a doc holds.

    A doc is the `__dict__` of such an object. Python stores the keys of these once per class, so a doc takes a third of
    the memory of a plain dict. A run has up to 635,804 docs.
    """

    question_id: str
    category: str
    refers_to_options: bool
    question: str
    variants: int
    ordinal: int
    kind: str
    original: bool
    ask: Ask
    choices: tuple[str, ...]
    printed: tuple[int, ...]
    answer: int | str
    template: Template = field(init=False)


def divergent(rows: Iterable[Mapping[str, Any]], options: Options | None = None, **_: Any) -> Docs:
    """Expand questions into the docs of the divergent probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed of the reorderings and text of NOTA.
        **_: What else a probe may be told: the form, the benchmark.

    Returns:
        2 + 6(A - 1) docs per question with A options.

    Raises:
        OptionError: If an option is given that this probe does not have.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> docs = divergent([row])
        >>> len(docs), docs[0]["kind"], docs[1]["choices"]
        (8, 'original', ('Air', 'Water'))
    """
    options = _checked(options, *_TASKS_WITH)
    return _expand(
        rows, _with_options(partial(divergent_probe.divergent, seed=options.seed, nota_text=options.nota_text))
    )


def plus(rows: Iterable[Mapping[str, Any]], options: Options | None = None, **_: Any) -> Docs:
    """Expand questions into the docs of MCQA+, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed and text of NOTA; with `variants` 1 each question becomes one doc, drawn by the seed.
        **_: What else a probe may be told: the form, the benchmark.

    Returns:
        14 docs per question with four options, or one.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> len(plus([row])), len(plus([row], Options(variants=1)))
        (9, 1)
    """
    options = _checked(options, "orders", "templates", "request_seeds")

    def probe(question: Question) -> list[Variant]:
        variants = plus_probe.plus(question, seed=options.seed, nota_text=options.nota_text)
        if options.variants is None:
            return variants
        drawn = variants[draw(len(variants), options.seed, question.id, plus_probe.NAME, "variants")]
        return [replace(drawn, ordinal=0)]

    return _expand(rows, _with_options(probe))


def revas(rows: Iterable[Mapping[str, Any]], options: Options | None = None, form: Form = "generate", **_: Any) -> Docs:
    """Expand questions into the docs of the REVAS study, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed and text of NOTA.
        form: Where answers are scored, none is asked to select all right options.
        **_: What else a probe may be told: the benchmark.

    Returns:
        45 docs per question with four options, 44 where answers are scored.

    Raises:
        OptionError: If an option is given that this probe does not have.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> len(revas([row])), len(revas([row], form="loglikelihood"))
        (35, 34)
    """
    options = _checked(options, *_TASKS_WITH)
    written = form == "generate"
    return _expand(
        rows,
        _with_options(partial(revas_probe.revas, seed=options.seed, nota_text=options.nota_text, select_all=written)),
    )


def prompts(
    rows: Iterable[Mapping[str, Any]], options: Options | None = None, benchmark: Benchmark | None = None, **_: Any
) -> Docs:
    """Expand questions into the docs of SCORE's prompts probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: `templates` names a file with other ones.
        benchmark: Whose questions they are: some have templates of their own.
        **_: What else a probe may be told: the form, which is one here.

    Returns:
        A doc per question and template: ten.

    Raises:
        OptionError: If an option is given that this probe does not have, or a file cannot be read.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> docs = prompts([row])
        >>> len(docs), docs[0]["kind"], [doc["kind"] for doc in docs if doc["original"]]
        (10, 'question_first', ['question_middle'])
    """
    options = _checked(options, "variants")
    templates = templates_of(benchmark, options)
    by_name = {template.name: template for template in templates.all}
    if len(by_name.keys() - {prompts_probe.SINGLE_LETTER}) < 2:
        raise OptionError("option 'templates': expected at least two templates, whose answers can be compared")
    return _expand(
        rows, lambda q: prompts_probe.prompts(q, list(by_name), templates.fixed.name), lambda kind: by_name[kind]
    )


def order(
    rows: Iterable[Mapping[str, Any]],
    options: Options | None = None,
    form: Form = "generate",
    benchmark: Benchmark | None = None,
) -> Docs:
    """Expand questions into the docs of SCORE's order probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: `orders` says which orders; `templates` may name a file whose fixed template asks.
        form: Where letters are scored there is no template.
        benchmark: Whose questions they are.

    Returns:
        For a question with A options A docs, or A! with `orders` all.

    Raises:
        OptionError: If an option is given that this probe does not have, or asks too much of a question.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> [doc["kind"] for doc in order([row])]
        ['answer_at_A', 'answer_at_B']
    """
    scored = form == "loglikelihood"
    options = _checked(options, "variants", *(["templates"] if scored else []))
    fixed = None if scored else templates_of(benchmark, options).fixed
    ask: Ask = "letter" if scored else "best_answer"

    def probe(question: Question) -> list[Variant]:
        try:
            return order_probe.order(question, orders=options.orders, ask=ask)
        except ValueError as error:
            raise OptionError(f"{error}; the option 'orders' can be swap or cyclic instead") from None

    return _expand(rows, _with_options(probe), None if fixed is None else lambda _: fixed)


def sampling(
    rows: Iterable[Mapping[str, Any]], options: Options | None = None, benchmark: Benchmark | None = None, **_: Any
) -> Docs:
    """Expand questions into the docs of SCORE's sampling probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: `templates` may name a file whose fixed template asks.
        benchmark: Whose questions they are.
        **_: What else a probe may be told: the form, which is one here.

    Returns:
        Five docs per question, with the same prompt.

    Raises:
        OptionError: If an option is given that this probe does not have.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> len(sampling([row])), len({doc_to_text(doc) for doc in sampling([row])})
        (5, 1)
    """
    fixed = templates_of(benchmark, _checked(options, "variants")).fixed
    return _expand(rows, sampling_probe.sampling, lambda _: fixed)


_TASKS_WITH = {
    "variants": "cora_..._plus",
    "orders": "cora_..._order",
    "templates": "cora_..._prompts, _order and _sampling, where the model writes,",
    "request_seeds": "cora_..._sampling",
}
"""The options that some probes have. Those of SCORE are run together, and take each other's."""


def _checked(options: Options | None, *refused: str) -> Options:
    """The options, if none is given that would make no difference: somebody meant it to."""
    options = options or Options()
    for name in refused:
        if name in options.changed():
            raise OptionError(
                f"option {name!r}: only the tasks named {_TASKS_WITH[name]} have it, and it holds for all tasks of a "
                "run; ask for them in a run of their own"
            )
    return options


_Probe = Callable[[Any], list[Variant]]


def _with_options(probe: Callable[[Question], list[Variant]]) -> _Probe:
    """A probe that alters options, or an error before the run for a question that it cannot alter."""

    def checked(question: Question | OpenQuestion) -> list[Variant]:
        if isinstance(question, OpenQuestion):
            raise OptionError(f"question {question.id!r} has no options, and this probe alters them")
        return probe(question)

    return checked


def _expand(
    rows: Iterable[Mapping[str, Any]], probe: _Probe, template_of: Callable[[str], Template] | None = None
) -> Docs:
    docs = Docs()
    orders: dict[tuple[int, ...], tuple[int, ...]] = {}
    for row in rows:
        question = to_question(row)
        variants = probe(question)
        refers = refers_to_options(question.choices)
        for variant in variants:
            fields = _Fields(
                question.id,
                question.category,
                refers,
                question.stem,
                len(variants),
                variant.ordinal,
                variant.kind,
                variant.original,
                variant.ask,
                variant.choices,
                orders.setdefault(variant.printed, variant.printed),
                question.answer if isinstance(question, OpenQuestion) else variant.answer,
            )
            if template_of is not None:
                fields.template = template_of(variant.kind)
            docs.append(vars(fields))
    return docs


def exemplar(question: Question | OpenQuestion, like: Doc, claimed: int = 0) -> Doc:
    """A question with its answer as a doc, its text rendered once for all the variants that it stands before.

    Args:
        question: The exemplar, in its original form.
        like: A variant that it stands before: it asks what this asks, in the same words.
        claimed: Position of the option that a true-or-false exemplar is about.
    """
    shown = slice(None)
    if template := like.get("template"):
        text = template.render(question.stem, question.choices, question.category)
    elif like["ask"] == "yes_no":
        text, shown = claim_block(question.stem, question.choices[claimed]), slice(claimed, claimed + 1)
    else:
        text = question_block(question.stem, question.choices)
    return {
        "text": text,
        "question": question.stem,
        "ask": like["ask"],
        "choices": question.choices[shown],
        "printed": () if isinstance(question, OpenQuestion) else question.identities[shown],
        "answer": question.answer,
    }


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc whose answer is written."""
    if template := doc.get("template"):
        text: str = template.render(doc["question"], doc["choices"], doc["category"])
        return text
    if doc["ask"] == "yes_no":
        return yes_no_prompt(doc["question"], doc["choices"][0])
    prompt = select_all_prompt if doc["ask"] == "select_all" else letter_prompt
    return prompt(doc["question"], doc["choices"])


def doc_to_scored_text(doc: Doc) -> str:
    """The context of a doc whose answers are scored."""
    if doc["ask"] == "yes_no":
        return claim_block(doc["question"], doc["choices"][0])
    return question_block(doc["question"], doc["choices"])


def exemplar_to_text(doc: Doc) -> str:
    """The text of an exemplar, up to its answer."""
    text: str = doc["text"]
    return text


def doc_to_choice(doc: Doc) -> list[str]:
    """The answers that are scored: the printed letters, or yes and no."""
    return ["yes", "no"] if doc["ask"] == "yes_no" else list(LETTERS[: len(doc["printed"])])


def doc_to_target(doc: Doc) -> str:
    """The right answer, as it is to be written: the letter of the right option, yes or no, a sentence with either."""
    if doc["ask"] == "yes_no":
        return "yes" if doc["answer"] in doc["printed"] else "no"
    if doc["ask"] == "boxed":
        return f"The final answer is: $\\boxed{{{doc['answer']}}}$"
    letter = LETTERS[doc["printed"].index(doc["answer"])]
    return f"The best answer is {letter}." if doc["ask"] == "best_answer" else letter
