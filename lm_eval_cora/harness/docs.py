"""The harness' `process_docs` and `doc_to_*` hooks: one doc per variant."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.formats import FORMATS, format_of
from lm_eval_cora.harness.loading import to_question
from lm_eval_cora.harness.templates import templates_of
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.probes import PROBES, Probe, Setting
from lm_eval_cora.question import Form, OpenQuestion

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
    check_options(probe, options, form)
    setting = Setting(options, form)
    if uses_templates(probe, form):
        setting = Setting(options, form, templates_of(benchmark, options))
    docs = Docs()
    for row in rows:
        question = to_question(row)
        if isinstance(question, OpenQuestion) and not probe.open_questions:
            raise OptionError(
                f"question {question.id!r} has no options, and the probe {probe.name!r} alters options; probes for "
                f"such questions are {', '.join(other.name for other in PROBES.values() if other.open_questions)}"
            )
        docs += (vars(variant) for variant in probe.expand(question, setting))
    return docs


def uses_templates(probe: Probe, form: Form) -> bool:
    """Whether a probe asks with the templates of a benchmark."""
    return form in probe.formats and FORMATS[probe.formats[form]].uses_templates


def check_options(probe: Probe, options: Options, form: Form) -> None:
    """Refuse an option that would make no difference: the user expects one.

    The probes of a study are run together, and take each other's options.

    Raises:
        OptionError: If there is one.
    """
    taken = {name for other in PROBES.values() if other.study == probe.study for name in other.options}
    if not uses_templates(probe, form):
        taken.discard("templates")
    for name in options.changed():
        those = [other.name for other in PROBES.values() if name in other.options]
        if those and name not in taken:
            scored = " where answers are scored" if name in probe.options else ""
            raise OptionError(
                f"option {name!r}: the probe {probe.name!r} does not have it{scored}; it belongs to "
                f"{', '.join(those)}. An option holds for all tasks of a run: run these tasks separately"
            )


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
