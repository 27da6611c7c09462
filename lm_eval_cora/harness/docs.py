"""The harness' `process_docs` and `doc_to_*` hooks: one doc per variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lm_eval_cora.harness.loading import to_question
from lm_eval_cora.option_references import refers_to_options
from lm_eval_cora.options import Options
from lm_eval_cora.probes import divergent as divergent_probe
from lm_eval_cora.prompting import letter_prompt, question_block
from lm_eval_cora.question import LETTERS, Question, Variant

Doc = dict[str, Any]


class Docs(list[Doc]):
    """The docs of a task. The harness wants a list that has `features`; a Dataset would copy every doc at each walk."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


def divergent(rows: Iterable[Mapping[str, Any]], options: Options | None = None) -> Docs:
    """Expand questions into the docs of the divergent probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        options: Seed of the reorderings and text of NOTA.

    Returns:
        2 + 6(A - 1) docs per question with A options.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> docs = divergent([row])
        >>> len(docs), docs[0]["kind"], docs[1]["choices"]
        (8, 'original', ('Air', 'Water'))
    """
    options = options or Options()
    return _expand(rows, lambda q: divergent_probe.divergent(q, seed=options.seed, nota_text=options.nota_text))


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
        right = variants[0].printed[variants[0].answer]
        docs.extend(
            {
                **shared,
                "ordinal": variant.ordinal,
                "kind": variant.kind,
                "choices": variant.choices,
                "printed": variant.printed,
                "answer": right,
            }
            for variant in variants
        )
    return docs


def exemplar(question: Question) -> Doc:
    """A question in its original form as a doc, its text rendered once for all the variants that it stands before."""
    return {
        "text": question_block(question.stem, question.choices),
        "question": question.stem,
        "choices": question.choices,
        "printed": question.identities,
        "answer": question.answer,
    }


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc that asks for a letter."""
    return letter_prompt(doc["question"], doc["choices"])


def doc_to_scored_text(doc: Doc) -> str:
    """The context of a doc whose letters are scored."""
    return question_block(doc["question"], doc["choices"])


def exemplar_to_text(doc: Doc) -> str:
    """The text of an exemplar, up to its answer."""
    text: str = doc["text"]
    return text


def doc_to_choice(doc: Doc) -> list[str]:
    """The letters that are printed, which are scored."""
    return list(LETTERS[: len(doc["printed"])])


def doc_to_target(doc: Doc) -> str:
    """The letter of the right option."""
    return LETTERS[doc["printed"].index(doc["answer"])]
