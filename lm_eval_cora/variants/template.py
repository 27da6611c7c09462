"""The prompts of the answer formats, and the templates of benchmarks and users that replace them."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.options import FLAG, LINE, TEXT, check_values
from lm_eval_cora.questions.question import LETTERS, shorten, shown

if TYPE_CHECKING:  # Jinja is slow to import, and answers are scored without prompts
    from jinja2 import Template as JinjaTemplate

# Names of the answer formats. The prompt of a format is the file in `templates` with its name.
LETTER, BEST_ANSWER, YES_NO, SELECT_ALL, BOXED = "letter", "best_answer", "yes_no", "select_all", "boxed"
OPTION_TEXT = "option_text"
# The formats whose prompts are templates of the benchmark, and the words after which the reader finds the answer.
READ_AFTER = {BEST_ANSWER: "best answer is", BOXED: r"\boxed"}
_WITHOUT_INSTRUCTION = {
    YES_NO: "claim",
    OPTION_TEXT: "list",
}  # the names of prompts without the instruction; otherwise "question"

_KEYS = {"name": LINE, "prompt": TEXT, "options_format": TEXT, "fixed": FLAG}


@cache
def prompts() -> "dict[str, JinjaTemplate]":
    """The prompts, compiled once.

    Variables: `stem` (empty if it is hidden), `letters` or other labels, `options` (label and text), `choice` (the
    first one).
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # No escaping: a prompt is plain text, and the question must reach the model unchanged.
    environment = Environment(
        loader=PackageLoader("lm_eval_cora.variants", "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # otherwise Jinja checks the included templates for changes at each prompt
    )
    environment.globals.clear()  # our templates use none, and Jinja would copy them for each prompt
    names = environment.list_templates(extensions=["jinja"])
    return {name.removesuffix(".jinja"): environment.get_template(name) for name in names}


def prompt_of(doc: Mapping[str, Any], *, instruct: bool = True) -> str:
    """Render the prompt of a variant; exemplars and the loglikelihood form lack the instruction of the format."""
    own: Template | None = doc.get("template")
    stem, choices = doc["question"], doc["choices"]
    if own is not None:
        return own.render(stem, choices, doc["category"])
    name = doc["ask"] if instruct else _WITHOUT_INSTRUCTION.get(doc["ask"], "question")
    labels = doc.get("labels", LETTERS)[: len(choices)]
    options = zip(labels, choices, strict=True)
    return prompts()[name].render({"stem": stem, "options": options, "letters": labels, "choice": choices[0]})


@dataclass(frozen=True)
class Template:
    """One wording of the prompt."""

    name: str  # also the kind of the variant, in the prompts probe
    prompt: str  # with {question} and, as needed, {options}, {letters} ("A, B or C") and {category}
    options_format: str = "\n{letter}. {option}"  # with {letter} and {option}; options are joined without a separator

    def render(self, stem: str, choices: Sequence[str], category: str = "") -> str:
        """Render the prompt for a question."""
        letters = LETTERS[: len(choices)]
        pairs = zip(letters, choices, strict=True)
        return self.prompt.format(
            question=stem,
            options="".join(self.options_format.format(letter=one, option=text) for one, text in pairs),
            letters=" or ".join(filter(None, (", ".join(letters[:-1]), letters[-1:]))),
            category=category,
        )

    def scored(self, choices: Sequence[str]) -> list[str]:
        """Return the answers whose log-likelihoods are scored."""
        return list(LETTERS[: len(choices)])

    def __str__(self) -> str:
        """Return the name, which replaces the template in the samples file."""
        return self.name


@dataclass(frozen=True)
class OwnPrompt(Template):
    """The user's prompt for all variants, as a Jinja template; white space around the rendered text is removed.

    Its variables are `question`, `options` (pairs of letter and text), `letters`, `category` and `ask`, the name of the
    answer format: `yes_no` prints one option; `select_all` asks for all right letters.
    """

    ask: str = LETTER

    def render(self, stem: str, choices: Sequence[str], category: str = "") -> str:
        """Render the prompt for a question."""
        letters = LETTERS[: len(choices)]
        values = {
            "question": stem,
            "options": list(zip(letters, choices, strict=True)),
            "letters": letters,
            "category": category,
        }
        return _compiled(self.prompt).render(values, ask=self.ask).strip()


@cache
def _compiled(text: str) -> "JinjaTemplate":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined).from_string(text)


def check_own_prompt(text: str, examples: Mapping[str, tuple[str, Sequence[str]]]) -> None:
    """Check the user's prompt with a question for each answer format."""
    from jinja2 import TemplateError

    for ask, (stem, choices) in examples.items():
        try:
            rendered, *others = (OwnPrompt("own", text, ask=one).render(stem, choices) for one in {ask: 1, **examples})
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise UserError(
                f"option 'prompt': {str(error).rstrip('.')}. The variables are question, options, letters, category "
                "and ask"
            ) from None
        if missing := [part for part in (stem, *choices) if part.strip() not in rendered]:
            raise UserError(
                f"option 'prompt': expected the question and each option in the prompt, {shorten(missing[0])!r} is "
                "missing"
            )
        if rendered in others:
            raise UserError(
                f"option 'prompt': expected other words if the variable `ask` is {ask!r}. It is one of "
                f"{', '.join(map(repr, examples))} in this task, as in {{% if ask == 'yes_no' %}}...{{% endif %}}"
            )


class Templates(NamedTuple):
    """The templates of a benchmark, and the fixed one, which the order and sampling probes use."""

    all: tuple[Template, ...]
    fixed: Template


def make_templates(entries: object, *, has_options: bool) -> Templates:
    """Check templates, and name those without a name."""
    if not isinstance(entries, list) or not entries:
        raise UserError(f"expected a list of templates, got {shown(entries)}")
    templates, fixed = list[Template](), list[Template]()
    for number, entry in enumerate(entries, 1):
        place = f"template {number}"
        if not isinstance(entry, Mapping) or "prompt" not in entry:
            raise UserError(f"{place}: expected an object with a string 'prompt', got {shown(entry)}")
        keys = check_values(entry, _KEYS, place=place, what="key")
        is_fixed, name = keys.pop("fixed", False), f"{number}_{place_of_question(keys['prompt'])}"
        template = Template(**{"name": name, **keys})
        once = ("question", "options")[: 1 + has_options]
        _check_fields(f"{place}: 'prompt'", template.prompt, once, ("letters", "category"))
        _check_fields(f"{place}: 'options_format'", template.options_format, ("letter", "option"))
        templates.append(template)
        fixed += [template] * is_fixed
    names = [template.name for template in templates]
    if len(set(names)) < len(names):
        raise UserError(f"two templates have the same name: {', '.join(names)}")
    if len(fixed) > 1:
        raise UserError(f"expected at most one template with 'fixed': true, got {len(fixed)}")
    return Templates(tuple(templates), (fixed or templates)[0])


def _check_fields(where: str, text: str, once: Collection[str], at_will: Collection[str] = ()) -> None:
    """Check the fields of a template: bare names, because Python would look up `{question.__class__}`."""
    allowed = {*once, *at_will}
    expected = f"expected {', '.join(f'{{{name}}}' for name in sorted(allowed))}. Double all other braces."
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise UserError(f"{where}: {error}; {expected}") from None
    found = Counter(
        field + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
        for _, field, form, conversion in parts
        if field is not None
    )
    if unknown := found.keys() - allowed:
        raise UserError(f"{where}: unknown field {{{min(unknown)}}}; {expected}")
    for field in once:
        if found[field] != 1:
            raise UserError(f"{where}: expected {{{field}}} once, it stands there {found[field]} times")


def place_of_question(prompt: str) -> str:
    """Return a readable name for a prompt: where the question is, and whether it asks to think step by step."""
    before, _, after = prompt.partition("{question}")
    # One or two words before the question are a label, not an instruction.
    place = ("middle" if len(before.split()) > 2 else "first") if after.replace("{options}", "").strip() else "last"
    steps = "_step_by_step" if "step by step" in prompt.lower().replace("-", " ") else ""
    return f"question_{place}{steps}"


@cache
def own_templates() -> Templates:
    """Return our own ten templates, for benchmarks without templates in SCORE."""
    text = (files("lm_eval_cora.variants") / "templates" / "ten.json").read_text(encoding="utf-8")
    return make_templates(json.loads(text), has_options=True)
