"""The harness' `process_docs` and `doc_to_*` hooks: one doc per variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from lm_eval_cora.harness.loading import to_question
from lm_eval_cora.option_references import refers_to_options
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.probes import divergent as divergent_probe
from lm_eval_cora.probes import plus as plus_probe
from lm_eval_cora.probes import revas as revas_probe
from lm_eval_cora.prompting import claim_block, letter_prompt, question_block, select_all_prompt, yes_no_prompt
from lm_eval_cora.question import LETTERS, Ask, Question, Variant
from lm_eval_cora.randomness import draw

Doc = dict[str, Any]

Form = Literal["generate", "loglikelihood"]
"""How the model is asked: it writes, or its answers are scored."""


class Docs(list[Doc]):
    """The docs of a task. The harness wants a list that has `features`; a Dataset would copy every doc at each walk."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


def divergent(rows: Iterable[Mapping[str, Any]], options: Options | None = None, form: Form = "generate") -> Docs:
    """Expand questions into the docs of the divergent probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed of the reorderings and text of NOTA.
        form: Makes no difference here.

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
    options = _without_variants(options)
    return _expand(rows, lambda q: divergent_probe.divergent(q, seed=options.seed, nota_text=options.nota_text))


def plus(rows: Iterable[Mapping[str, Any]], options: Options | None = None, form: Form = "generate") -> Docs:
    """Expand questions into the docs of MCQA+, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed and text of NOTA; with `variants` 1 each question becomes one doc, drawn by the seed.
        form: Makes no difference here.

    Returns:
        14 docs per question with four options, or one.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> len(plus([row])), len(plus([row], Options(variants=1)))
        (9, 1)
    """
    options = options or Options()

    def probe(question: Question) -> list[Variant]:
        variants = plus_probe.plus(question, seed=options.seed, nota_text=options.nota_text)
        if options.variants is None:
            return variants
        drawn = variants[draw(len(variants), options.seed, question.id, plus_probe.NAME, "variants")]
        return [replace(drawn, ordinal=0)]

    return _expand(rows, probe)


def revas(rows: Iterable[Mapping[str, Any]], options: Options | None = None, form: Form = "generate") -> Docs:
    """Expand questions into the docs of the REVAS study, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed and text of NOTA.
        form: Where answers are scored, none is asked to select all right options.

    Returns:
        45 docs per question with four options, 44 where answers are scored.

    Raises:
        OptionError: If an option is given that this probe does not have.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> len(revas([row])), len(revas([row], form="loglikelihood"))
        (35, 34)
    """
    options = _without_variants(options)
    written = form == "generate"
    return _expand(
        rows, lambda q: revas_probe.revas(q, seed=options.seed, nota_text=options.nota_text, select_all=written)
    )


def _without_variants(options: Options | None) -> Options:
    if options and options.variants is not None:
        raise OptionError(
            "option 'variants': only the tasks named cora_..._plus have it, and it holds for all tasks of a run; "
            "ask for them in a run of their own"
        )
    return options or Options()


def _expand(rows: Iterable[Mapping[str, Any]], probe: Callable[[Question], list[Variant]]) -> Docs:
    docs = Docs()
    for row in rows:
        question = to_question(row)
        variants = probe(question)
        shared = {
            "question_id": question.id,
            "category": question.category,
            "refers_to_options": refers_to_options(question.choices),
            "question": question.stem,
            "variants": len(variants),
        }
        docs.extend(
            {
                **shared,
                "ordinal": variant.ordinal,
                "kind": variant.kind,
                "ask": variant.ask,
                "choices": variant.choices,
                "printed": variant.printed,
                "answer": variant.answer,
            }
            for variant in variants
        )
    return docs


def exemplar(question: Question, ask: Ask = "letter", claimed: int = 0) -> Doc:
    """A question with its answer as a doc, its text rendered once for all the variants that it stands before.

    Args:
        question: The exemplar, in its original form.
        ask: What the variants after it ask for, and so it does.
        claimed: Position of the option that a true-or-false exemplar is about.
    """
    if ask == "yes_no":
        text, shown = claim_block(question.stem, question.choices[claimed]), slice(claimed, claimed + 1)
    else:
        text, shown = question_block(question.stem, question.choices), slice(None)
    return {
        "text": text,
        "question": question.stem,
        "ask": ask,
        "choices": question.choices[shown],
        "printed": question.identities[shown],
        "answer": question.answer,
    }


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc whose answer is written."""
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
    """The right answer: the letter of the right option, or yes or no."""
    if doc["ask"] == "yes_no":
        return "yes" if doc["answer"] in doc["printed"] else "no"
    return LETTERS[doc["printed"].index(doc["answer"])]
