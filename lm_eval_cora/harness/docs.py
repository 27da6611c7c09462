"""The harness' `process_docs` and `doc_to_*` hooks: one doc per variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.harness.loading import to_question
from lm_eval_cora.harness.task_config import templates_of
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Form
from lm_eval_cora.variants.expansion import uses_templates, variants_of_all
from lm_eval_cora.variants.probes import Probe
from lm_eval_cora.variants.template import prompt_of

Doc = dict[str, Any]


class Docs(list[Doc]):
    """The docs of a task: a list with the attribute `features`, which the harness reads.

    A Dataset has it too, but copies every doc in each iteration.
    """

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
    """Expand questions into docs, one per variant. The variants of a question are adjacent."""
    options = options or Options()
    templates = templates_of(benchmark, options) if uses_templates(probe, form) else None
    return Docs(map(vars, variants_of_all(map(to_question, rows), probe, options, form=form, templates=templates)))


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc if the answer is written."""
    return prompt_of(doc)


def doc_to_scored_text(doc: Doc) -> str:
    """The prompt of a doc if answers are scored."""
    return prompt_of(doc, instruct=False)


def exemplar_to_text(doc: Doc) -> str:
    """The text of an exemplar, up to its answer."""
    text: str = doc["text"]
    return text


def doc_to_choice(doc: Doc) -> list[str]:
    """The answers to score."""
    return format_of(doc).scored(doc)


def doc_to_target(doc: Doc) -> str:
    """The right answer in the form that the prompt asks for."""
    return format_of(doc).target(doc)
