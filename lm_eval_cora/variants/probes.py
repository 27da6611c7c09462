"""The probes, by name, and how they make variants of questions with the user's options, prompt and templates."""

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from lm_eval_cora.errors import UserError
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import AnyQuestion, Form, OpenQuestion
from lm_eval_cora.variants.abstain import ABSTENTION
from lm_eval_cora.variants.choices_only import CHOICES_ONLY
from lm_eval_cora.variants.divergent import DIVERGENT
from lm_eval_cora.variants.label_styles import LABELS
from lm_eval_cora.variants.order import ORDER
from lm_eval_cora.variants.plus import PLUS
from lm_eval_cora.variants.prompts import PROMPTS, SAMPLING, SINGLE_LETTER
from lm_eval_cora.variants.revas import REVAS
from lm_eval_cora.variants.template import (
    BEST_ANSWER,
    BOXED,
    READ_AFTER,
    OwnPrompt,
    Template,
    Templates,
    check_own_prompt,
    make_templates,
    own_templates,
)
from lm_eval_cora.variants.variant import Probe as Probe
from lm_eval_cora.variants.variant import Setting as Setting
from lm_eval_cora.variants.variant import Variant, repeats_of

PROBES: dict[str, Probe] = {
    probe.name: probe for probe in (DIVERGENT, PLUS, REVAS, PROMPTS, ORDER, SAMPLING, LABELS, CHOICES_ONLY, ABSTENTION)
}

# Template files, for each answer format that uses templates.
_EXAMPLES = {
    BEST_ANSWER: r"""[{"name": "brief", "prompt": "{question}{options}\nEnd with: The best answer is <letter>."}]""",
    BOXED: r"""[{"name": "brief", "prompt": "{question}\nEnd with: The answer is $\\boxed{{answer}}$"}]""",
}


def variants_of_all(
    questions: Iterable[AnyQuestion],
    probe: Probe,
    options: Options,
    *,
    form: Form = "generate",
    benchmark: Benchmark | None = None,
) -> list[Variant]:
    """Expand questions with a probe; the variants of one question are consecutive."""
    check_options(probe, options, form)
    if benchmark and benchmark.abstain_text and options.abstain_text == Options.abstain_text:
        options = replace(options, abstain_text=benchmark.abstain_text)  # the signature has its language already
    setting = Setting(options, form)
    if uses_templates(probe, form):
        setting = Setting(options, form, templates_of(benchmark, options))
    variants: list[Variant] = []
    for question in questions:
        if isinstance(question, OpenQuestion) and not probe.open_questions:
            raise UserError(
                f"question {question.id!r}: the probe {probe.name!r} alters options, but this question has none. Use "
                f"one of these probes: {', '.join(other.name for other in PROBES.values() if other.open_questions)}"
            )
        made = probe.expand(question, setting)
        variants += [*made, *repeats_of(made, options.repeats)]
    if options.prompt is not None:
        examples: dict[str, tuple[str, tuple[str, ...]]] = {}
        for variant in variants:
            examples.setdefault(variant.ask, (variant.question, variant.choices))
            variant.template = OwnPrompt("own", options.prompt, ask=variant.ask)
        check_own_prompt(options.prompt, examples)
        for ask in filter(examples.__contains__, READ_AFTER):
            _warn_if_silent("option 'prompt'", [OwnPrompt(ask, options.prompt)], ask)
    return variants


def uses_templates(probe: Probe, form: Form) -> bool:
    """Whether a probe asks with the templates of a benchmark."""
    return probe.formats.get(form) in READ_AFTER


def check_options(probe: Probe, options: Options, form: Form) -> None:
    """Raise an error if an option is set that this probe and the others of its study, which run with it, ignore."""
    has_templates = probe.own_prompts or options.templates is not None
    if options.prompt is not None and has_templates:
        several = f"the probe {probe.name!r} compares several prompts"
        why = several if probe.own_prompts else "the option 'templates' is set, too"
        raise UserError(f"option 'prompt': {why}. Pass one of 'prompt' and 'templates', and run such tasks separately")
    if options.letters and form == "generate":
        raise UserError(
            "option 'letters': it is for tasks that score letters, whose names end in _mc. Options apply to every task "
            "of a run, so run these tasks separately"
        )
    lacks_original = probe.samples or options.variants is not None
    if options.repeats and lacks_original:
        why = f"the probe {probe.name!r} has no original" if probe.samples else "the option 'variants' is set, too"
        raise UserError(f"option 'repeats': it asks the original again, but {why}. Leave one of them out")
    accepted = {name for other in PROBES.values() if other.study == probe.study for name in other.options}
    if not uses_templates(probe, form):
        accepted.discard("templates")
    for name in options.changed():
        owners = [other.name for other in PROBES.values() if name in other.options]
        if owners and name not in accepted:
            scored = " if answers are scored by likelihood" if name in probe.options else ""
            raise UserError(
                f"option {name!r}: the probe {probe.name!r} ignores it{scored}. It belongs to "
                f"{', '.join(owners)}. Options apply to every task of a run, so run these tasks separately"
            )


def read_templates(path: Path, *, has_options: bool) -> Templates:
    """Read the user's templates."""
    ask = BEST_ANSWER if has_options else BOXED
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        templates = make_templates(entries, has_options=has_options)
    except (OSError, ValueError) as error:
        raise UserError(
            f"option 'templates': {path}: {error}. Expected a JSON file with a list such as {_EXAMPLES[ask]}. "
            "Questions with options and MATH need different files, so run them separately"
        ) from None
    _warn_if_silent(f"option 'templates': {path}", templates.all, ask)
    return templates


def _warn_if_silent(where: str, templates: Iterable[Template], ask: str) -> None:
    """Warn of templates without the words after which the reader looks for the answer."""
    expected = READ_AFTER[ask]
    if silent := ", ".join(each.name for each in templates if expected not in each.prompt.lower()):
        logger.warning(
            f"{where}: {silent}: expected {expected!r} in the template, because the reader looks for the answer after "
            "it"
        )


# ---- templates of a benchmark
_FIXED = ("option_order_robustness", "non_greedy_robustness")
"""Keys of the fixed template in SCORE's file. MATH has only the second, because its problems have no options."""


def templates_of(benchmark: Benchmark | None, options: Options) -> Templates:
    """The templates of a benchmark."""
    if options.templates is not None:
        return read_templates(Path(options.templates), has_options=benchmark is None or benchmark.has_options)
    return own_templates() if benchmark is None or benchmark.score_templates is None else score_templates(benchmark)


def score_templates(benchmark: Benchmark) -> Templates:
    """SCORE's ten templates, read from the installed harness."""
    spec = find_spec("lm_eval")  # which does not import it
    tasks = Path(str(spec and spec.origin)).parent / "tasks"
    path = tasks / "score" / str(benchmark.score_templates) / "prompt_templates.json"
    try:
        file = json.loads(path.read_text(encoding="utf-8"))
        fixed = {file[key]["prompt"] for key in _FIXED if key in file}
        entries = [
            {
                **{key: entry[key] for key in ("prompt", "options_format") if key in entry},
                **({"name": SINGLE_LETTER} if "only a single letter" in entry["prompt"] else {}),
                "fixed": entry["prompt"] in fixed,
            }
            for entry in file["prompt_robustness"]
        ]
        if len(fixed) != 1 or sum(entry["fixed"] for entry in entries) != 1:
            raise UserError("expected one of the ten templates to be the fixed one")
        return make_templates(entries, has_options=benchmark.has_options)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"SCORE's templates for {benchmark.name}, in the installed harness (lm-eval "
            f"{version('lm-eval')}), {path}: cannot be read: {described(error)}. lm-eval 0.4.12 and 0.4.13 "
            "contain them: install one of these versions, or pass your own file with the option "
            "'templates'"
        ) from None
