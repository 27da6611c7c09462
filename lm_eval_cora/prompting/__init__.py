"""Variant -> prompt text. Templates are compiled once, when the module is imported."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from lm_eval_cora.question import LETTERS, lettered

# No escaping: a prompt is plain text, and the question must reach the model unchanged.
_environment = Environment(
    loader=PackageLoader("lm_eval_cora.prompting", "templates"),
    undefined=StrictUndefined,
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,  # else each prompt looks at the disk for a newer version of the template that it includes
)
_environment.globals.clear()  # Jinja copies them for each prompt, and no template of ours uses them
_letter = _environment.get_template("letter.jinja")
_question = _environment.get_template("question.jinja")
_yes_no = _environment.get_template("yes_no.jinja")
_claim = _environment.get_template("claim.jinja")
_select_all = _environment.get_template("select_all.jinja")


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
    return _letter.render(stem=stem, options=lettered(choices), letters=LETTERS[: len(choices)])


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
    return _question.render(stem=stem, options=lettered(choices))


def select_all_prompt(stem: str, choices: Sequence[str]) -> str:
    r"""Ask for the letters of all right options first, then for an explanation.

    Args:
        stem: The question, printed unchanged.
        choices: 2 to 26 option texts in printed order, printed unchanged.

    Returns:
        The prompt. It ends in "Answer:", without a line break.

    Example:
        >>> prompt = select_all_prompt("What is frozen water?", ["Ice", "Steam"])
        >>> print(prompt.partition("reply ")[2].partition("\n\n")[0])
        is the letters of all right choices (out of A and B), separated by commas, and nothing else. The lines after it explain the choices step by step.

    Source: REVAS, section 4 (multi-selection); the wording is ours.
    """  # noqa: E501
    return _select_all.render(stem=stem, options=lettered(choices), letters=LETTERS[: len(choices)])


def yes_no_prompt(stem: str, choice: str) -> str:
    r"""Ask whether an option is the right one, yes or no first, then for an explanation.

    The paper had a chat model rewrite question and option as a statement; this is a template that keeps both.

    Args:
        stem: The question, printed unchanged.
        choice: Text of the option, printed unchanged.

    Returns:
        The prompt. It ends in "Answer:", without a line break.

    Example:
        >>> _, _, question = yes_no_prompt("What is frozen water?", "Ice").partition("\n\n")
        >>> question == claim_block("What is frozen water?", "Ice")
        True

    Source: MCQA+, section 3.2 (true or false); the wording is ours.
    """
    return _yes_no.render(stem=stem, choice=choice)


def claim_block(stem: str, choice: str) -> str:
    """The question whether an option is the right one, without an instruction; see `question_block`.

    Args:
        stem: The question, printed unchanged.
        choice: Text of the option, printed unchanged.

    Returns:
        The text. It ends in "Answer:", without a line break.

    Example:
        >>> print(claim_block("What is frozen water?", "Ice"))
        Question: What is frozen water?
        Proposed answer: Ice
        Is this the right answer to the question, yes or no?
        Answer:
    """
    return _claim.render(stem=stem, choice=choice)
