"""Suggestions for unknown words in error messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 3
"""Largest number of suggestions."""

_LONGEST = 100
"""Longer words get no suggestion: they are not typing errors, and comparing them is slow."""

_CLOSE = 0.7
"""Smallest similarity of a suggested word, from 0 to 1. It is high because all our task names share a prefix."""

_SHORTEST_PART = 3
"""Shorter words are not searched inside longer ones."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest known words that are similar to an unknown one or, if there are none, that contain it.

    Case is ignored. The order of `known` does not matter.
    """
    if len(word) > _LONGEST:
        return ""
    spelled: dict[str, str] = {}
    for name in sorted(set(known), reverse=True):  # of words that differ only in case, keep the first
        spelled[name.casefold()] = name
    folded = word.casefold()
    close = get_close_matches(folded, sorted(spelled), n=_SHOWN, cutoff=_CLOSE)
    if not close and len(folded) >= _SHORTEST_PART:
        close = sorted((name for name in spelled if folded in name), key=lambda name: (len(name), name))[:_SHOWN]
    return f" Did you mean {', '.join(repr(spelled[name]) for name in close)}?" if close else ""
