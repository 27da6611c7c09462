"""Asks for the letter of one option first: the format of CoRA, MCQA+ and REVAS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.choice import find_letter
from lm_eval_cora.answers.head import head_of, why_nothing
from lm_eval_cora.formats.base import AnswerFormat, Doc
from lm_eval_cora.prompting import render
from lm_eval_cora.question import LETTERS

_HEAD = 256

_ANSWER_LABEL = re.compile(r"[\W_]*answer[\W_]*?[:：][\s*_]*", re.IGNORECASE)


def read_letter(response: str, printed: Sequence[int]) -> Answer:
    r"""Read which of the printed options a response names.

    The first white-space token, stripped of everything but letters and digits, must be exactly one of the printed
    letters: "B", "(B)", "**B**", "B." and "b)" say B, "Based on" says nothing. This is the rule of the paper (CoRA,
    section 5), with four departures:

    - "Answer: B" on the first line says B.
    - A bare "A" or "I" followed on its line by a lower-case word is the English word ("A patient with"), not a letter.
    - A lower-case letter counts only alone on its line or with punctuation: "b" and "b)", not "b cells".
    - What stands before a last "</think>" (or the like of other models) is reasoning, not the response.

    Letters of other scripts that look alike (Cyrillic, fullwidth) are not the printed ones. Any text is accepted,
    of any length; only the first 256 characters after leading white space are looked at, in linear time.

    Args:
        response: What the model wrote.
        printed: Identity of each printed option, in printed order; its length says which letters were printed.

    Returns:
        The identity of the option named, or the reason why none is.

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
    return Answer(picked=printed[position], position=position, settled="\n" in head)


def _leading_letter(line: str) -> str | None:
    """The capital letter that a line begins with, printed or not."""
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
    """One letter first, then an explanation.

    The prompt keeps the paper's contract in our words: it names the letters that are printed, and no others.

    Source: CoRA, section 5.
    """

    name = "letter"
    description = "a letter"
    instruction = "Reply with the letter first."
    picks_one = True

    def prompt(self, doc: Doc) -> str:
        """The instruction, the question and its options."""
        return render("letter", doc["question"], doc["choices"])

    def strict(self, response: str, doc: Doc) -> Answer:
        """See `read_letter`."""
        return read_letter(response, doc["printed"])

    def flexible(self, response: str, doc: Doc) -> Answer:
        """See `find_letter`."""
        return find_letter(response, doc["printed"], doc["choices"])


LETTER = Letter()
