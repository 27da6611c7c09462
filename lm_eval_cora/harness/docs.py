"""The harness' `process_docs` and `doc_to_*` hooks: one doc per variant."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.expansion import uses_templates, variants_of_all
from lm_eval_cora.formats import format_of
from lm_eval_cora.harness.loading import to_question
from lm_eval_cora.harness.templates import templates_of
from lm_eval_cora.options import Options
from lm_eval_cora.probes import PROBES, Probe
from lm_eval_cora.question import Form

Doc = dict[str, Any]


class Docs(list[Doc]):
    """The docs of a task. The harness wants a list that has `features`; a Dataset would copy every doc at each walk."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


def process_docs(
    rows: Iterable[Mapping[str, Any]],
    probe: Probe,
    options: Options | None = None,
    *,
    form: Form = "generate",
    benchmark: Benchmark | None = None,
) -> Docs:
    """Expand questions into the docs of a probe, a question's variants side by side.

    Args:
        rows: As `load_benchmark` returns them.
        probe: Makes the variants.
        options: What the user changed.
        form: How the model is asked.
        benchmark: Whose questions they are: some have templates of their own.

    Returns:
        A doc per variant.

    Raises:
        OptionError: If the probe does not have one of the options, or cannot expand a question.

    Example:
        >>> row = {"id": "q1", "question": "Ice?", "choices": ["Water", "Air"], "answer": 0, "category": ""}
        >>> docs = process_docs([row], PROBES["divergent"])
        >>> len(docs), docs[0]["kind"], docs[1]["choices"]
        (8, 'original', ('Air', 'Water'))
    """
    options = options or Options()
    templates = templates_of(benchmark, options) if uses_templates(probe, form) else None
    return Docs(map(vars, variants_of_all(map(to_question, rows), probe, options, form=form, templates=templates)))


def __getattr__(name: str) -> Probe:
    """The former hooks, one for each probe: task files of users may name them."""
    if name not in PROBES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"`process_docs: !function {__name__}.{name}` is deprecated; write `process_docs: !function "
        f"{__name__}.process_docs` and `probe: {name}`",
        FutureWarning,
        stacklevel=2,
    )
    return PROBES[name]


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc whose answer is written."""
    return format_of(doc).prompt(doc)


def doc_to_scored_text(doc: Doc) -> str:
    """The context of a doc whose answers are scored."""
    return format_of(doc).context(doc)


def exemplar_to_text(doc: Doc) -> str:
    """The text of an exemplar, up to its answer."""
    text: str = doc["text"]
    return text


def doc_to_choice(doc: Doc) -> list[str]:
    """The answers that are scored."""
    return format_of(doc).scored(doc)


def doc_to_target(doc: Doc) -> str:
    """The right answer as it should be written."""
    return format_of(doc).target(doc)
