"""Fillers: options without meaning, which make a question longer but not harder."""

from __future__ import annotations

from collections.abc import Iterable

from lm_eval_cora.randomness import draw

_CONSONANTS = "bdgklmnprst"
_VOWELS = "aeiou"
_ENDS = "bdgklmnprst"

UNHEARD = ("voz", "vub", "vuf", "vuk", "vup", "vuz", "zuk", "zuv")
"""Syllables that occur in no word of the large English dictionaries. Each filler contains one of them."""

_HEARD_AFTER = {
    "voz": "di do la lo na ne ni no pi po ra re ro sa si su ta to",
    "vub": "ga gu le ma",
    "vuf": "ga la lo pi ra ro sa si to",
    "vuk": "go ki ku le lo ma mi ne pa pe po sa se si ta te tu",
    "vup": "di",
    "vuz": "be da di ka li ma ne pa re ri ta ti to",
    "zuk": "ba bu da di ga ge go gu ka ke ki ko ku la li ma me mi ne ni pa pe po ru si su te ti",
    "zuv": "bo do go na ne po sa se su",
}

HEARD = frozenset(first + second for second, firsts in _HEARD_AFTER.items() for first in firsts.split())
"""Two syllables that begin a name or a word of another language, such as Suzuki or "bazuka", with one or two letters
after them. A filler does not begin with them, so it is not such a word, its plural or another of its short forms."""


def fillers(count: int, taken: Iterable[str], *key: str | int) -> tuple[str, ...]:
    """Make pronounceable words without meaning, such as "Tuvozur".

    Args:
        count: Number of words.
        taken: Texts in which a filler must not occur, ignoring case.
        *key: What the choice depends on.

    Returns:
        Different words of seven letters, alternately consonant and vowel, which are neither words nor names in any of
        the languages that the tests check. With the same key, a smaller `count` gives the first of these words.

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
        lowered = word.casefold()
        if lowered[:5] not in HEARD and word not in words and lowered not in text:
            words.append(word)
    return tuple(words)


def _word(*key: str | int) -> str:
    rank = draw(len(_CONSONANTS) * len(_VOWELS) ** 2 * len(UNHEARD) * len(_ENDS), *key)
    letters = []
    for part in (_CONSONANTS, _VOWELS, UNHEARD, _VOWELS, _ENDS):
        rank, index = divmod(rank, len(part))
        letters.append(part[index])
    return "".join(letters).capitalize()
