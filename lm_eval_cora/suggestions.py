"""What a user may have meant by a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 3
"""How many words are suggested at most."""

_LONGEST = 100
"""Longer words get no suggestion: they are no typing mistakes, and comparing them takes long."""


_CLOSE = 0.7
"""How similar a suggested word is at least, from 0 to 1. The names of our tasks have a part in common."""

_SHORTEST_PART = 3
"""Shorter words are not looked for inside of longer ones."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest known words that are close to an unknown one; if none is close, words that contain it.

    Upper and lower case count as equal. The order of `known` does not matter.

    Args:
        word: What the user wrote.
        known: The words that would have been right.

    Returns:
        A sentence that begins with a space, to be added to an error message. It is empty if nothing is close.

    Example:
        >>> did_you_mean("cora_medqq", ["cora_medqa", "cora_math"])
        " Did you mean 'cora_medqa'?"
        >>> did_you_mean("QUESTION", ["question", "questions"])
        " Did you mean 'question', 'questions'?"
        >>> did_you_mean("mmlu", ["cora_mmlu", "cora_math"])
        " Did you mean 'cora_mmlu'?"
        >>> did_you_mean("nothing like it", ["cora_medqa"])
        ''
    """
    if len(word) > _LONGEST:
        return ""
    spelled: dict[str, str] = {}
    for name in sorted(set(known), reverse=True):  # of two that differ in case only, the first one stays
        spelled[name.casefold()] = name
    folded = word.casefold()
    close = get_close_matches(folded, sorted(spelled), n=_SHOWN, cutoff=_CLOSE)
    if not close and len(folded) >= _SHORTEST_PART:
        close = sorted((name for name in spelled if folded in name), key=lambda name: (len(name), name))[:_SHOWN]
    return f" Did you mean {', '.join(repr(spelled[name]) for name in close)}?" if close else ""
