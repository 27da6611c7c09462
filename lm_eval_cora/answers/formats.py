"""The answer formats, by name: which answer a prompt asks for, and how it is read and scored."""

from lm_eval_cora.answers.boxed import BOXED
from lm_eval_cora.answers.format import AnswerFormat, Doc
from lm_eval_cora.answers.letter import BEST_ANSWER, LETTER
from lm_eval_cora.answers.select_all import SELECT_ALL
from lm_eval_cora.answers.yes_no import YES_NO

__all__ = ["BEST_ANSWER", "BOXED", "FORMATS", "LETTER", "SELECT_ALL", "YES_NO", "AnswerFormat", "Doc", "format_of"]
FORMATS: dict[str, AnswerFormat] = {
    answer_format.name: answer_format for answer_format in (LETTER, BEST_ANSWER, YES_NO, SELECT_ALL, BOXED)
}


def format_of(doc: Doc) -> AnswerFormat:
    """Return the answer format of a variant."""
    return FORMATS[doc["ask"]]
