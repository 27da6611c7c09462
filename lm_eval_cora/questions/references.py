"""Options that refer to other options: "All of the above", "Both A and B", "Options 1 and 2"."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path

from lm_eval_cora.questions.languages import read_tables
from lm_eval_cora.questions.question import LETTERS, UNSPACED, AnyQuestion, Question, Reference

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
_LONGEST = 60  # characters of an option that is a list of labels, or that does not begin with a reference
_LETTER = rf"(?-i:[^\W{UNSPACED}])"  # of a script that separates words by spaces
_EDGE = f"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # of a word
_WORD = re.compile(r"[^\W\d_]{2,}")
_compiled = cache(partial(re.compile, flags=re.IGNORECASE | re.MULTILINE))
_LETTERS = re.compile(r"[^\W_]")


def with_references(question: AnyQuestion) -> AnyQuestion:
    """Note the references of a question if all are about all or none, so that probes keep these options in place."""
    found = references(question.choices, question.stem)
    is_clear = any(found) and "other" not in found
    return replace(question, references=found) if isinstance(question, Question) and is_clear else question


@lru_cache(maxsize=2**17)
def references(choices: tuple[str, ...], stem: str) -> tuple[Reference, ...]:
    """Find how each option refers to others, by rules on words: "All of the above", "A, C only", "Same as option B".

    Labels such as those of "1 and 2" refer to something else if the stem or texts of options contain them, or if they
    are options themselves: "2 only". The reference is `other` if it is unclear which options it means, such as that of
    "Both" to three options or of "All of the above" to one, and if two options refer to all or to none.
    """
    text = "\n".join(choices)
    words = set(_WORD.findall(text.lower()))
    asked = (phrases for known, phrases in _phrases() if not text.isascii() or not known.isdisjoint(words))
    phrases = _compiled("|".join(one for one in asked if _compiled(one).search(text)) or "(?!)")
    lists = set[str]().union(*(_lists(choices, stem, *one) for one in _STYLES))
    found: list[Reference] = ["other" if choice in lists else _reference(choice, phrases) for choice in choices]
    plain = found.count("")
    is_clear = {"all": found.count("all") == 1 < plain, "none": found.count("none") == 1 <= plain}
    means_two = [plain != 2 and _says("two").search(choice) for choice in choices]
    return tuple(
        "other" if kind and (two or not is_clear.get(kind)) else kind
        for kind, two in zip(found, means_two, strict=True)
    )


def _reference(choice: str, phrases: re.Pattern[str]) -> Reference:
    """Find how an option refers to others, without a look at them."""
    finds = phrases.search if len(choice) <= _LONGEST else phrases.match
    if not finds(choice):
        return ""
    rest = _says("all", "none", "two", "other", "beside").sub("", phrases.sub("", choice))
    if _says("other").search(choice) or _LETTERS.search(rest):
        return "other"
    return "none" if _says("none").search(choice) else "all" if _says("all").search(choice) else "other"


def _lists(choices: Sequence[str], stem: str, labels: Sequence[str], label: str, signs: str) -> set[str]:
    """Return the options that are lists of labels of one style, if they are those of other options."""
    token, alone, listed = _patterns(label, signs)
    short = [choice for choice in choices if len(choice) <= _LONGEST and token.search(choice)]
    lists = {choice: {*token.findall(choice)} for choice in short if listed.fullmatch(choice)}
    named = dict(zip(labels, choices, strict=False))
    several = {choice for choice, names in lists.items() if len(names) > 1 and names <= named.keys()}
    if not several:  # most questions; the rest takes time
        return several
    taken = {name for name, text in named.items() if text in lists or name in alone.findall(text)}
    return {choice for choice in several if not lists[choice] <= taken.union(alone.findall(stem))}


@cache
def _tables() -> list[dict[str, str]]:
    return list(read_tables(_TABLES).values())


@cache
def _phrases() -> list[tuple[set[str], str]]:
    """Return words of the phrases of each language, and their pattern."""
    found = []
    for table in _tables():
        whole = table.get("whole", "(?!)")
        phrases = rf"(?<!{_LETTER})(?:{table['anywhere']}){_EDGE}|^\W*(?:{whole})[^\w\n]*$"
        found.append(({*_WORD.findall(phrases)}, phrases))
    return found


@cache
def _says(*kinds: str) -> re.Pattern[str]:
    """Return a pattern of words of these kinds, in all languages."""
    return _compiled(rf"(?<!{_LETTER})(?:{_words(*kinds)}){_EDGE}")


def _words(*kinds: str) -> str:
    """Join words of these kinds. No word twice, because each would be tried at each place."""
    every = (word for table in _tables() for kind in kinds for word in table.get(kind, "(?!)").split("|"))
    return "|".join(dict.fromkeys(every))


@cache
def _patterns(label: str, signs: str) -> list[re.Pattern[str]]:
    """Return the patterns of a label, of one in a text, and of a list of labels such as "both (A) and (B)"."""
    joins, around = _words("and"), _words("around")
    words = rf"(?:(?i:{around}){_EDGE}[\s:,]*)*"
    marked = rf"[('\"\[]*{label}[)'\"\].]*"
    joint = rf"\s*(?:(?:{signs})\s*(?i:{joins})?|(?i:{joins})|(?<=[)\]]\s)){_EDGE}\s*"
    patterns = (
        rf"(?<![A-Za-z0-9]){label}(?![A-Za-z0-9])",
        rf"(?<![\w.']){label}(?![\w'-]|[.,]\w)",
        rf"\W*{words}{marked}(?:{joint}{words}{marked})*[\s,:]*{words}\W*",
    )
    return list(map(re.compile, patterns))
