"""The format of SCORE, which asks for a final sentence: "The best answer is B"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.choice import find_letter
from lm_eval_cora.answers.format import AnswerFormat, Doc
from lm_eval_cora.answers.plain import after_reasoning, is_reasoning, last_match, why_nothing
from lm_eval_cora.questions.question import LETTERS

_ANNOUNCEMENT = re.compile(r"best\s+answer\s+is", re.IGNORECASE)

_WINDOW = 200
"""Number of characters searched for the letter after the announcement, or for a refusal at the beginning."""

_WRAPPER = re.compile(
    r"\\(?:boxed|fbox|text(?:bf|it|rm|sf)?|math(?:bf|it|rm|sf))\b|&nbsp;|</?(?:b|i|u|em|strong|code|p|br|div|span) ?/?>"
)
_LETTER = re.compile(
    r"[\W_]*(?:(?i:the\s+)?(?i:option|choice|letter|answer)\b[\W_]*)?(?P<letter>[A-Za-z])(?![^\W_]|['’-]\w)"
)
_ORDINARY_WORD = re.compile(
    r"[ai][ \t]+[a-z]|I[ \t]+(?:am|believe|can|cannot|choose|do|feel|guess|have|know|need|say|suppose|think|will|would"
    r"|\w{2,7}n['’]?t)\b"
)
"""A word that looks like a single letter: "a diet", "I think", "I don't know"."""


def read_best_answer(response: str, printed: Sequence[int]) -> Answer:
    r"""Read the letter after the last "best answer is" of a response.

    Upper and lower case are equivalent. A colon, line breaks, brackets, the word "option", punctuation and the markup
    of Markdown, LaTeX or HTML are ignored: "The best answer is: **(B)**." is read as B. These are not letters of an
    option: "[the_answer_letter]", which repeats the prompt; "a" or "i" before another word ("a balanced diet"); "I"
    before a verb ("I think"). Text before the last "</think>", or another model's equivalent, is reasoning and is
    ignored.

    Args:
        response: The response, of any length. It is read in linear time.
        printed: Identity of each printed option, in printed order. Its length tells which letters are printed.

    Returns:
        The identity of the named option, or the reason why none is named.

    Example:
        >>> read_best_answer("Steam is hot, so the best answer is [B].", printed=[0, 4]).picked
        4
        >>> read_best_answer("The best answer is C", printed=[0, 4]).reason.value
        'letter out of range'
        >>> read_best_answer("B", printed=[0, 4]).reason.value
        'no best answer named'

    Source: SCORE, appendix B. The harness' own tasks require one space after "is", and take the whole response as the
    answer if it lacks these words.
    """
    said = after_reasoning(response)
    announced = None if is_reasoning(said[:_WINDOW]) else last_match(_ANNOUNCEMENT, said)
    if announced is None:
        return Answer(reason=why_nothing(said[:_WINDOW], Reason.NO_BEST_ANSWER))
    letter = _letter_of(said[announced.end() : announced.end() + _WINDOW])
    if letter is None:
        return Answer(reason=Reason.NO_LETTER)
    position = LETTERS.index(letter)
    if position >= len(printed):
        return Answer(reason=Reason.OUT_OF_RANGE)
    return Answer(picked=printed[position], position=position)


def find_best_answer(response: str, printed: Sequence[int], choices: Sequence[str]) -> Answer:
    """Find the printed option that a response names as the best answer.

    The rules are those of `find_letter`, but an answer at the very beginning has no precedence, because the prompt asks
    for the answer at the end.

    Args:
        response: The response, of any length.
        printed: Identity of each printed option, in printed order.
        choices: Text of each printed option, in the same order.

    Returns:
        The identity of the chosen option, or the reason why none is chosen.

    Example:
        >>> find_best_answer("Steam is hot, so the best answer is fog.", [0, 4], ["Ice", "Fog"]).picked
        4
        >>> find_best_answer("Ice is cold. Therefore, the answer is B.", [0, 4], ["Ice", "Fog"]).picked
        4
        >>> find_best_answer("The best answer is B. Ice", [0, 4], ["Ice", "Fog"]).reason.value
        'letter and text disagree'

    Source: our own rules. `read_best_answer` applies those of the paper.
    """
    return find_letter(response, printed, choices, at_the_end=True)


def _letter_of(text: str) -> str | None:
    text = _WRAPPER.sub("", text)
    match = _LETTER.match(text)
    if match is None or _ORDINARY_WORD.match(text, match.start("letter")):
        return None
    return match["letter"].upper()


class BestAnswer(AnswerFormat):
    """A letter at the end of the response. The prompt is one of the benchmark's templates.

    Source: SCORE, section 3.2 and appendix B.
    """

    name = "best_answer"
    description = "the best answer"
    instruction = "End with: The best answer is <letter>."
    answer_first = False
    picks_one = True

    def target(self, doc: Doc) -> str:
        """Return the final sentence with the right letter."""
        return f"The best answer is {super().target(doc)}."

    def strict(self, response: str, doc: Doc) -> Answer:
        """See `read_best_answer`."""
        return read_best_answer(response, doc["printed"])

    def flexible(self, response: str, doc: Doc) -> Answer:
        """See `find_best_answer`."""
        return find_best_answer(response, doc["printed"], doc["choices"])


BEST_ANSWER = BestAnswer()
