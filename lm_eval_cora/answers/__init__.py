"""What a response says: an option identity, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(str, Enum):
    """Why a response names no option."""

    EMPTY = "empty"
    CUT_OFF = "cut off while reasoning"
    REFUSED = "refused"
    NO_LETTER = "no letter"
    OUT_OF_RANGE = "letter out of range"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed response; exactly one of the two is set.

    Attributes:
        picked: Identity of the option picked.
        reason: Why there is none. An invalid answer is never correct and agrees with nothing.
    """

    picked: int | None = None
    reason: Reason | None = None
