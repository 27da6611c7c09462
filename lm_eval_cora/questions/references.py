"""Options that refer to other options: "All of the above", "Both A and B", "Options 1 and 2"."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import yaml

from lm_eval_cora.questions.question import LETTERS, UNSPACED

_TABLES = Path(__file__).with_name("references.yaml")
_ROMAN = "I II III IV V VI VII VIII IX X"
_STYLES = (
    (LETTERS, "[A-Z]", "[,、;&+/–-]|to|through|bis"),
    (LETTERS.lower(), "[a-z]", "[,、;&+/–-]|to|through|bis"),
    (_ROMAN.split(), "[IVX]{1,4}", "[,、;&]"),
    (_ROMAN.lower().split(), "[ivx]{1,4}", "[,、;&]"),
    ("123456789", r"\d{1,2}", "[、&]"),  # "1, 2", "1-2" and "1/2" are numbers
)
"""The labels that options may name, a pattern of one, and the signs that join them."""
_LONGEST_LIST = 60  # characters of an option that is a list of labels
_LETTER = rf"(?-i:[^\W{UNSPACED}])"  # of a script that separates words by spaces
_EDGE = f"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # of a word
_WORD = re.compile(r"[^\W\d_]{2,}")
_compiled = cache(re.compile)


def refers_to_options(choices: Sequence[str], stem: str) -> bool:
    """Whether an option refers to others, by rules on words: "All of the above", "A, C only", "Same as option B".

    Labels such as those of "1 and 2" refer to something else if the stem or texts of options contain them, or if they
    are options themselves: "2 only".
    """
    text = "\n".join(choices)
    words = set(_WORD.findall(text.lower()))
    asked = (phrases for known, phrases in _phrases() if not text.isascii() or not known.isdisjoint(words))
    return any(_compiled(phrases).search(text) for phrases in asked) or any(
        _names(choices, stem, *one) for one in _STYLES
    )


def _names(choices: Sequence[str], stem: str, labels: Sequence[str], label: str, signs: str) -> bool:
    """Whether an option is a list of labels of one style, and they are those of other options."""
    token, alone, listed = _patterns(label, signs)
    short = [choice for choice in choices if len(choice) <= _LONGEST_LIST and token.search(choice)]
    lists = {choice: {*token.findall(choice)} for choice in short if listed.fullmatch(choice)}
    named = dict(zip(labels, choices, strict=False))
    several = [names for names in lists.values() if len(names) > 1 and names <= named.keys()]
    if not several:  # most questions; the rest takes time
        return False
    taken = {name for name, text in named.items() if text in lists or name in alone.findall(text)}
    return any(not names <= taken.union(alone.findall(stem)) for names in several)


@cache
def _tables() -> list[dict[str, str]]:
    return list(yaml.safe_load(_TABLES.read_text(encoding="utf-8")).values())


@cache
def _phrases() -> list[tuple[set[str], str]]:
    """Return words of the phrases of each language, and their pattern."""
    found = []
    for table in _tables():
        whole = table.get("whole", "(?!)")
        phrases = rf"(?im)(?<!{_LETTER})(?:{table['anywhere']}){_EDGE}|^\W*(?:{whole})[^\w\n]*$"
        found.append(({*_WORD.findall(phrases)}, phrases))
    return found


@cache
def _patterns(label: str, signs: str) -> list[re.Pattern[str]]:
    """Return the patterns of a label, of one in a text, and of a list of labels such as "both (A) and (B)"."""
    # No word twice, because each would be tried at each place.
    joins, around = (
        "|".join({word: "" for table in _tables() for word in table.get(kind, "(?!)").split("|")})
        for kind in ("and", "around")
    )
    words = rf"(?:(?i:{around}){_EDGE}[\s:,]*)*"
    marked = rf"[('\"\[]*{label}[)'\"\].]*"
    joint = rf"\s*(?:(?:{signs})\s*(?i:{joins})?|(?i:{joins})|(?<=[)\]]\s)){_EDGE}\s*"
    patterns = (
        rf"(?<![A-Za-z0-9]){label}(?![A-Za-z0-9])",
        rf"(?<![\w.']){label}(?![\w'-]|[.,]\w)",
        rf"\W*{words}{marked}(?:{joint}{words}{marked})*[\s,:]*{words}\W*",
    )
    return list(map(re.compile, patterns))
