"""Find the claims of a response: where its words state an answer, and whether other words doubt or reject it."""

import re
from collections.abc import Iterable, Iterator

from lm_eval_cora.answers import NO_OPTION, Found, Reason, Rule


def claims(
    text: str,
    rules: Iterable[tuple[Rule, re.Pattern[str]]],
    unless: re.Pattern[str],
    near: int = 60,
    *,
    through: bool = False,
) -> list[Found]:
    """Find the claims in a text, in its order: matches of named rules, which contain an answer or precede it.

    One does not count if the words of `unless` are in the characters `near` before it, or also `through` it.
    """
    found = []
    for rule, words in rules:
        for start, end in (match.span() for match in words.finditer(text)):
            doubted = unless.search(text[max(0, start - near) : end if through else start])
            found.append(Found(NO_OPTION, start, end, rule, void=Reason.REJECTED if doubted else None))
    return sorted(found, key=lambda claim: claim.start)


def valid(found: Iterable[Found]) -> list[Found]:
    """Return the places that count."""
    return [place for place in found if place.void is None]


def last_of(found: Iterable[Found]) -> Iterator[Found]:
    """Return the last 20 places that count, the last first."""
    return reversed(valid(found)[-20:])
