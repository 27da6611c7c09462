"""The words around a question. Jinja compiles its templates once, when the module is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lm_eval_cora.question import LETTERS, lettered

# No escaping: a prompt is plain text, and the question must reach the model unchanged.
_environment = Environment(
    loader=PackageLoader("lm_eval_cora.prompting", "templates"),
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # otherwise each prompt looks for a newer version of the template that it includes
)
_environment.globals.clear()  # Jinja copies them for each prompt, and our templates use none
_templates = {name: _environment.get_template(name) for name in _environment.list_templates(extensions=["jinja"])}


def render(template: str, stem: str, choices: Sequence[str]) -> str:
    r"""Render one of the files in `prompting/templates`.

    A template gets `stem`, `options` (pairs of letter and text), `letters` (those of the options) and `choice` (the
    first option).

    Args:
        template: Name of the file, without its ending.
        stem: The question, printed unchanged.
        choices: 1 to 26 option texts in printed order, printed unchanged.

    Returns:
        The text.

    Example:
        >>> render("letter", "What is frozen water?", ["Ice", "Steam"]).splitlines()[-1]
        'Answer:'
    """
    values: dict[str, Any] = {
        "stem": stem,
        "options": lettered(choices),
        "letters": LETTERS[: len(choices)],
        "choice": choices[0],
    }
    return _templates[f"{template}.jinja"].render(values)


def question_block(stem: str, choices: Sequence[str]) -> str:
    """The question and its lettered choices without an instruction.

    Args:
        stem: The question, printed unchanged.
        choices: 2 to 26 option texts in printed order, printed unchanged.

    Returns:
        The text. It ends in "Answer:", without a line break.

    Example:
        >>> print(question_block("What is frozen water?", ["Ice", "Steam"]))
        Question: What is frozen water?
        Choices:
        A. Ice
        B. Steam
        Answer:
    """
    return render("question", stem, choices)
