"""Find the claims of a response: where its words state an answer, and whether other words doubt or reject it."""

import re
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from lm_eval_cora.answers import NO_OPTION, Found, Reason


class Claim(NamedTuple):
    """A rule: words that state an answer, which is in them or follows them."""

    name: str
    words: re.Pattern[str]
    unless: re.Pattern[str]  # must not be in the text before the words
    near: int = 60  # characters of this text
    through: bool = False  # whether `unless` must not be in the words either


def claims(text: str, rules: Iterable[Claim]) -> list[Found]:
    """Find the claims in a text, in its order; those that are doubted or rejected do not count."""
    found = []
    for rule in rules:
        for start, end in (match.span() for match in rule.words.finditer(text)):
            before = text[max(0, start - rule.near) : end if rule.through else start]
            void = Reason.REJECTED if rule.unless.search(before) else None
            found.append(Found(NO_OPTION, start, end, rule.name, void=void))
    return sorted(found, key=attrgetter("start"))


def valid(found: Iterable[Found]) -> list[Found]:
    """Return the places that count."""
    return [place for place in found if place.void is None]


def last_of(found: Iterable[Found]) -> Iterator[Found]:
    """Return the last 20 places that count, the last first."""
    return reversed(valid(found)[-20:])
