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
    OUT_OF_RANGE = "letter out of range"
    NO_LIKELIHOOD = "no likelihood"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed response; either an option was picked or there is a reason why none was.

    Attributes:
        picked: Identity of the option picked.
        reason: Why there is none. An invalid answer is never correct and agrees with nothing.
        tied: Whether another option was exactly as likely; in the loglikelihood form only.
    """

    picked: int | None = None
    reason: Reason | None = None
    tied: bool = False
