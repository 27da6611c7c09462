"""Find where a response names printed options, and whether it states, affirms, mentions or rejects them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from lm_eval_cora.answers import Reason, phrases
from lm_eval_cora.answers.head import last_match
from lm_eval_cora.answers.plain import lowered, plain
from lm_eval_cora.question import LETTERS


@dataclass(frozen=True, slots=True)
class Claim:
    """A place where a response names an option.

    Attributes:
        position: Printed position of the option, from 0. At least the number of options if its letter is not printed.
        start: Start of its letter or text in the response.
        end: End of its letter, or of the option text that follows the letter.
        weight: STATED if the option is stated as the answer, AFFIRMED if it is called right, else MENTIONED.
        void: Why the claim does not count; None if it counts.
    """

    position: int
    start: int
    end: int
    weight: int
    void: Reason | None = None


MENTIONED, AFFIRMED, STATED = range(3)

_WINDOW = 160
"""Number of characters before or after a letter that are searched for its context."""

_NEAR = 40
"""The same, if the context is only a few words."""

_SHORTEST_TEXT = 3
"""An option text with at least this many letters counts anywhere in a response."""

_LONGEST_PART = 4
"""Maximum number of words in each further part of an option that is a list, such as "wrong, not wrong"."""


@lru_cache(maxsize=65_536)  # a question's options are printed in each of its variants
def text_of_option(choice: str) -> str:
    """Return an option text in the form that is searched for: plain, in lower case, without a final full stop.

    Example:
        >>> text_of_option("**Fog**.")
        'fog'
    """
    return lowered(plain(choice)).rstrip(" .")


class Text:
    """A response, prepared for finding the printed options in it."""

    def __init__(self, response: str, choices: Sequence[str]) -> None:
        text = phrases.OPENING.sub("", plain(response))
        self.text = text.upper() if len(text) == 1 else text
        self.lower = lowered(self.text)
        self.options = [text_of_option(choice) for choice in choices]
        exact = [plain(choice).rstrip(" .") for choice in choices] if len(set(self.options)) < len(set(choices)) else []
        if len(set(exact)) > len(set(self.options)):  # compare case, too, if only case differs: "Aa" and "AA"
            self.lower, self.options = self.text, exact
        self._last_line = self.text.rfind("\n")

    def claims(self) -> list[Claim]:
        """Return all claims in the order of the text; of several claims at one place, the one with most weight."""
        found: dict[int, Claim] = {}
        for claim in (*self._stated(), *self._mentioned()):
            known = found.get(claim.start)
            if known is None or claim.weight > known.weight:
                found[claim.start] = claim
        claims: list[Claim] = []
        for _, claim in sorted(found.items()):
            if not claims or claim.start >= claims[-1].end:  # otherwise it is the text of the claim before it
                claims.append(claim)
        claims = [claims[0], *(self._after(one, other) for one, other in pairwise(claims))] if claims else []
        listed = self._listed(claims)
        return [replace(claim, void=listed[claim.start]) if claim.start in listed else claim for claim in claims]

    def _after(self, one: Claim, other: Claim) -> Claim:
        """Return the second claim; it is void if the first claim is void and joined to it ("B or C")."""
        joined = one.void is Reason.SEVERAL and phrases.AND.fullmatch(self.text, one.end, other.start) is not None
        return replace(other, void=Reason.SEVERAL) if joined else other

    def _listed(self, claims: Sequence[Claim]) -> dict[int, Reason]:
        """Find lists of options: adjacent claims, each with the text of its option.

        A list in printed order on separate lines repeats the question. So does the first option below "Options:", and
        each line that continues it in printed order. Any other list names several answers. The text of the last option
        may be cut off.

        Returns:
            Why each claim of a list does not count, by the start of the claim.
        """
        listed = {claim.start: Reason.REPEATED for claim in claims if self._is_under_heading(claim.start)}
        for one, other in pairwise(claims):
            in_order = other.position == one.position + 1 and self.begins_line(other.start)
            if in_order and other.weight < STATED and listed.get(one.start) is Reason.REPEATED:
                listed[other.start] = Reason.REPEATED
                continue
            between = self.text[one.end : other.start]
            if len(between) > _WINDOW or phrases.REMARK.sub("", between).strip(" .;,\n\"'([-)"):
                continue
            if one.end > one.start + 1 and (other.end > other.start + 1 or self._is_in_last_line(other.end)):
                reason = Reason.REPEATED if in_order else Reason.SEVERAL
                listed.setdefault(one.start, reason)
                listed[other.start] = reason
        return listed

    def _is_under_heading(self, start: int) -> bool:
        return phrases.HEADING.search(self.text[max(0, start - _NEAR) : start]) is not None

    def _is_in_last_line(self, start: int) -> bool:
        return start > self._last_line

    # ---- stated: "the answer is B"

    def _stated(self) -> Iterator[Claim]:
        for opener in phrases.OPENER.finditer(self.text):
            filler = phrases.FILLER.match(self.text, opener.end())
            start = filler.end() if filler else opener.end()
            claim = self.named_at(start)
            if claim is None:
                continue
            if self._states(opener, claim):
                yield replace(claim, weight=STATED)
            elif (
                opener.group() in ("is", "are")
                and self.is_with_text(claim)
                and not self.text[opener.end() : start].strip(" \n\"'([")
            ):
                yield replace(claim, weight=AFFIRMED)

    def _states(self, opener: re.Match[str], claim: Claim) -> bool:
        """Whether the words before an opener state the option after it as the answer."""
        word = opener.group().lower()
        before = self._sentence_before(opener.start())
        stops = phrases.STOP.match(self.text, claim.end) is not None
        if word in phrases.CONCLUSIONS:
            return stops and not leaves_open(phrases.CLAUSE.split(before)[-1])
        if word in phrases.LABELS:
            return (
                stops
                and phrases.LABEL_LINE.search(self.text[max(0, opener.start() - _NEAR) : opener.end()]) is not None
            )
        if word in phrases.PREPOSITIONS and not phrases.OF_CHOICE.search(before.rstrip()):
            return False
        if word in phrases.VERBS or word in phrases.PREPOSITIONS or word in phrases.OPINIONS:
            subject = last_match(phrases.SUBJECT, before)
            return subject is not None and not leaves_open(before[subject.start() :])
        noun = last_match(phrases.NOUN, before)
        if noun is not None and not noun["other"] and not leaves_open(before[noun.end() :]):
            return phrases.DOUBT.search(before[: noun.start()]) is None
        return stops and word in ("is", "be") and phrases.POINTER.search(before) is not None and not leaves_open(before)

    def _sentence_before(self, end: int) -> str:
        window = self.text[max(0, end - _WINDOW) : end]
        last = last_match(phrases.SENTENCE_END, window)
        return window[last.end() :] if last else window

    # ---- mentioned: "B. Fog"

    def _mentioned(self) -> Iterator[Claim]:
        first = phrases.FRONT.match(self.text)
        front = first.end() if first else 0
        for start in (front, *(capital.start() for capital in phrases.CAPITAL.finditer(self.text, front + 1))):
            claim = self._letter_at(start)
            if claim is None or self.option_at(start)[1] > claim.end:
                continue
            before = self.text[max(0, claim.start - _NEAR) : claim.start]
            named = phrases.NAMED.search(before) is not None
            with_text = claim.end > start + 1 or self._follows_its_text(claim)
            begins = phrases.SENTENCE_START.search(before) is not None or self.begins_line(claim.start)
            affirmed = (named or begins or with_text) and phrases.AFFIRMS.match(self.text, claim.end) is not None
            marked = self.begins_line(claim.start) and phrases.MARK.match(self.text, start + 1) is not None
            goes_on = phrases.CONJUNCTION.match(self.text, start + 1) is not None
            fronts = start == front and (marked or goes_on or claim.void is not None)
            if not (affirmed or named or with_text or marked or fronts):
                continue
            if claim.void is None and phrases.REJECTED_BEFORE.search(before):
                claim = replace(claim, void=Reason.REJECTED)
            doubted = phrases.DOUBT.search(self._sentence_before(claim.start)) is not None
            yield replace(claim, weight=AFFIRMED) if affirmed and not doubted else claim

    def is_with_text(self, claim: Claim) -> bool:
        """Whether a claim is a letter followed by the text of its option."""
        option = self.options[claim.position] if claim.position < len(self.options) else ""
        return claim.end > claim.start + 1 and claim.end - claim.start > len(option)

    def begins_line(self, start: int) -> bool:
        """Whether a place begins a line; marks and a label such as "option" may precede it."""
        return phrases.LINE_START.search(self.text[max(0, start - _NEAR) : start]) is not None or start == 0

    def _follows_its_text(self, claim: Claim) -> bool:
        """Whether a letter in brackets follows the text of its option: "Fog (B)"."""
        if claim.position >= len(self.options) or self.text[claim.start - 1 : claim.start] not in ("(", "["):
            return False
        option = self.options[claim.position]
        before = self.lower[max(0, claim.start - len(option) - _NEAR) : claim.start]
        return bool(option) and before.rstrip(" ([\"'").endswith(option)

    # ---- named by text alone: "Fog"

    def texts(self) -> list[Claim]:
        """Find the texts of options, in the order of the response; a text within a longer one is skipped.

        A text with fewer than three letters counts only as the whole first line or first sentence. A number counts
        only as the whole first line, or in a single sentence that ends with an option.
        """
        place, end = self.option_at(0)
        alone = end == len(self.lower.partition("\n")[0].rstrip(" ."))
        if end and (alone or (self.lower[end - 1].isalpha() and phrases.SENTENCE_END.match(self.text, end))):
            return [Claim(place, 0, end, MENTIONED, self._void(0, end))]
        sentence = self.lower.rstrip(" .")
        ends_with_option = not phrases.SENTENCE_END.search(sentence) and sentence.endswith(
            tuple(filter(None, self.options))
        )
        found: list[Claim] = []
        taken = bytearray(len(self.lower))
        for place in sorted(range(len(self.options)), key=lambda place: -len(self.options[place])):
            option = self.options[place]
            is_number = any(map(str.isdigit, option)) and ends_with_option
            if not option or (sum(map(str.isalpha, option)) < _SHORTEST_TEXT and not is_number):
                continue
            start = self.lower.find(option)
            while start >= 0:
                end = start + len(option)
                begins = start == 0 or phrases.INSIDE.match(self.lower, start - 1) is None
                if begins and not taken[start] and self._ends_at(option, end):
                    taken[start:end] = b"\1" * len(option)
                    doubted = leaves_open(self._sentence_before(start)) or phrases.REJECTED_BEFORE.search(
                        self.text[max(0, start - _NEAR) : start]
                    )
                    void = Reason.REJECTED if doubted else self._void(start, end)
                    found.append(Claim(place, start, end, MENTIONED, void))
                start = self.lower.find(option, end)
        return sorted(found, key=lambda claim: claim.start)

    # ---- an option at a place

    def named_at(self, start: int) -> Claim | None:
        """Return the option that is named at a place, by its letter or its text; None if there is none."""
        place, end = self.option_at(start)
        if end - start > 1 or (end > start and not self.text[start].isalpha()):
            return Claim(place, start, end, MENTIONED, self._void(start, end))
        return self._letter_at(start)

    def _letter_at(self, start: int) -> Claim | None:
        match = phrases.LETTER.match(self.text, start)
        if match is None or self._is_word(match):
            return None
        position = LETTERS.index(match.group().upper())
        end = match.end()
        void = None
        if position < len(self.options) and (around := phrases.AROUND.match(self.text, end)):
            behind = around.end()
            place, text_end = self.option_at(behind, prefer=position)
            if text_end > behind and self.options[place] == self.options[position] and "\n\n" not in around.group():
                end = text_end
            elif behind > end and "\n" not in around.group() and self._contradicts(position, behind, text_end):
                void, end = Reason.CONTRADICTION, max(end, text_end)
        return Claim(position, start, end, MENTIONED, void or self._void(start, end))

    def _is_word(self, letter: re.Match[str]) -> bool:
        """Whether a matched letter is the word "a" or "I" instead of an option."""
        if letter.group() in "ai":
            alone = letter.group() == self.text
            return not alone and self.text[letter.end() : letter.end() + 1] not in (")", "]")
        if letter.group() not in "AI" or not phrases.WORD.match(self.text, letter.end()):
            return False
        goes_on = phrases.CONJUNCTION.match(self.text, letter.end()) is not None
        return not goes_on or (letter.group() == "I" and phrases.I_SAY.match(self.text, letter.end()) is not None)

    def _contradicts(self, position: int, start: int, end: int) -> bool:
        """Whether the text after a letter belongs to another option: its text, a number, "none of the above"."""
        if end > start:
            return phrases.STOP.match(self.text, end) is not None
        if phrases.ABOUT_THE_OTHERS.match(self.lower, start):
            return True
        if self._leaves_out_parts(position, start):
            return True
        own, said = phrases.NUMBER.fullmatch(self.options[position]), phrases.NUMBER.match(self.text, start)
        if own is None or said is None or phrases.STOP.match(self.text, said.end()) is None:
            return False
        return _value(own) != _value(said)

    def _leaves_out_parts(self, position: int, start: int) -> bool:
        """Whether the options combine the same parts ("1, 3" and "1, 4") and the text after a letter lacks some."""
        option = self.options[position]
        first, *others = phrases.PARTS.split(option)
        line = self.lower[start : start + _WINDOW].partition("\n")[0]
        if not others or any(len(part.split()) > _LONGEST_PART for part in others) or not line.startswith(first):
            return False
        breaks_off = start + len(line) == len(self.lower) and option.startswith(line)
        return not breaks_off and any(
            first in phrases.PARTS.split(other) for place, other in enumerate(self.options) if place != position
        )

    def _void(self, start: int, end: int) -> Reason | None:
        """Return why a named option does not count, judging by the words after it; None if it counts."""
        if phrases.IS_A_SYMBOL.match(self.text, end):
            return Reason.SEVERAL
        if phrases.IS_ASKED.match(self.text, end) or phrases.REJECTS.match(self.text, end):
            return Reason.REJECTED
        other = phrases.AND.match(self.text, end)
        letter = other and phrases.LETTER.match(self.text, other.end())
        if letter and letter.group().isupper() and letter.group() != self.text[start]:
            is_word = letter.group() in "AI" and phrases.WORD.match(self.text, letter.end())
            return None if is_word or phrases.BEGINS_CLAUSE.match(self.text, letter.end()) else Reason.SEVERAL
        return None

    def option_at(self, start: int, prefer: int | None = None) -> tuple[int, int]:
        """Return the position of the longest option text at a place, and its end; (-1, start) if there is none."""
        best, end = -1, start
        for place, option in enumerate(self.options):
            stop = start + len(option)
            if not option or stop < end or (stop == end and place != prefer):
                continue
            if self.lower.startswith(option, start) and self._ends_at(option, stop):
                best, end = place, stop
        return best, end

    def _ends_at(self, option: str, stop: int) -> bool:
        """Whether an option text may end at a place: "5" may not in "5.5" or "5/2", nor "acid" in "acid-free"."""
        return not option[-1].isalnum() or phrases.GOES_ON.match(self.lower, stop) is None


def _value(number: re.Match[str]) -> Decimal:
    return Decimal(number.group().replace(",", "").replace(" ", ""))


def leaves_open(text: str) -> bool:
    """Whether a text negates or doubts what follows it."""
    return phrases.NEGATION.search(text) is not None or phrases.DOUBT.search(text) is not None
