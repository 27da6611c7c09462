"""The result of parsing a response: picked or selected options, a written answer, or the reason why it is invalid."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from lm_eval_cora.questions.question import Reader as Reader

FEW_FOLLOWED = 0.9
"""Below this share of responses that follow the format, the scores depend strongly on the reader."""

TOO_MANY_INVALID = 0.1
"""Above this share of invalid answers, the scores say little about what a model knows."""


class Reason(str, Enum):
    """Why a response has no valid answer."""

    EMPTY = "empty"
    CUT_OFF = "cut off while reasoning"
    REFUSED = "refused"
    BLOCKED = "blocked by a filter"
    SEVERAL = "several options"
    REPEATED = "options repeated"
    CONTRADICTION = "letter and text disagree"
    REJECTED = "only rejected"
    NONE_FITS = "says that no option fits"
    NO_LETTER = "no letter"
    NO_BEST_ANSWER = "no best answer named"
    NO_BOX = "no box"
    UNCLOSED_BOX = "box not closed"
    EMPTY_BOX = "empty box"
    PLACEHOLDER = "the prompt's own box"
    TOO_LONG = "answer too long"
    NO_YES_OR_NO = "neither yes nor no"
    UNCLEAR = "unclear selection"
    OUT_OF_RANGE = "letter out of range"
    NO_LIKELIHOOD = "no likelihood"
    UNLIKELY = "letters not among the 20 likeliest tokens"

    def __str__(self) -> str:
        return self.value


CHOOSES_NOTHING = (Reason.REFUSED, Reason.CONTRADICTION, Reason.NONE_FITS, Reason.OUT_OF_RANGE)
"""Reasons that more text would hardly change."""


class Rule(str, Enum):
    """How a reader finds an answer, with the text that users see."""

    NONE = ""
    # letter
    FIRST_WORD = "the first word"
    BEST_ANSWER = "the best answer"
    ALONE = "a letter alone"
    JSON = "a value of JSON"
    LABEL = "a label"
    STATED = "stated as the answer"
    BEST = "the best of a kind"
    ODD_ONE = "the one that does not hold"
    CHOSEN = "a choice in the first person"
    CONCLUDED = "a conclusion"
    CORRECTED = "a correction"
    LETTER_AND_TEXT = "called by letter and text"
    UNREADABLE = "an announcement that cannot be read"
    NO_OPTION = "no option stated"
    CALLED_RIGHT = "called right"
    AT_THE_START = "a letter at the start"
    AT_THE_END = "a line of its own at the end"
    WITH_TEXT = "a letter with its own text"
    LETTER = "a letter"
    TEXT = "the text of one option"
    # the other formats
    ABOUT_PROPOSED = "stated about the proposed answer"
    LETTERS_AT_THE_START = "letters at the start"
    LINES = "lines that are options"
    LAST_BOX = "the last box"

    __str__, __repr__, __hash__ = str.__str__, str.__repr__, str.__hash__  # of its text


NO_OPTION = -2


class Found(NamedTuple):
    """A place in a text that names an option, or states an answer of another kind."""

    # As printed, from 0; at least the number of options if the letter is not printed; -1 for "none of these"; else
    # NO_OPTION.
    position: int
    start: int
    end: int  # of the letter, or of the option text that follows the letter
    rule: Rule = Rule.NONE
    weight: int = 0  # how strongly the option is named, see `rules`
    void: Reason | None = None  # why it does not count

    @property
    def span(self) -> tuple[int, int]:
        """Start and end."""
        return self.start, self.end

    @property
    def is_bare(self) -> bool:
        """Whether it is only one character: a letter without the text of its option."""
        return self.end == self.start + 1


@dataclass(kw_only=True)
class Answer:
    """A parsed response. Which attributes are set depends on the answer format.

    Attributes:
        picked: Identity of the picked option, if the prompt asks for one letter.
        position: Printed position of the picked option, from 0.
        reason: Why the answer is invalid; None if it is valid. An invalid answer is never correct and agrees with no
            other answer.
        tied: Whether another answer was exactly as likely (loglikelihood form only).
        selected: Identities of the selected options, in printed order, if the prompt asks for all right letters or
            for yes or no. Empty for "no".
        likelihood_yes: Log-likelihood of "yes", if it was scored.
        likelihood_no: Log-likelihood of "no", if it was scored.
        written: The model's own answer, if the prompt asks for one in a box; from `read_answer` the answer in any
            format as text, such as "B" or "yes".
        settled: Whether only an explicit correction later in the response could change the answer.
        at_front: Whether the answer is stated in full at the beginning, with more text after it.
        rule: Name of the rule that decided; empty if the reader has no rules to tell apart.
        span: Start and end of the characters of the response that decided; None if there are none.
        found: The places that a reader considered, if it says so.
    """

    picked: int | None = None
    position: int | None = None
    reason: Reason | None = None
    tied: bool = False
    selected: tuple[int, ...] | None = None
    likelihood_yes: float | None = None
    likelihood_no: float | None = None
    written: str | None = None
    settled: bool = False
    at_front: bool = False
    rule: Rule = Rule.NONE
    span: tuple[int, int] | None = None
    found: tuple[Found, ...] = ()

    @property
    def value(self) -> int | tuple[int, ...] | str | None:
        """The picked option, the selected options or the written answer; None if there is no valid answer."""
        if self.picked is not None:
            return self.picked
        return self.written if self.selected is None else self.selected


def voided(answer: Answer, reason: Reason) -> Answer:
    """Return an answer that does not count for a reason; its place is kept."""
    place = (Found(NO_OPTION, *answer.span, answer.rule, void=reason),) if answer.span else answer.found
    return Answer(reason=reason, found=place)
