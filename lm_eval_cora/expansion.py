"""Questions -> variants, for the harness' tasks and for Python users who query a model themselves."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_cora.benchmarks import BenchmarkError
from lm_eval_cora.formats import FORMATS
from lm_eval_cora.loading import load_questions
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.probes import PROBES, Probe, Setting
from lm_eval_cora.prompting.template import Templates, make_templates, own_templates
from lm_eval_cora.question import Form, OpenQuestion, Question
from lm_eval_cora.suggestions import did_you_mean
from lm_eval_cora.task_files import benchmark
from lm_eval_cora.variants import Variant

_logger = logging.getLogger("lm_eval.cora")  # the logger of lm_eval_cora.harness.log, without importing the harness

_EXAMPLE = {
    True: r"""[{"name": "brief", "prompt": "{question}{options}\nEnd with: The best answer is <letter>."}]""",
    False: r"""[{"name": "brief", "prompt": "{question}\nEnd with: The answer is $\\boxed{{answer}}$"}]""",
}
"""An example of a template file, by whether the questions have options."""

_READ_FROM = {True: "best answer is", False: r"\boxed"}


def expand(questions: Any = None, /, probe: str = "divergent", **options: Any) -> list[Variant]:
    r"""Make the variants of your questions, to send their prompts to a model yourself.

    The variants are those of the task `cora_local` with the same data, options and seed. Equal arguments give equal
    variants, so you can call this function again instead of storing them.

    Args:
        questions: The questions: a path (json, jsonl, csv, tsv or parquet), a pandas DataFrame, a `datasets.Dataset`
            or a list of dicts. The columns `question`, `choices` and `answer` are found if they have these names or
            common ones. None if `hub` names a dataset.
        probe: `divergent`, `plus`, `revas`, `prompts`, `order` or `sampling`.
        **options: The options of `--metadata '{"cora": {...}}'`: for example `seed`, `nota_text`, `orders`, the
            names of columns (`question`, `choices`, `answer`, `id`, `category`), `questions` for a random sample of
            that size, or `hub` and `split` for a dataset on the Hub.

    Returns:
        The variants, those of one question side by side. `variant.prompt` is the text to send.

    Raises:
        OptionError: If the probe or an option does not exist or has a wrong value.
        BenchmarkError: If the questions cannot be read. The message names the row.

    Example:
        >>> rows = [{"question": "What is frozen water?", "choices": ["Ice", "Fog", "Steam"], "answer": "Ice"}]
        >>> variants = expand(rows)
        >>> len(variants), variants[0].kind, variants[2].choices
        (14, 'original', ('Ice', 'None of the above', 'Steam'))
        >>> print(variants[0].prompt.partition("\n\n")[2])
        Question: What is frozen water?
        Choices:
        A. Ice
        B. Fog
        C. Steam
        Answer:
    """
    if probe not in PROBES:
        raise OptionError(
            f"expand: probe: expected one of {', '.join(PROBES)}, got {probe!r}.{did_you_mean(str(probe), PROBES)}"
        )
    chosen = Options.from_metadata("expand", options)
    if questions is not None:
        chosen = replace(chosen, data_files=(questions,))
    try:
        source = benchmark("local", chosen.declared, chosen.data_files)
        chosen_questions = load_questions(source, chosen).chosen
    except BenchmarkError as error:
        raise BenchmarkError(str(error).removeprefix("data_files: ")) from None
    return variants_of_all(chosen_questions, PROBES[probe], chosen)


def variants_of_all(
    questions: Iterable[Question | OpenQuestion],
    probe: Probe,
    options: Options,
    *,
    form: Form = "generate",
    templates: Templates | None = None,
) -> list[Variant]:
    """Expand questions with a probe, the variants of a question side by side.

    Args:
        questions: The questions.
        probe: Makes the variants.
        options: What the user changed.
        form: How the model is asked.
        templates: The templates of the benchmark. By default those of the option `templates`, or ours.

    Returns:
        The variants.

    Raises:
        OptionError: If the probe does not have one of the options, or cannot expand a question.

    Example:
        >>> variants = variants_of_all([Question("q1", "Ice?", ("Water", "Air"), 0)], PROBES["divergent"], Options())
        >>> len(variants), variants[1].choices
        (8, ('Air', 'Water'))
    """
    check_options(probe, options, form)
    if templates is None and options.templates is not None:
        templates = read_templates(Path(options.templates), has_options=True)
    setting = Setting(options, form, templates or own_templates())
    variants: list[Variant] = []
    for question in questions:
        if isinstance(question, OpenQuestion) and not probe.open_questions:
            raise OptionError(
                f"question {question.id!r}: the probe {probe.name!r} alters options, and this question has none. "
                f"Probes without options: {', '.join(other.name for other in PROBES.values() if other.open_questions)}"
            )
        variants += probe.expand(question, setting)
    return variants


def uses_templates(probe: Probe, form: Form) -> bool:
    """Whether a probe asks with the templates of a benchmark."""
    return form in probe.formats and FORMATS[probe.formats[form]].uses_templates


def check_options(probe: Probe, options: Options, form: Form) -> None:
    """Raise an error if an option is set that this probe ignores.

    The probes of one study run together, so each accepts the options of the others.

    Raises:
        OptionError: If there is such an option.
    """
    accepted = {name for other in PROBES.values() if other.study == probe.study for name in other.options}
    if not uses_templates(probe, form):
        accepted.discard("templates")
    for name in options.changed():
        owners = [other.name for other in PROBES.values() if name in other.options]
        if owners and name not in accepted:
            scored = " where answers are scored" if name in probe.options else ""
            raise OptionError(
                f"option {name!r}: the probe {probe.name!r} ignores it{scored}; it belongs to {', '.join(owners)}. "
                "Options apply to every task of a run: run these tasks separately"
            )


def read_templates(path: Path, *, has_options: bool) -> Templates:
    """Read the user's templates.

    Args:
        path: A JSON file with a list of templates; see `make_templates`.
        has_options: Whether the questions have options.

    Raises:
        OptionError: If the file cannot be read or a template is wrong.
    """
    try:
        entries: Any = json.loads(path.read_text(encoding="utf-8"))
        templates = make_templates(entries, has_options=has_options)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"option 'templates': {path}: {error}. Expected a JSON file with a list such as {_EXAMPLE[has_options]}. "
            "Questions with options and MATH need different files: run them separately"
        ) from None
    expected = _READ_FROM[has_options]
    if silent := [template.name for template in templates.all if expected not in template.prompt.lower()]:
        _logger.warning(
            "option 'templates': %s: %s: the reader looks for the answer after %r, which the template lacks",
            path,
            ", ".join(silent),
            expected,
        )
    return templates
