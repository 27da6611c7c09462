"""The format of multi-selection in REVAS and MCQA+, which asks for the letters of all right options."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.format import AnswerFormat, Doc
from lm_eval_cora.answers.places import text_of_option
from lm_eval_cora.answers.plain import LABEL, Plain, announced, lowered, refused_or, skip
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants import template

_HEAD = 4096

# Text between letters. Without a dash, because "A-C" may mean three letters.
_BETWEEN = re.compile(
    r"(?:</?[\w|]{1,30}>|[\s,;/\\&+|·，、.:)(\[\]{}*_\"'`$#>!]|\b(?:and|plus|both|as well as|options?|choices?)\b"
    r"|^\s*(?:[-•–]|\d+[.)])\s)*",
    re.IGNORECASE | re.MULTILINE,
)
_LETTER = re.compile(r"([A-Za-z])(?![^\W_]|['’][^\W_])")
_BEFORE_TEXT = re.compile(r"(?:</?[\w|]{1,30}>)?[ \t.:)(\]}*_\"'`–—-]*")
_IN_ONE_WORD = re.compile(r"\W*([A-Z]{2,})\W*")
_ALONE = re.compile(r"(?<![\w'’])(?![AI] [a-z])([A-Z])(?![\w'’])")
_CONFIRMS = re.compile(
    r"because\b|since\b|as\b|due to\b|(?:is|are)(?: the| both| all)*(?: only)? (?:right|correct|true)\b"
)
_DENIES = re.compile(r"(?i)\b(?:not|wrong|incorrect|false|neither|isn['’]t|aren['’]t)\b")
_ANNOUNCED = re.compile(
    r"(?i)\b(?:options|choices|choose|select|pick)\b(?= [\"'(]?[a-z]\b)|\b(?:answers?|choices|options?|letters|"
    r"selections?)\b(?: (?!not\b)[\w'’]{1,20}){0,8}?(?:[*_]{0,2} ?[:：]| (?:is|are)\b(?! not))"
)
_NOT_SELECTED = re.compile(
    r"(?i)\b(?:not|\w{1,8}n['’]t|cannot|incorrect|wrong|false|exclud\w{1,4}|eliminat\w{1,4}|rule out|other|between|if|"
    r"whether|discard\w{0,3}|reject\w{0,3})\b[^.\n]*$|\bthe options are$"
)


class SelectAll(AnswerFormat):
    """The letters of all right options, then an explanation.

    Source: REVAS, section 4 (multi-selection). The wording is our own.
    """

    name = template.SELECT_ALL
    description = "all right letters"
    instruction = "Reply with the letters first."

    def tokens(self, doc: Doc) -> int:
        """Return the number of tokens that name every letter with the text of its option, at most 128."""
        texts = sum(len(choice.encode()) for choice in doc["choices"])
        tokens = 8 + 4 * len(doc["choices"]) + texts // 3  # an estimate: around all, of each letter, of the texts
        # A multiple of 32, because back ends batch requests with the same limit, and low, because they cut that many
        # tokens off a long prompt.
        return min(128, -(-tokens // 32) * 32)

    def strict(self, said: str, doc: Doc) -> Answer:
        r"""Read the selected options, one or more, at the beginning of a response; only 4,096 characters are read.

        The response must begin with the letters, each alone or with the text of its option: "A", "A and C", "A, C",
        "(A) (C)", "ACD", "A\nC", "B. Fog, C. Dew", "- B (Fog)\n- C (Dew)". A label before them ("The right answers are:
        A, C") and reasoning that ends with "</think>" or similar are skipped. As in `Letter.strict`, a bare "A" or "I"
        before a lower-case word is the English word, and a bare lower-case letter before other words does not count.

        Letters in an explanation do not count. If it is unclear whether a letter on the same line is part of the
        selection, the answer is invalid: "A-C", "A, B or D", "C (A and B are wrong)", "A: Yes, B: No". So is "All of
        the above", because it does not name a letter, and an answer with a letter that is not printed.

        Example:
            >>> doc = {"printed": [0, 4, 2], "choices": ["Ice", "Fog", "Dew"]}
            >>> SELECT_ALL.strict("A and C", doc).selected, SELECT_ALL.strict("A-C", doc).reason.value
            ((0, 2), 'unclear selection')

        Source: REVAS, section 4 (multi-selection). The rules are our own.
        """
        head = said[:_HEAD]
        try:
            letters, span = _letters(head, doc["choices"])
        except _Unclear:
            return Answer(reason=Reason.UNCLEAR)
        if not letters:
            return Answer(reason=refused_or(Reason.NO_LETTER, head))
        positions = sorted({LETTERS.index(letter) for letter in letters})
        if positions[-1] >= len(doc["printed"]):
            return Answer(reason=Reason.OUT_OF_RANGE)
        selected = tuple(dict.fromkeys(doc["printed"][position] for position in positions))
        return Answer(selected=selected, rule="letters at the start", span=span)

    def flexible(self, said: str, doc: Doc) -> Answer:
        r"""Find the selected options anywhere in a response.

        If `strict` finds no letter at the beginning, the last announced selection counts: "Based on the text, the right
        answers are A and C." If there is none, and each line is the text of an option, these options are selected.

        Example:
            >>> doc = {"printed": [0, 4, 2], "choices": ["Ice", "Fog", "Dew"]}
            >>> SELECT_ALL.flexible("After some thought, the answers are A and C.", doc).selected
            (0, 2)
        """
        strict = self.strict(said, doc)
        if strict.reason not in (Reason.NO_LETTER, Reason.REFUSED):
            return strict
        for start in announced(_ANNOUNCED, said, _NOT_SELECTED, inside=True):
            answer = self.strict(said[start : start + _HEAD], doc)
            if answer.reason is not Reason.NO_LETTER:
                stated = answer if answer.reason else replace(answer, rule="stated as the answer")
                return stated.moved(lambda first, end, start=start: (first + start, end + start))
        text = Plain(said)
        options = dict(zip(map(text_of_option, doc["choices"]), doc["printed"], strict=True))
        lines = {line.strip(" .,;-•\"'") for line in lowered(text.text).split("\n")} - {""}
        if not lines or not options.keys() >= lines:
            return strict
        chosen = {options[line] for line in lines}
        selected = tuple(dict.fromkeys(one for one in doc["printed"] if one in chosen))
        return Answer(selected=selected, rule="lines that are options", span=text.span(0, len(text.text)))

    def is_complete(self, said: str, answer: Answer, doc: Doc) -> bool:
        """Whether the line of the selection is complete."""
        return super().is_complete(said, answer, doc) and "\n" in said.rstrip()

    def said(self, answer: Answer, printed: Sequence[int], *, letters: bool) -> str | None:
        """Return the selected letters or identities."""
        if answer.selected is None:
            return None
        if not letters:
            return " ".join(map(str, answer.selected))
        return ", ".join(LETTERS[place] for place, one in enumerate(printed) if one in answer.selected) or "none"


_Named = tuple[re.Match[str], int]
"""A letter that a response names, and its end or the end of the text of its option, if that follows."""


class _Unclear(Exception):
    """The response names letters, but it is not clear which of them it selects."""


def _letters(text: str, choices: Sequence[str]) -> tuple[list[str], tuple[int, int]]:
    """Return the letters at the beginning of a text, or after the last label there that has letters, and their span."""
    parts: list[tuple[int, list[_Named]]] = []
    label: re.Match[str] | None = None
    start = 0
    while not parts or label:
        start = label.end() if label else start
        parts.append((start, _named(text, start, choices)))
        label = LABEL.match(text, _end_of(parts[-1][1]) or start)
    for start, named in reversed(parts):
        if letters := _in_one_word(text[start:]) or _selected(text, start, named, choices):
            return letters, (named[0][0].start() if named else start, _end_of(named) or start + len(letters))
    return [], (start, start)


def _end_of(named: list[_Named]) -> int:
    return named[-1][1] if named else 0


def _in_one_word(text: str) -> list[str]:
    """Return the letters of a first line such as "ACD"; empty if it is not such a line."""
    word = _IN_ONE_WORD.fullmatch(text.strip().partition("\n")[0])
    letters = list(word[1]) if word else []
    return letters if letters == sorted(set(letters)) else []


def _named(text: str, start: int, choices: Sequence[str]) -> list[_Named]:
    """Return the successive letters at a place of a text; later lines must have the style of the first one."""
    named: list[_Named] = []
    while match := _LETTER.match(text, skip(_BETWEEN, text, _end_of(named) or start)):
        if match[1].islower() and _place(match) >= len(choices):
            break
        end = _end_of_text(match, choices)
        with_text = bool(named) and named[0][1] > named[0][0].end()
        if named and (end > match.end()) is not with_text and "\n" in text[_end_of(named) : match.start()]:
            if with_text and text[match.end() : match.end() + 1] in (".", ")", ":"):
                raise _Unclear  # "A. Steam\nB. vapour": not the text of the option, or a remark on it
            break  # "A\nA. Steam ...": the explanation
        named.append((match, end))
    return named


def _end_of_text(letter: re.Match[str], choices: Sequence[str]) -> int:
    """Return the end of the option text that follows a letter; that of the letter if it does not follow."""
    text, wanted = letter.string, "".join(choices[_place(letter) : _place(letter) + 1]).strip().rstrip(".")
    start = skip(_BEFORE_TEXT, text, letter.end())
    found = text[start : start + len(wanted)]
    end = start + len(found)
    if end == len(text):  # the response may be cut off
        wanted = wanted[: len(found)]
    follows = found and found.casefold() == wanted.casefold()
    return end if follows and not (found[-1].isalnum() and text[end : end + 1].isalnum()) else letter.end()


def _place(letter: re.Match[str]) -> int:
    return LETTERS.index(letter[1].upper())


def _selected(text: str, begin: int, named: list[_Named], choices: Sequence[str]) -> list[str]:
    """Return the named letters that are selected, judging by the text after them."""
    letters = [LETTERS[_place(letter)] for letter, _ in named]
    start = skip(_BETWEEN, text, _end_of(named) or begin)
    gap = text[_end_of(named) : start]
    if not named or start == len(text) or "\n" in gap:
        return letters
    last, end = named[-1]
    line_start = text.rfind("\n", 0, end) + 1
    if above := [LETTERS[_place(letter)] for letter, _ in named if letter.start() < line_start]:
        return above  # the last line explains
    rest, _, below = text[start:].partition("\n")
    bare = not gap.strip() and end == last.end()
    if bare and len(named) == 1 and (last[1].islower() or (last[1] in "AI" and rest[0].islower())):
        return []  # a word
    confirmed = _CONFIRMS.match(rest) is not None
    denied = not confirmed and _DENIES.search(rest) is not None
    # If other words than the option text follow, this may be a remark, and more letters with remarks may follow.
    several = bool(_named(below, 0, choices)) if not bare else len(named) > 1 and not confirmed
    if denied or several or any(LETTERS.index(letter) < len(choices) for letter in _ALONE.findall(rest)):
        raise _Unclear
    return letters


SELECT_ALL = SelectAll()
