"""What a response says: an option identity, an answer of its own, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

Reader = Literal["flexible", "strict"]
"""How responses are read: as a careful person reads them, or by the papers' rules."""

FEW_FOLLOWED = 0.9
"""With a smaller share of responses that follow the format, the reader decides much of the scores."""

TOO_MANY_INVALID = 0.1
"""A larger share of invalid answers, and the scores say little about what a model knows."""


class Reason(str, Enum):
    """Why a response says no option."""

    EMPTY = "empty"
    CUT_OFF = "cut off while reasoning"
    REFUSED = "refused"
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

    def __str__(self) -> str:
        return self.value


@dataclass(kw_only=True)
class Answer:
    """A parsed response: an option was picked, some were selected, an answer was written, or why none of it is so.

    Attributes:
        picked: Identity of the option picked, where one letter was asked for.
        position: Where that option is printed, from 0.
        reason: Why there is no answer. An invalid answer is never correct and agrees with nothing.
        tied: Whether another answer was exactly as likely; in the loglikelihood form only.
        selected: Identities of the options that are said to be right, in printed order, where all right letters were
            asked for or whether an option is right: a "no" selects none.
        yes: Log-likelihood of "yes", where that was scored.
        no: Log-likelihood of "no", where that was scored.
        written: The answer in a box, where that was asked for.
        settled: Whether more text after the response would leave the answer as it is, unless it takes it back.
    """

    picked: int | None = None
    position: int | None = None
    reason: Reason | None = None
    tied: bool = False
    selected: tuple[int, ...] | None = None
    yes: float | None = None
    no: float | None = None
    written: str | None = None
    settled: bool = False
