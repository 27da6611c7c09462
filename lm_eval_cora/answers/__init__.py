"""What a response says: an option identity, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(str, Enum):
    """Why a response says no option."""

    EMPTY = "empty"
    CUT_OFF = "cut off while reasoning"
    REFUSED = "refused"
    NO_LETTER = "no letter"
    NO_YES_OR_NO = "neither yes nor no"
    UNCLEAR = "unclear selection"
    OUT_OF_RANGE = "letter out of range"
    NO_LIKELIHOOD = "no likelihood"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed response: an option was picked, or some were selected, or there is a reason why neither is so.

    Attributes:
        picked: Identity of the option picked, where one letter was asked for.
        reason: Why there is no answer. An invalid answer is never correct and agrees with nothing.
        tied: Whether another answer was exactly as likely; in the loglikelihood form only.
        selected: Identities of the options that are said to be right, in printed order, where all right letters were
            asked for or whether an option is right: a "no" selects none.
        yes: Log-likelihood of "yes", where that was scored.
        no: Log-likelihood of "no", where that was scored.
    """

    picked: int | None = None
    reason: Reason | None = None
    tied: bool = False
    selected: tuple[int, ...] | None = None
    yes: float | None = None
    no: float | None = None
