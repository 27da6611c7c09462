"""The format of CoRA, MCQA+ and REVAS, which asks for the letter of one option at the beginning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.choice import find_letter
from lm_eval_cora.answers.format import AnswerFormat, Doc
from lm_eval_cora.answers.plain import head_of, why_nothing
from lm_eval_cora.questions.question import LETTERS

_HEAD = 256

_ANSWER_LABEL = re.compile(r"[\W_]*answer[\W_]*?[:：][\s*_]*", re.IGNORECASE)


def read_letter(response: str, printed: Sequence[int]) -> Answer:
    r"""Read the letter at the beginning of a response.

    The letters and digits of the first token (up to white space) must be exactly one of the printed letters: "B",
    "(B)", "**B**", "B." and "b)" are read as B, "Based on" is invalid. This is the rule of the paper (CoRA, section 5),
    with four changes:

    - "Answer: B" on the first line is read as B.
    - A bare "A" or "I" before a lower-case word on the same line is the English word ("A patient with"), not a letter.
    - A lower-case letter counts only if it is alone on its line or has punctuation: "b" and "b)", but not "b cells".
    - Text before the last "</think>", or another model's equivalent, is reasoning and is ignored.

    Similar letters of other scripts (Cyrillic, fullwidth) do not count.

    Args:
        response: The response, of any length. Only its first 256 characters after leading white space are read.
        printed: Identity of each printed option, in printed order. Its length tells which letters are printed.

    Returns:
        The identity of the named option, or the reason why none is named.

    Example:
        >>> read_letter("(B) because ...", printed=[0, 4]).picked
        4
        >>> read_letter("C", printed=[0, 4]).reason.value
        'letter out of range'
        >>> read_letter("Based on the history", printed=[0, 4]).reason.value
        'no letter'
    """
    head = head_of(response, _HEAD)
    line = (head.splitlines() or [""])[0]
    letter = _leading_letter(line)
    if letter is None and (label := _ANSWER_LABEL.match(line)):
        letter = _leading_letter(line[label.end() :])
    if letter is None:
        return Answer(reason=why_nothing(head, Reason.NO_LETTER))
    position = LETTERS.index(letter)
    if position >= len(printed):
        return Answer(reason=Reason.OUT_OF_RANGE)
    start = response.find(head)
    return Answer(
        picked=printed[position],
        position=position,
        settled="\n" in head,
        rule="the first word",
        span=(start, start + len(line)),
    )


def _leading_letter(line: str) -> str | None:
    """Return the letter at the beginning of a line as a capital, printed or not; None if there is none."""
    token, *rest = line.split(maxsplit=1) or [""]
    letter = "".join(character for character in token if character.isalnum())
    if len(letter) != 1 or letter not in ascii_letters:
        return None
    if token == letter and rest:
        is_word = letter in "AI" and rest[0][0].islower()
        if is_word or letter.islower():
            return None
    return letter.upper()


class Letter(AnswerFormat):
    """The letter of one option, then an explanation.

    The prompt states the paper's instruction in our own words and names the printed letters.

    Source: CoRA, section 5.
    """

    name = "letter"
    description = "a letter"
    instruction = "Reply with the letter first."
    picks_one = True

    def strict(self, response: str, doc: Doc) -> Answer:
        """See `read_letter`."""
        return read_letter(response, doc["printed"])

    def flexible(self, response: str, doc: Doc) -> Answer:
        """See `find_letter`."""
        return find_letter(response, doc["printed"], doc["choices"])


LETTER = Letter()
