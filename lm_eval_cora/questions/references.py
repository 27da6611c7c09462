"""Options that refer to other options: "All of the above", "Both A and B", "Options 1 and 2"."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import get_args

import yaml

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
_compiled = cache(re.compile)
_LETTERS = re.compile(r"[^\W_]")
_KINDS = ("all", "none", "two", "other", "beside")  # of words beside the phrases


def with_references(question: AnyQuestion) -> AnyQuestion:
    """Note the references of a question, so that probes keep these options in place."""
    found = references(question.choices, question.stem)
    return replace(question, references=found) if isinstance(question, Question) and any(found) else question


@lru_cache(maxsize=2**17)
def references(choices: tuple[str, ...], stem: str) -> tuple[Reference, ...]:
    """Find how each option refers to others, by rules on words: "All of the above", "A, C only", "Same as option B".

    Labels such as those of "1 and 2" refer to something else if the stem or texts of options contain them, or if they
    are options themselves: "2 only". The reference is `other` if it is unclear which options it means, such as that of
    "Both" to three options or of "All of the above" to one, and if two options refer to all or to none.
    """
    text = "\n".join(choices)
    words = set(_WORD.findall(text.lower()))
    asked = (one for known, one in _languages() if not text.isascii() or not known.isdisjoint(words))
    languages = [one for one in asked if _compiled(one["phrases"]).search(text)]
    lists = set[str]().union(*(_lists(choices, stem, *one) for one in _STYLES))
    found = [_reference(choice, languages, lists) for choice in choices]
    plain = found.count("")
    is_clear = {"all": plain > 1 and found.count("all") == 1, "none": plain > 0 and found.count("none") == 1}
    for place, choice in enumerate(choices):
        means_two = plain != 2 and any(_compiled(one["two"]).search(choice) for one in languages)
        if found[place] and (means_two or not is_clear.get(found[place])):
            found[place] = "other"
    return tuple(found)


def _reference(choice: str, languages: Sequence[Mapping[str, str]], lists: Collection[str]) -> Reference:
    """Find how an option refers to others, without a look at them."""
    found: set[Reference] = {"other"} if choice in lists else set()
    for language in languages:
        pattern = _compiled(language["phrases"])
        finds = pattern.search if len(choice) <= _LONGEST else pattern.match
        if not finds(choice):
            continue
        has = {kind for kind in _KINDS if _compiled(language[kind]).search(choice)}
        says_more = "other" in has or _LETTERS.search(_compiled(language["beside"]).sub("", pattern.sub("", choice)))
        found.add("other" if says_more else "none" if "none" in has else "all" if "all" in has else "other")
    return next((kind for kind in get_args(Reference) if kind in found), "")


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
    return list(yaml.safe_load(_TABLES.read_text(encoding="utf-8")).values())


@cache
def _languages() -> list[tuple[set[str], dict[str, str]]]:
    """Return words of the phrases of each language, and its patterns."""
    found = []
    for table in _tables():
        whole = table.get("whole", "(?!)")
        phrases = rf"(?im)(?<!{_LETTER})(?:{table['anywhere']}){_EDGE}|^\W*(?:{whole})[^\w\n]*$"
        words = {kind: table.get(kind, "(?!)") for kind in _KINDS}
        words["beside"] = "|".join(words[kind] for kind in _KINDS)
        patterns = {kind: rf"(?i)(?<!{_LETTER})(?:{words[kind]}){_EDGE}" for kind in words}
        found.append(({*_WORD.findall(phrases)}, {"phrases": phrases, **patterns}))
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
