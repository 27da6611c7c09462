"""Answer formats: which answer a prompt asks for, and how it is read and scored. One file for each format."""

from __future__ import annotations

from lm_eval_cora.answers.best_answer import BEST_ANSWER
from lm_eval_cora.answers.boxed import BOXED
from lm_eval_cora.answers.format import AnswerFormat, Doc
from lm_eval_cora.answers.letter import LETTER
from lm_eval_cora.answers.select_all import SELECT_ALL
from lm_eval_cora.answers.yes_no import YES_NO

__all__ = ["BEST_ANSWER", "BOXED", "FORMATS", "LETTER", "SELECT_ALL", "YES_NO", "AnswerFormat", "Doc", "format_of"]

FORMATS: dict[str, AnswerFormat] = {
    answer_format.name: answer_format for answer_format in (LETTER, BEST_ANSWER, YES_NO, SELECT_ALL, BOXED)
}
"""All answer formats, by name."""


def format_of(doc: Doc) -> AnswerFormat:
    """Return the answer format of a variant.

    Raises:
        KeyError: If the variant names an unknown format.

    Example:
        >>> format_of({"ask": "yes_no"}).description
        'yes or no'
    """
    return FORMATS[doc["ask"]]
