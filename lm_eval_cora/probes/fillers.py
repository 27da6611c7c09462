"""Fillers: options without a meaning, which make a question longer and not harder."""

from __future__ import annotations

from collections.abc import Iterable

from lm_eval_cora.randomness import draw

_CONSONANTS = "bdgklmnprst"
_VOWELS = "aeiou"
_ENDS = "bdgklmnprst"

UNHEARD = ("voz", "vub", "vuf", "vuk", "vup", "vuz", "zuk", "zuv")
"""Easy to say, and inside no English word: a filler holds one of them, so that it is no English word either."""


def fillers(count: int, taken: Iterable[str], *key: str | int) -> tuple[str, ...]:
    """Make words that can be pronounced and mean nothing, such as "Tavuzel".

    Args:
        count: How many.
        taken: Texts that a filler must not occur in, whatever the case of their letters.
        *key: What the choice depends on.

    Returns:
        Different words of seven letters, consonants and vowels in turn. Fewer of the same key are the first of them.

    Example:
        >>> words = fillers(3, ["What is frozen water?"], 0, "question 1")
        >>> len(set(words)), {len(word) for word in words}, words[:2] == fillers(2, [], 0, "question 1")
        (3, {7}, True)
    """
    text = "\n".join(taken).casefold()
    words: list[str] = []
    attempt = 0
    while len(words) < count:
        word = _word(*key, "filler", attempt)
        attempt += 1
        if word not in words and word.casefold() not in text:
            words.append(word)
    return tuple(words)


def _word(*key: str | int) -> str:
    rank = draw(len(_CONSONANTS) * len(_VOWELS) ** 2 * len(UNHEARD) * len(_ENDS), *key)
    letters = []
    for part in (_CONSONANTS, _VOWELS, UNHEARD, _VOWELS, _ENDS):
        rank, index = divmod(rank, len(part))
        letters.append(part[index])
    return "".join(letters).capitalize()
