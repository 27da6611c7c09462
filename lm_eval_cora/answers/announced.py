"""Announcements of an answer in other languages, put into English: "Die Antwort ist B" becomes "the answer is B"."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import Path

from lm_eval_cora.answers.plain import Plain, lowered, one_of, plain, skip
from lm_eval_cora.questions.languages import read_tables

_TABLES = Path(__file__).with_name("announcements.yaml")
_GLOSSES = {
    "none": "none of these options",
    "so": "consequently",
    "others": "the other options",
    "first": "first choice",
    "second": "second choice",
    "heading": "Explanation",
    "back": "Correction",
}
"""English words for phrases that always mean the same."""
_BEFORE_OPTION = ("answer", "option", "right", "is", "the", "choose", "if")
_OF_A_RUN = (*_BEFORE_OPTION, "verdict", "ends", "because", "not", "wrong", "less")
_SIGNS = ("answer", "option", "choose", "verdict", "ends", "not", "none", "so", "first", "back")
_ALSO_ENGLISH = re.compile(  # also in "sharp", "false"
    "a|is|to|as|no|me|on|item|final|literal|variant|band|harp|arif|harf|opsi|incorrect|fals|alternativ|pardon|stop|"
    "also|logo|basi|proto|luego|letter|marco|affirmation|proposition|sorry|correction|rare|erreur|semble"
)
_GAP = r"[ \"'(\[-]{0,3}"
_AFTER = re.compile(r"[\s\"'(\[:,-]{0,4}([A-Z])(?![A-Za-z0-9]|-\w)")
_REMARKED = (  # a letter, and perhaps a remark
    r"(?<![A-Za-z0-9.'-])[A-Z][\"')\]]{0,2}(?: -| ?[(\"'][^()\"'\n]{0,60}[)\"']|,[^,.;:\n]{1,60},)?"
)
_BEFORE = re.compile(rf"{_REMARKED} ?\Z")
_LETTER_NEAR = re.compile(rf"{_REMARKED}(?: [^\s.,;:!?]{{2,20}}){{0,4}} ?\Z")
_VOWEL_SIGNS = "\u0900-\u0dff"
_NEAR = 160
_AROUND = " :\"'()[]-"
_SENTENCE = re.compile(r"[.!?;]\s|\n")
_GAP_AFTER = re.compile(r"[ ,\"')\]]{1,3}")
_CONTEXTS = {
    "heading": r"(?:%s)(?=\s?[:\n])",
    "back": (
        r"(?:^|(?<=[.!?;,:\n])|(?<=[.!?;,:]\s))(?:%s)"
        r"(?=[ \"']{0,2}(?:[,.;:!-]|(?-i:[A-Z])(?![A-Za-z])))"
    ),
}
"""Patterns of phrases, %s, with the text around them; other phrases may stand anywhere."""
_ENDS = re.compile(r"[ \"']{0,2}(?:[)\].;:!?\n]|$)")
_LETTER = re.compile(r"(?<!\w)[A-Z](?!\w)")
_COLON = re.compile(r"\s?[:-]")
_WORD = re.compile(r"[^\W\d_]+")


class Language:
    """The announcements of one language."""

    def __init__(self, table: dict[str, str]) -> None:
        self._words = table.get("words", "")
        self._spaced = bool(table.get("spaced", True))
        kinds = (*_OF_A_RUN, *_GLOSSES, "wait", "ending")
        phrases = {kind: filter(None, table.get(kind, "").split(", ")) for kind in kinds}
        self._phrases = {
            kind: [plain(phrase[:-1]) + "*" if phrase.endswith("*") else plain(phrase) for phrase in of_kind]
            for kind, of_kind in phrases.items()
        }
        self._phrases["the"].append(_GLOSSES["so"])
        signs = {phrase.rstrip("*") for kind in _SIGNS for phrase in self._phrases[kind]}
        known = (sign for sign in signs if not _ALSO_ENGLISH.fullmatch(sign))
        # Words of an announcement in this language: some anywhere in a text, others only as a whole word of it.
        self.signs = {sign for sign in known if len(sign) > 3 or not sign.isascii()}
        self.joints = {joint for joint in self._phrases["is"] if not _ALSO_ENGLISH.fullmatch(joint)}
        self._is_latin = any(map(str.isascii, self.signs))

    @lru_cache(maxsize=4096)  # noqa: B019  # the languages live as long as the process
    def any_of(self, *kinds: str) -> re.Pattern[str]:
        """Return a pattern of the phrases of some kinds; the longest one at a place matches."""
        phrases = sorted({phrase for kind in kinds for phrase in self._phrases[kind]}, key=len, reverse=True)
        words = [phrase for phrase in phrases if self._spaced and phrase[0].isalnum()]
        others = [phrase for phrase in phrases if phrase not in words]
        patterns = [self._one_of(r"(?<!\w)", words), self._one_of("", others)]
        return re.compile("|".join(patterns), re.IGNORECASE)

    def _one_of(self, before: str, phrases: Sequence[str]) -> str:
        # What all phrases have in common comes first, so that most places are left after one look.
        initials = "".join({re.escape(phrase[0]) for phrase in phrases})
        return f"{before}(?=[{initials}])(?:{'|'.join(map(self._pattern, phrases))})" if phrases else "(?!)"

    @cached_property
    def _ending(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(\w+\)?)['-](?:{'|'.join(self._phrases['ending'])})(?!\w)")

    @cached_property
    def _run(self) -> re.Pattern[str]:
        return re.compile(rf"(?:(?:{self.any_of(*_OF_A_RUN).pattern}){_GAP})+", re.IGNORECASE)

    def _pattern(self, phrase: str) -> str:
        escaped = re.escape(phrase).replace(r"\*", r"\w{0,20}")
        if phrase.upper() in self._words:  # the article in "A resposta é a A"
            following = (word.rstrip("*") for kind in ("answer", "option", "right") for word in self._phrases[kind])
            escaped = f"(?-i:{phrase}|{phrase.upper()}(?= (?:{'|'.join(map(re.escape, following))})))"
        if not self._spaced or not phrase[-1].isalnum():
            return escaped
        return escaped + rf"(?![\w{_VOWEL_SIGNS}])"

    @lru_cache(maxsize=4096)  # noqa: B019
    def _kinds(self, token: str) -> set[str]:
        return {kind for kind in _OF_A_RUN if self.any_of(kind).fullmatch(token)}

    @cached_property
    def _always(self) -> re.Pattern[str]:
        """A pattern with a group for each kind of phrases that always mean the same."""
        groups = (f"(?P<{kind}>{_CONTEXTS.get(kind, '%s') % self.any_of(kind).pattern})" for kind in _GLOSSES)
        return re.compile("|".join(groups), re.IGNORECASE)

    def put_into_english(self, text: Plain, options: Sequence[str]) -> None:
        """Replace the announcements in a text. An option may be one of the phrases, such as "none of the above"."""
        texts = tuple(filter(None, options))

        def in_english(phrase: re.Match[str]) -> str:
            said, kind = lowered(phrase[0]), str(phrase.lastgroup)
            # A phrase that takes an answer back is short: "no" also stands inside other words.
            is_option = any(option.startswith(said) if kind == "back" else said in option for option in texts)
            return phrase[0] if is_option else _spaced(_GLOSSES[kind], phrase)

        text.substitute(self._always, in_english)
        if self._phrases["ending"]:
            text.substitute(
                self._ending, lambda word: word[0 if any(lowered(word[0]) in option for option in texts) else 1]
            )
        text.substitute(self._run, lambda run: self._in_english(run, texts))

    def _in_english(self, run: re.Match[str], options: tuple[str, ...]) -> str:
        """Translate adjacent phrases. What they mean depends on the text around them."""
        text, start, end = run.string, run.start(), run.start() + len(run[0].rstrip(" \"'([-"))
        kinds = self._kinds_in(run[0])
        before = _SENTENCE.split(text[max(0, start - _NEAR) : start])[-1]
        letter, ends = self._letter_after(text, end)
        is_text = lowered(text[end : end + _NEAR]).lstrip(_AROUND).startswith(options)
        is_colon = _COLON.match(text, end) is not None
        english = _announcement(kinds, letter=letter, ends=ends, colon=is_colon, option=letter or is_text)
        joins = "is" in kinds and (letter or is_text) and english in (None, "option")
        if joins and (last := self._named_last(kinds, before, english or "")):
            english = last
        elif not (english and letter) and self._is_judged(kinds, before, options, letter=letter):
            english = _verdict(kinds, is_label=not self._is_latin)
        is_noun = english == "the answer" and not self._spaced  # may be a part of a word
        return run[0] if english is None or is_noun else _spaced(english, run, end)

    def _kinds_in(self, words: str) -> set[str]:
        tokens = self.any_of(*_OF_A_RUN).finditer(words)
        return set().union(*(self._kinds(token[0]) for token in tokens))

    def _letter_after(self, text: str, end: int) -> tuple[bool, bool]:
        """Tell whether a letter follows, and whether nothing else is said about it."""
        letter = _AFTER.match(text, end)
        if letter is None:
            return False, False
        word = self.any_of(*_OF_A_RUN).match(text, skip(_GAP_AFTER, text, letter.end()))
        follows = self._kinds(word[0]) & {"because", "verdict", "ends", "is"} if word else set()
        return True, bool(follows - {"is"}) or _ENDS.match(text, letter.end()) is not None

    def _named_last(self, kinds: set[str], before: str, option: str) -> str | None:
        """Return English words for "is" after other words of the sentence: "The one that fits best is B"."""
        names_other = any(letter[0] not in self._words for letter in _LETTER.finditer(before))
        says = kinds & {"right", "verdict"} or self.any_of("answer", "right", "verdict").search(before)
        if names_other or not says or "not" in kinds or self.any_of("not").search(before):
            return None
        return f"{'in' if self.any_of('wrong').search(before) else ''}correct is {option}"

    def _is_judged(self, kinds: set[str], before: str, options: tuple[str, ...], *, letter: bool) -> bool:
        """Whether an option stands before; words that reject it may follow at a distance."""
        rejects = "less" in kinds or kinds >= {"not", "right"} or "wrong" in kinds
        near = _LETTER_NEAR if rejects and not letter else _BEFORE
        if near.search(before):
            return True
        return "verdict" in kinds and lowered(before).rstrip(_AROUND).endswith(options)


def _spaced(english: str, words: re.Match[str], end: int | None = None) -> str:
    """Return English words in the place of others, apart from the letters around them."""
    text, start, stop = words.string, words.start(), words.end() if end is None else end
    before = " " if english and text[start - 1 : start].isalnum() else ""
    return f"{before}{english}{text[stop : words.end()] or (' ' if text[stop : stop + 1].isalnum() else '')}"


def _announcement(kinds: set[str], *, letter: bool, ends: bool, colon: bool, option: bool) -> str | None:
    """What the words before a letter or an option say."""
    if kinds == {"not"} and option:
        return "not"
    if letter and "wrong" in kinds:
        return "the incorrect one is"
    if letter and "choose" in kinds:
        return "the answer is not" if "not" in kinds else "I choose"
    if "answer" in kinds and not (ends or colon or kinds & {"is", "right", "if", "not"}):
        return "option"  # "Answer A speaks of gas."
    if "answer" in kinds and (letter or "is" in kinds or colon):
        return f"{'if ' if 'if' in kinds else ''}the answer is{' not' if 'not' in kinds else ''}"
    if letter and "option" in kinds:
        return "option"
    return "the answer" if "answer" in kinds and not kinds & {"not", "if"} else None


def _verdict(kinds: set[str], *, is_label: bool) -> str | None:
    """What the words after a letter say about it. In another script, a letter is always a label."""
    if "less" in kinds:
        return "is less likely"
    if kinds & {"not", "wrong"}:
        return "is not correct"
    if len(kinds & {"is", "right", "answer"}) > 1 or (is_label and "verdict" in kinds):
        return "is the correct match"
    if "verdict" in kinds:
        return "is correct"
    if "because" in kinds:
        return "because"
    return "" if "ends" in kinds and not kinds & {"answer", "right", "choose"} else None


@cache
def languages() -> dict[str, Language]:
    """The languages with a table, by code (ISO 639-1)."""
    return {code: Language(table) for code, table in read_tables(_TABLES).items()}


@cache
def _signs(part: str, *, is_ascii: bool) -> dict[str, list[Language]]:
    """The languages of each sign, of `signs` or `joints`, that a text may contain."""
    found = defaultdict(list)
    for language in languages().values():
        for sign in getattr(language, part):
            if sign.isascii() or not is_ascii:
                found[sign].append(language)
    return found


@cache
def _any_sign(*, is_ascii: bool) -> re.Pattern[str]:
    return re.compile(one_of(map(re.escape, _signs("signs", is_ascii=is_ascii))))


@lru_cache(maxsize=8)  # the next response is often the same; a long one must not stay in memory
def languages_in(text: str) -> list[Language]:
    """The languages in which a lower-case text may announce an answer, the likeliest first."""
    is_ascii = text.isascii()
    signs, joints = (_signs(part, is_ascii=is_ascii) for part in ("signs", "joints"))
    found = Counter(chain.from_iterable(map(joints.__getitem__, joints.keys() & _WORD.findall(text))))
    if _any_sign(is_ascii=is_ascii).search(text):
        found.update(chain.from_iterable(map(signs.__getitem__, filter(text.__contains__, signs))))
    return sorted(filter(found.__getitem__, languages().values()), key=found.__getitem__, reverse=True)
