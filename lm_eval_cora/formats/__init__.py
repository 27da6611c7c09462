"""Answer formats: what a variant asks for, and how the answer is read. A file each."""

from __future__ import annotations

from lm_eval_cora.formats.base import AnswerFormat, Doc
from lm_eval_cora.formats.best_answer import BEST_ANSWER
from lm_eval_cora.formats.boxed import BOXED
from lm_eval_cora.formats.letter import LETTER
from lm_eval_cora.formats.select_all import SELECT_ALL
from lm_eval_cora.formats.yes_no import YES_NO

__all__ = ["BEST_ANSWER", "BOXED", "FORMATS", "LETTER", "SELECT_ALL", "YES_NO", "AnswerFormat", "Doc", "format_of"]

FORMATS: dict[str, AnswerFormat] = {
    answer_format.name: answer_format for answer_format in (LETTER, BEST_ANSWER, YES_NO, SELECT_ALL, BOXED)
}
"""All answer formats, by name."""


def format_of(doc: Doc) -> AnswerFormat:
    """The answer format of a variant.

    Raises:
        KeyError: If no format has that name.

    Example:
        >>> format_of({"ask": "yes_no"}).description
        'yes or no'
    """
    return FORMATS[doc["ask"]]
