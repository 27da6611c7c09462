"""Fillers: options without meaning, which make a question longer but not harder."""

from __future__ import annotations

from collections.abc import Iterable

from lm_eval_cora.randomness import draw

_CONSONANTS = "bdgklmnprst"
_VOWELS = "aeiou"
_ENDS = "bdgklmnprst"

UNHEARD = ("voz", "vub", "vuf", "vuk", "vup", "vuz", "zuk", "zuv")
"""Syllables that occur in no English word. Each filler contains one of them, so it is not an English word."""


def fillers(count: int, taken: Iterable[str], *key: str | int) -> tuple[str, ...]:
    """Make pronounceable words without meaning, such as "Tavuzel".

    Args:
        count: Number of words.
        taken: Texts in which a filler must not occur, ignoring case.
        *key: What the choice depends on.

    Returns:
        Different words of seven letters, alternately consonant and vowel. With the same key, a smaller `count` gives
        the first of these words.

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
