"""Render prompts. Jinja compiles the templates once, when this module is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lm_eval_cora.questions.question import LETTERS, lettered

# No escaping: a prompt is plain text, and the question must reach the model unchanged.
_environment = Environment(
    loader=PackageLoader("lm_eval_cora.variants", "templates"),
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # otherwise Jinja checks the included templates for changes at each prompt
)
_environment.globals.clear()  # our templates use none, and Jinja would copy them for each prompt
_templates = {name: _environment.get_template(name) for name in _environment.list_templates(extensions=["jinja"])}


def render(template: str, stem: str, choices: Sequence[str]) -> str:
    r"""Render a template of `variants/templates`.

    Its variables are `stem`, `options` (pairs of letter and text), `letters` (the letters of the options) and `choice`
    (the first option).
    """
    values: dict[str, Any] = {
        "stem": stem,
        "options": lettered(choices),
        "letters": LETTERS[: len(choices)],
        "choice": choices[0],
    }
    return _templates[f"{template}.jinja"].render(values)
