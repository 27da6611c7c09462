"""The answer formats, by name: which answer a prompt asks for, and how it is read and scored."""

from lm_eval_cora.answers.answer_format import AnswerFormat as AnswerFormat
from lm_eval_cora.answers.answer_format import Doc as Doc
from lm_eval_cora.answers.boxed import BOXED as BOXED
from lm_eval_cora.answers.letter import BEST_ANSWER, OPTION_TEXT
from lm_eval_cora.answers.letter import LETTER as LETTER
from lm_eval_cora.answers.select_all import SELECT_ALL
from lm_eval_cora.answers.yes_no import YES_NO

FORMATS: dict[str, AnswerFormat] = {
    each.name: each for each in (LETTER, BEST_ANSWER, OPTION_TEXT, YES_NO, SELECT_ALL, BOXED)
}


def format_of(doc: Doc) -> AnswerFormat:
    """Return the answer format of a variant."""
    return FORMATS[doc["ask"]]
