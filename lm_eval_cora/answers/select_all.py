"""The format of multi-selection in REVAS and MCQA+, which asks for the letters of all right options."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

from lm_eval_cora.answers import Answer, Reason, Rule, voided
from lm_eval_cora.answers.answer_format import AnswerFormat, Doc, claims, last_of
from lm_eval_cora.answers.plain import LABEL, Plain, lowered, refused_or, skip, text_of_option
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.variants import template

_HEAD = 4096
_MOST_LISTED = 10  # letters whose sets are listed

# Text between letters. Without a dash, because "A-C" may mean three letters.
_GAP = re.compile(
    r"(?:</?[\w|]{1,30}>|[\s,;/\\&+|·，、.:)(\[\]{}*_\"'`$#>!]|\b(?i:and|plus|both|as well as|options?|choices?)\b"
    r"|(?m:^)(?:[-•–]|\d+[.)])\s)*"
)
# Between a letter and the text of its option.
_MARKS_BEFORE_TEXT = r"(?:</?[\w|]{1,30}>)?[ \t.:)(\]}*_\"'`–—-]*"
_INSIDE_WORD = re.compile(r"(?<=[^\W_])[^\W_]")
# The first line is a word such as "ACD": at least two letters, in order.
_IN_ONE_WORD = re.compile(rf"(?m)\s*(?:[^\w\s][^\w\n]*)?((?=[A-Z]{{2}}){'?'.join(LETTERS)}?)[^\w\n]*$")
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
# A line without the marks around it.
_LINE = re.compile(r"[^\s.,;•\"'-](?:.*[^\s.,;•\"'-])?")


class SelectAll(AnswerFormat):
    """The letters of all right options, then an explanation.

    Source: REVAS, section 4 (multi-selection). The wording is our own.
    """

    name = template.SELECT_ALL
    description = "all right letters"
    instruction = "Reply with the letters first."

    def allowed(self, doc: Doc) -> tuple[str, ...]:
        """Return all sets of up to ten letters, as texts such as "A, C"."""
        letters, sizes = super().allowed(doc), range(1, _MOST_LISTED + 1)
        if len(letters) not in sizes:
            return ()
        return tuple(", ".join(some) for size in sizes for some in combinations(letters, size))

    def tokens(self, doc: Doc) -> int:
        """Return the number of tokens that name every letter with the text of its option, at most 128."""
        choices = doc["choices"]
        # An estimate: around all, of each letter, of the texts.
        tokens = 8 + 4 * len(choices) + len("".join(choices).encode()) // 3
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
        return _read(said, doc, 0, Rule.LETTERS_AT_THE_START)

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
        found = claims(said, [(Rule.STATED, _ANNOUNCED)], _NOT_SELECTED, through=True)
        for claim in last_of(found):
            answer = _read(said, doc, claim.end, claim.rule)
            if answer.reason is not Reason.NO_LETTER:
                return answer
        text = Plain(said)
        options = dict(zip(map(text_of_option, doc["choices"]), doc["printed"], strict=True))
        lines = set(_LINE.findall(lowered(text.text)))
        if not lines or lines - options.keys():
            return replace(strict, found=tuple(found))
        selected = _in_order(map(options.__getitem__, lines), doc)
        return Answer(selected=selected, rule=Rule.LINES, span=text.span(0, len(text.text)))

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


def _read(said: str, doc: Doc, start: int, rule: Rule) -> Answer:
    """Read the letters at a place of a response, or after the last label there that has letters."""
    head, printed = said[start : start + _HEAD], doc["printed"]
    options = dict(zip(LETTERS, doc["choices"], strict=False))
    found = last = _letters(head, 0, options)
    while label := LABEL.match(head, last[2]):
        last = _letters(head, label.end(), options)
        if last[0]:  # otherwise the letters before the label count
            found = last
    letters, first, end = found
    if not letters:
        return Answer(reason=refused_or(Reason.NO_LETTER, head))
    answer = Answer(rule=rule, span=(start + first, start + end))
    if isinstance(letters, Reason):
        return voided(answer, letters)
    positions = set(map(LETTERS.index, letters))
    if max(positions) >= len(printed):
        return voided(answer, Reason.OUT_OF_RANGE)
    return replace(answer, selected=_in_order(map(printed.__getitem__, positions), doc))


def _in_order(identities: Iterable[int], doc: Doc) -> tuple[int, ...]:
    return tuple(sorted(set(identities), key=doc["printed"].index))


@lru_cache
def _item(count: int) -> re.Pattern[str]:
    """Match a letter, in lower case only that of one of some options, with what is before it and before its text."""
    letter = rf"([A-Z{LETTERS[:count].lower()}])(?![^\W_]|['’][^\W_])"
    return re.compile(rf"({_GAP.pattern}){letter}(?=([.):])?){_MARKS_BEFORE_TEXT}")


def _letters(text: str, start: int, options: dict[str, str]) -> tuple[str, int, int]:
    """Return the selected letters at a place, and the span of all letters there.

    The letters are empty if there are none, and `Reason.UNCLEAR` if it is not clear which of them are selected.
    """
    if word := _IN_ONE_WORD.match(text, start):
        return word[1], *word.span(1)
    item_of = _item(len(options))
    letters = above = ""
    first, end = skip(_GAP, text, start), start
    while item := item_of.match(text, end):
        gap, letter, mark = item.groups()
        text_end = _end_of_text(item, options.get(letter.upper(), ""))
        if not letters:
            with_text = text_end > 0
        elif "\n" in gap:  # a later line; it must have the style of the first letter
            above = letters
            if (text_end > 0) is not with_text:
                if with_text and mark:  # "A. Steam\nB. vapour": not the text of the option, or a remark on it
                    return Reason.UNCLEAR, first, end
                break  # "A\nA. Steam ...": the explanation
        letters += letter.upper()
        end = text_end or item.end(2)
    stop = skip(_GAP, text, end)
    gap, (remark, _, below) = text[end:stop], text[stop:].partition("\n")
    if not (letters and remark) or "\n" in gap:  # nothing else is on the line
        return letters, first, end
    is_bare = not text_end and not gap.strip()
    looks_like_a_word = text[first].islower() or (letters in "AI" and remark[0].islower())
    doubted = _DENIES.search(remark) or (is_bare and len(letters) > 1)
    # If other words than the option text follow, this may be a remark, and more letters with remarks may follow.
    listed = options.keys() & _ALONE.findall(remark) or (not is_bare and item_of.match(below))
    if above:
        letters = above  # the last line explains
    elif is_bare and looks_like_a_word and len(letters) == 1:
        letters = ""
    elif listed or (doubted and not _CONFIRMS.match(remark)):
        letters = Reason.UNCLEAR
    return letters, first, end


def _end_of_text(item: re.Match[str], option: str) -> int:
    """Return the end of the text of an option that follows its letter; 0 if it does not follow."""
    wanted = option.strip(". \t\r\n\xa0\u3000")
    text, start = item.string, item.end()
    found = text[start : start + len(wanted)]  # shorter if the response was cut off
    end = start + len(found)
    follows = found and found.casefold() == wanted[: len(found)].casefold()
    return end if follows and not _INSIDE_WORD.match(text, end) else 0


SELECT_ALL = SelectAll()
