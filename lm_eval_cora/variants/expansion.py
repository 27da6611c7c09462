"""Questions -> variants, for the harness' tasks and for users who query a model themselves."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.discovery.task_files import benchmark
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.loading import load_questions
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Form, OpenQuestion, Question
from lm_eval_cora.variants.probes import PROBES, Probe, Setting
from lm_eval_cora.variants.template import (
    OwnPrompt,
    Template,
    Templates,
    check_own_prompt,
    make_templates,
    own_templates,
)
from lm_eval_cora.variants.variant import Variant

_logger = logging.getLogger("lm_eval.cora")  # the logger of lm_eval_cora.harness.log, without importing the harness

_EXAMPLE = {
    True: r"""[{"name": "brief", "prompt": "{question}{options}\nEnd with: The best answer is <letter>."}]""",
    False: r"""[{"name": "brief", "prompt": "{question}\nEnd with: The answer is $\\boxed{{answer}}$"}]""",
}
"""Example of a template file, for questions with and without options."""

_READ_FROM = {True: "best answer is", False: r"\boxed"}


def expand(questions: Any = None, /, probe: str = "divergent", **options: Any) -> list[Variant]:
    r"""Make the variants of questions, with prompts that you send to a model yourself.

    The variants are the same as in the task `cora_local` with the same data, options and seed. Equal arguments give
    equal variants, so you can call this function again instead of storing them. Pass the variants and the model's
    responses to `read`.

    Args:
        questions: A path (json, jsonl, csv, tsv or parquet), a pandas DataFrame, a `datasets.Dataset` or a list of
            dicts. The columns `question`, `choices` and `answer` are found under these and other common names. None if
            the option `hub` names a dataset.
        probe: `divergent`, `plus`, `revas`, `prompts`, `order` or `sampling`.
        **options: The options of `--metadata '{"cora": {...}}'`. For example: `seed`, `nota_text` and `orders`; the
            names of your columns, as `question`, `choices`, `answer`, `id` and `category`; `questions`, the size of a
            random sample; `hub` and `split` for a dataset on the Hub.

    Returns:
        The variants; those of one question are consecutive. `variant.prompt` is the text to send.

    Raises:
        UserError: If the probe or an option does not exist or has a wrong value, or the questions cannot be read. The
            message names the row.

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
    if not isinstance(probe, str) or probe not in PROBES:
        raise UserError(
            f"expand: probe: expected one of {', '.join(PROBES)}, got {probe!r}.{did_you_mean(str(probe), PROBES)}"
        )
    chosen = Options.from_metadata("expand", options)
    if questions is None and not ("hub" in options or "data_files" in options):
        raise UserError("expand: expected questions, or a dataset on the Hub: expand(hub='ORG/NAME', split='test')")
    if questions is not None and "data_files" in options:
        raise UserError("expand: expected one source, got questions and data_files. Remove one of them")
    if questions is not None:
        chosen = replace(chosen, data_files=(questions,))
    try:
        source = benchmark("local", chosen.declared, chosen.data_files)
        chosen_questions = load_questions(source, chosen).chosen
    except UserError as error:
        raise UserError(str(error).removeprefix("data_files: ")) from None
    return variants_of_all(chosen_questions, PROBES[probe], chosen)


def variants_of_all(
    questions: Iterable[Question | OpenQuestion],
    probe: Probe,
    options: Options,
    *,
    form: Form = "generate",
    templates: Templates | None = None,
) -> list[Variant]:
    """Expand questions with a probe; the variants of one question are consecutive.

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
            raise UserError(
                f"question {question.id!r}: the probe {probe.name!r} alters options, but this question has none. Use "
                f"one of these probes: {', '.join(other.name for other in PROBES.values() if other.open_questions)}"
            )
        variants += probe.expand(question, setting)
    if options.prompt is not None:
        _ask_with(options.prompt, variants)
    return variants


def _ask_with(prompt: str, variants: Iterable[Variant]) -> None:
    """Ask all variants with the user's prompt."""
    examples: dict[str, tuple[str, tuple[str, ...]]] = {}
    for variant in variants:
        examples.setdefault(variant.ask, (variant.question, variant.choices))
        variant.template = OwnPrompt("own", prompt, ask=variant.ask)
    try:
        check_own_prompt(prompt, examples)
    except UserError as error:
        raise UserError(f"option 'prompt': {error}") from None
    if at_end := [ask for ask in examples if FORMATS[ask].uses_templates]:
        _warn_if_silent("option 'prompt'", [OwnPrompt(at_end[0], prompt)], _READ_FROM[not FORMATS[at_end[0]].is_open])


def uses_templates(probe: Probe, form: Form) -> bool:
    """Whether a probe asks with the templates of a benchmark."""
    return form in probe.formats and FORMATS[probe.formats[form]].uses_templates


def check_options(probe: Probe, options: Options, form: Form) -> None:
    """Raise an error if an option is set that this probe ignores.

    The probes of one study run together, so each accepts the options of the others.
    """
    if options.prompt is not None and (not probe.kinds or options.templates is not None):
        why = (
            "the option 'templates' is set, too"
            if probe.kinds
            else f"the probe {probe.name!r} compares several prompts"
        )
        raise UserError(f"option 'prompt': {why}. Pass one of 'prompt' and 'templates', and run such tasks separately")
    accepted = {name for other in PROBES.values() if other.study == probe.study for name in other.options}
    if not uses_templates(probe, form):
        accepted.discard("templates")
    for name in options.changed():
        owners = [other.name for other in PROBES.values() if name in other.options]
        if owners and name not in accepted:
            scored = " if answers are scored by likelihood" if name in probe.options else ""
            raise UserError(
                f"option {name!r}: the probe {probe.name!r} ignores it{scored}. It belongs to {', '.join(owners)}. "
                "Options apply to every task of a run, so run these tasks separately"
            )


def read_templates(path: Path, *, has_options: bool) -> Templates:
    """Read the user's templates.

    A warning names templates without the words after which the reader looks for the answer.
    """
    try:
        entries: Any = json.loads(path.read_text(encoding="utf-8"))
        templates = make_templates(entries, has_options=has_options)
    except (OSError, ValueError) as error:
        raise UserError(
            f"option 'templates': {path}: {error}. Expected a JSON file with a list such as {_EXAMPLE[has_options]}. "
            "Questions with options and MATH need different files, so run them separately"
        ) from None
    _warn_if_silent(f"option 'templates': {path}", templates.all, _READ_FROM[has_options])
    return templates


def _warn_if_silent(where: str, templates: Iterable[Template], expected: str) -> None:
    """Warn of templates without the words after which the reader looks for the answer."""
    if silent := [template.name for template in templates if expected not in template.prompt.lower()]:
        _logger.warning(
            "%s: %s: expected %r in the template, because the reader looks for the answer after it",
            where,
            ", ".join(silent),
            expected,
        )
