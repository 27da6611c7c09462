"""Variant -> prompt text. Templates are compiled once, when the module is imported."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from lm_eval_cora.question import LETTERS

# No escaping: a prompt is plain text, and the question must reach the model unchanged.
_environment = Environment(
    loader=PackageLoader("lm_eval_cora.prompting", "templates"),
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # else each prompt looks at the disk for a newer version of the template that it includes
)
_letter = _environment.get_template("letter.jinja")
_question = _environment.get_template("question.jinja")


def letter_prompt(stem: str, choices: Sequence[str]) -> str:
    r"""Ask for the letter of one option first, then for an explanation.

    The contract is the paper's (CoRA, section 5), the wording ours: it names the letters that are printed, no others.

    Args:
        stem: The question, printed unchanged.
        choices: 2 to 26 option texts in printed order, printed unchanged.

    Returns:
        The prompt. It ends in "Answer:", without a line break.

    Example:
        >>> instruction, _, question = letter_prompt("What is frozen water?", ["Ice", "Steam"]).partition("\n\n")
        >>> print(instruction.partition("reply ")[2])
        is the letter of one choice (A or B) and nothing else. The lines after it explain the choice step by step.
        >>> question == question_block("What is frozen water?", ["Ice", "Steam"])
        True
    """
    return _letter.render(stem=stem, choices=choices, letters=LETTERS[: len(choices)])


def question_block(stem: str, choices: Sequence[str]) -> str:
    """The question and its lettered choices without an instruction.

    It is the last part of `letter_prompt`, a few-shot exemplar before its answer, and all of the prompt where the
    letters are scored instead of written.

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
    return _question.render(stem=stem, choices=choices, letters=LETTERS)
