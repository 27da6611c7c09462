"""Prompts in other words: what a question is asked with where the wording is what a probe changes, or keeps fixed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, NamedTuple

from lm_eval_cora.question import LETTERS, is_encodable, lettered, shorten

_OPTION = "\n{letter}. {option}"
_FIELDS = {"question", "options", "letters", "category"}
_OPTION_FIELDS = {"letter", "option"}
_KEYS = {"name", "prompt", "options_format", "fixed"}


class TemplateError(ValueError):
    """A set of templates that cannot be used."""


@dataclass(frozen=True)
class Template:
    """One wording.

    Attributes:
        name: What its variants are called.
        prompt: The text, with {question}, and as needed {options}, {letters} ("A, B or C") and {category}.
        options_format: What each option becomes, with {letter} and {option}; nothing stands between two options.
    """

    name: str
    prompt: str
    options_format: str = _OPTION

    def render(self, stem: str, choices: Sequence[str], category: str = "") -> str:
        r"""Ask a question in these words.

        Args:
            stem: The question, printed unchanged.
            choices: Option texts in printed order, printed unchanged; none for an open question.
            category: Category of the question.

        Returns:
            The prompt.

        Example:
            >>> template = Template("brief", "{question}{options}\n\nThe letter, please ({letters}).")
            >>> print(template.render("What is frozen water?", ["Ice", "Steam"]))
            What is frozen water?
            A. Ice
            B. Steam
            <BLANKLINE>
            The letter, please (A or B).
        """
        letters = LETTERS[: len(choices)]
        return self.prompt.format(
            question=stem,
            options="".join(
                self.options_format.format(letter=letter, option=choice) for letter, choice in lettered(choices)
            ),
            letters=" or ".join(filter(None, (", ".join(letters[:-1]), letters[-1:]))),
            category=category,
        )

    def __str__(self) -> str:
        """The name: what the samples file says of it."""
        return self.name


class Templates(NamedTuple):
    """The wordings of a benchmark, and the fixed one, with which the order and the sampling probe ask."""

    all: tuple[Template, ...]
    fixed: Template


def make_templates(entries: object, *, has_options: bool) -> Templates:
    """Check templates and name those without a name.

    Args:
        entries: A list of mappings with `prompt` and, if wanted, `name`, `options_format`, and `fixed`: true for one
            of them; it is the first one otherwise.
        has_options: Whether they are for questions with options.

    Returns:
        The templates, in their order.

    Raises:
        TemplateError: If something else stands there.

    Example:
        >>> entries = [{"prompt": "{question}{options} Step by step!"}, {"prompt": "Now: {question}{options}"}]
        >>> [template.name for template in make_templates(entries, has_options=True).all]
        ['1_question_first_step_by_step', '2_question_last']
    """
    if not isinstance(entries, list) or not entries:
        raise TemplateError(f"expected a list of templates, got {shorten(repr(entries))}")
    templates, fixed = [], []
    for number, entry in enumerate(entries, 1):
        try:
            template = _make(entry, number, has_options)
        except (TypeError, ValueError) as error:
            raise TemplateError(f"template {number}: {error}") from None
        templates.append(template)
        if entry.get("fixed"):
            fixed.append(template)
    names = [template.name for template in templates]
    if len(set(names)) < len(names):
        raise TemplateError(f"two templates have the same name: {', '.join(names)}")
    if len(fixed) > 1:
        raise TemplateError(f"{len(fixed)} templates are marked as fixed, expected one or none")
    return Templates(tuple(templates), (fixed or templates)[0])


def _make(entry: Any, number: int, has_options: bool) -> Template:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("prompt"), str):
        raise ValueError(f"expected an object with a text under 'prompt', got {shorten(repr(entry))}")
    if unknown := sorted(map(str, entry.keys() - _KEYS)):
        raise ValueError(f"unknown key {unknown[0]!r}; expected {', '.join(sorted(_KEYS))}")
    prompt, option = entry["prompt"], entry.get("options_format", _OPTION)
    name = entry.get("name", f"{number}_{place_of_question(prompt)}")
    if not isinstance(name, str) or not name.strip() or not isinstance(option, str):
        raise ValueError("'name' and 'options_format' are texts")
    if not all(map(is_encodable, (prompt, option, name))):
        raise ValueError("text that is not valid Unicode")
    fields = _fields(prompt, _FIELDS)
    needed = ["question", "options"] if has_options else ["question"]
    for field in ("question", "options"):
        if fields.count(field) != needed.count(field):
            raise ValueError(f"expected {{{field}}} {needed.count(field)} times, it stands there {fields.count(field)}")
    if has_options and sorted(_fields(option, _OPTION_FIELDS)) != sorted(_OPTION_FIELDS):
        raise ValueError("'options_format' needs {letter} and {option}, once each")
    return Template(name.strip(), prompt, option)


def _fields(text: str, allowed: set[str]) -> list[str]:
    """The names of the fields of a text.

    Nothing but the bare names is allowed: `{question.__class__}` would be looked up.
    """
    fields = []
    names = ", ".join(f"{{{name}}}" for name in sorted(allowed))
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise ValueError(f"{error}; expected {names}, and other braces doubled") from None
    for _, field, form, conversion in parts:
        if field is None:
            continue
        if field not in allowed or form or conversion:
            written = field + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise ValueError(f"unknown field {{{written}}}; expected {names}, and other braces doubled")
        fields.append(field)
    return fields


def place_of_question(prompt: str) -> str:
    """A readable name: where the question stands in a prompt, and whether it asks for steps.

    Example:
        >>> place_of_question("Read the question. {question}{options} Think step by step.")
        'question_middle_step_by_step'
    """
    before, _, after = prompt.partition("{question}")
    after = after.replace("{options}", "")
    place = "middle" if before.strip() and after.strip() else "first" if after.strip() else "last"
    # A label before the question is no instruction.
    if place == "middle" and len(before.split()) <= 2:
        place = "first"
    return f"question_{place}" + "_step_by_step" * ("step by step" in prompt.lower().replace("-", " "))


@cache
def own_templates() -> Templates:
    """Ten of our own, for benchmarks that SCORE has none for: the question first, in the middle or last.

    Example:
        >>> len(own_templates().all), own_templates().fixed.name
        (10, 'question_middle')
    """
    text = (files("lm_eval_cora.prompting") / "templates" / "ten.json").read_text(encoding="utf-8")
    return make_templates(json.loads(text), has_options=True)
