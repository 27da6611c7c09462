"""Find the places where a response names printed options, and judge each by the words around it."""

import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from lm_eval_cora.answers import Found, Reason, Rule, rules
from lm_eval_cora.answers.announced import languages_in
from lm_eval_cora.answers.plain import FRONT, Plain, last_match, lowered, plain, skip, text_of_option
from lm_eval_cora.answers.rules import AFFIRMED, CUES, LEAVES_OPEN, STATED, Cue
from lm_eval_cora.questions.question import LETTERS
from lm_eval_cora.questions.references import references

_WINDOW = 160  # characters before or after a letter that are searched for its context
_NEAR = 40  # the same, if the context is only a few words
_LONG = 300  # in a response with more characters, an option's text counts only in the first and the last sentence
_FIRST_WORDS = 12  # with at least this many letters and digits, the beginning of an option stands for the option
_REMARK = 50  # bytes, because some scripts say more with a character; more is not only a remark
_SHORTEST_TEXT = 3  # an option text with at least this many letters counts anywhere in a response


_GROUPS = re.compile(r"[, ](?=\d{3}(?!\d))| ")
_LOOSE = re.compile(r"\b(?:and|or)\b|([^\W_]+|[+*=<>%°√]|/|-(?= ?\d)|(?<![\w)\]])-(?=\S)|\.(?=\d))", re.IGNORECASE)
_EXACT = re.compile(r"(\S+)")


def _squeezed(text: str, kept: re.Pattern[str]) -> tuple[str, list[int]]:
    """Return the characters of a text that count in a comparison, and their places."""
    matches = [match for match in kept.finditer(text) if match[1]]
    return "".join(match[1] for match in matches), [place for match in matches for place in range(*match.span())]


_QUANTITY = re.compile(r"([^\d√π-]*)(-?[\d.,/√π]+)([^\d.,/√π].*)?")
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


def _numbers(texts: Sequence[str]) -> list[str]:
    """Return the numbers of options such as "1.200 €" and "1.500 €" in English notation, without and with the unit."""
    found = [match for text in texts if (match := _QUANTITY.fullmatch(text))]
    if len(found) < len(texts) or len({(number[1], number[3]) for number in found}) > 1:
        return []
    plain = [re.sub(r"\.0+\Z", "", number[2].replace(",", ".")) for number in found]
    if all(_GROUPED.fullmatch(number[2]) for number in found):
        plain = [re.sub("[.,]", "", number[2]) for number in found]
    return [*plain, *(f"{number}{found[0][3]}" for number in plain if found[0][3])]


_SHAPES = ((_LOOSE, False), (_EXACT, False), (_EXACT, True))
"""How options are compared: by which characters, and whether case counts; first without white space and punctuation."""


@lru_cache(maxsize=65_536)  # a question's options are printed in each of its variants
def _shapes_of(choice: str) -> tuple[str, list[str]]:
    """Return the plain text of an option, and what is compared of it in each way."""
    text = plain(choice).rstrip(" .")
    return text, [_squeezed(text if cased else lowered(text), kept)[0] for kept, cased in _SHAPES]


@lru_cache(maxsize=16_384)
def _keys(choices: tuple[str, ...]) -> tuple[re.Pattern[str], bool, tuple[str, ...], tuple[str, ...]]:
    """Return how options are compared (kept characters, whether case counts) and their texts in this form.

    If all are quantities with the same unit, the last part has the numbers alone.
    """
    texts, shapes = zip(*map(_shapes_of, choices), strict=True)
    # White space, punctuation and case count only if the options would be equal without them.
    ways = [(tuple(keys), *shape) for keys, shape in zip(zip(*shapes, strict=True), _SHAPES, strict=True)]
    fits = (way for way in ways if all(way[0]) is all(texts) and len(set(way[0])) == len(set(texts)))
    keys, kept, cased = next(fits, ways[-1])
    return kept, cased, keys, tuple(_squeezed(number, kept)[0] for number in _numbers(texts))


class Text(Plain):
    """A response, prepared for finding the printed options in it: plain, and without an opening phrase."""

    def __init__(self, response: str, choices: Sequence[str]) -> None:
        super().__init__(response)
        self._options = [text_of_option(choice) for choice in choices]
        self._choices = tuple(choices)
        self._languages = languages_in(lowered(self.text))
        for language in self._languages:
            language.put_into_english(self, self._options)
        self.cut(0, skip(rules.OPENING, self.text, 0))
        self.lower = lowered(self.text)
        kept, cased, self._keys, numbers = _keys(self._choices)
        self._forms = [(place % len(choices), key) for place, key in enumerate((*self._keys, *numbers))]
        self._cased = self.text if cased else self.lower
        self._squeezed, self._places = _squeezed(self._cased, kept)
        self._last_line = self.text.rfind("\n")

    def named(self) -> list[Found]:
        """Return all places in the order of the text; of several at one place, the one with most weight."""
        found = [*self._stated(), *self._mentioned()]
        if not any(place.weight == STATED for place in found):
            found += self._concluded(found)
        headed = rules.HEADED.search(self.text, max(0, len(self.text) - _LONG))
        if headed and not any(place.start >= headed.start("said") for place in found):
            found.append(Found(-1, *headed.span("said"), Rule.UNREADABLE, STATED, Reason.NO_LETTER))
        found += [line for line in self._lines() if any(line.start <= place.start < line.end for place in found)]
        places: list[Found] = []
        for place in sorted(found, key=lambda place: (place.start, -place.weight)):
            if not places or place.start >= places[-1].end:  # otherwise it is in the text of the option before it
                places.append(place)
        voids = self._listed(places)
        if places and (others := rules.OTHERS.search(self.text, places[0].end)):
            behind = (place for place in places if place.start > others.end() and place.weight < STATED)
            voids |= {place.start: Reason.REPEATED for place in behind}
        for first, second in pairwise(places):
            if first.void is Reason.SEVERAL and rules.JOINS.fullmatch(self.text, first.end, second.start):  # "B or C"
                voids.setdefault(second.start, Reason.SEVERAL)
        return [self._at_the_end(place._replace(void=voids.get(place.start, place.void))) for place in places]

    def _lines(self) -> Iterator[Found]:
        """Yield the first and the last line if they are the text of an option, such as "Both A and B"."""
        for start in {0, self._last_line + 1}:
            position, end = self._option_at(start)
            if end > start + 1 and (rules.ENDS_LINE.match(self.text, end) or rules.AFFIRMS.match(self.text, end)):
                yield Found(position, start, end, Rule.TEXT, STATED, self._void(start, end))

    def _listed(self, places: Sequence[Found]) -> dict[int, Reason]:
        """Find lists of options: adjacent places, each with the text of its option; the last text may be cut off.

        A list in printed order on separate lines, or below "Options:", repeats the question. Any other list names
        several answers.
        """
        listed = {place.start: Reason.REPEATED for place in places if rules.HEADING.search(self._before(place.start))}
        for first, second in pairwise(places):
            in_order = second.position == first.position + 1 and self.begins_line(second.start)
            between = self.text[first.end : second.start]
            stands = first.weight == STATED and "\n\n" in between and not rules.ENDS_LINE.match(self.text, second.end)
            if in_order and second.weight < STATED and listed.get(first.start) is Reason.REPEATED:
                listed[second.start] = Reason.REPEATED
            elif (
                second.position != first.position
                and len(between) <= _WINDOW
                and not rules.REMARK.sub("", between).strip(" .;,\n\"'([-)")
                and not first.is_bare
                and not stands
                and (not second.is_bare or second.end > self._last_line)
            ):
                repeats = in_order and first.weight < STATED
                listed[second.start] = Reason.REPEATED if repeats else Reason.SEVERAL
                listed.setdefault(first.start, listed[second.start])
        return listed

    def _at_the_end(self, place: Found) -> Found:
        """Return a place, with more weight if it is a letter on the last line, alone or with its own text."""
        alone = place.start > self._last_line > 0 and self.begins_line(place.start)
        lists = self.text[place.start].islower() and not self.is_with_text(place)  # "(b)"
        goes_on = self.text[place.end :].strip(" .)]\"'!")
        if not alone or lists or goes_on or place.void or place.weight == STATED:
            return place
        return place._replace(weight=STATED, rule=Rule.AT_THE_END)

    def is_final(self, place: Found) -> bool:
        """Whether the last line announces a place as the answer: "Answer: B"."""
        is_stated = place.rule in (*rules.FIRM, Rule.AT_THE_END) and self.has(rules.LABELLED_BY, place)
        return place.start > self._last_line > 0 and (is_stated or place.position < 0)

    def ends_with(self, place: Found) -> bool:
        """Whether the last sentence announces a place as the answer."""
        last = not rules.SENTENCE_END.search(self.text[place.end :].lstrip(")] ."))
        return last and place.rule in rules.FIRM and not rules.UNFINISHED.search(self.text[place.end :])

    def ends_in_nothing(self, start: int) -> bool:
        """Whether a conclusion or correction at the end, behind a place, says that no option fits."""
        said = self.text[start:].rstrip(" .!\n")
        last = last_match(rules.SENTENCE_END, said)
        if last is None or not rules.NO_OPTION.search(said, last.end()):
            return False
        return bool(rules.CONCLUDES.search(said, last.end()) or rules.TAKES_BACK.search(said))

    def breaks_off_in_doubt(self, start: int) -> bool:
        """Whether the text ends within a sentence and has second thoughts behind a place."""
        if not rules.UNFINISHED.search(self.text):
            return False
        goes_on = len(self.text[start:].encode(errors="replace")) > _REMARK
        return rules.HESITATES.search(self.text, start) is not None or (goes_on and self._says("wait", start=start))

    def _says(self, *kinds: str, start: int) -> bool:
        """Whether words of some kinds, in its likeliest language, stand behind a place of the text."""
        return any(language.any_of(*kinds).search(self.text, start) for language in self._languages[:1])

    # ---- stated: "the answer is B"
    def _stated(self) -> Iterator[Found]:
        for opener in rules.OPENER.finditer(self.text):
            if place := self._named_at(skip(rules.FILLER, self.text, opener.end())):
                before = self._sentence_before(opener.start())
                cues = CUES if place.position >= 0 else (rules.STATES_NOTHING,)
                word = opener.group()
                if word in ":=" and "\n" in self.text[opener.end() : place.start]:
                    word += "\n"
                if cue := next((cue for cue in cues if self._fits(cue, word, before, place)), None):
                    # "The answer is D. Fog is not a ..."
                    begins_anew = cue.weight == STATED and self.is_with_text(place) and not self._is_asked(*place.span)
                    void = None if begins_anew and place.void is Reason.REJECTED else place.void
                    yield place._replace(weight=cue.weight, rule=cue.rule, void=void)

    def _fits(self, cue: Cue, word: str, before: str, place: Found) -> bool:
        """Whether the words before and after an option are a cue for it."""
        if not cue.words.fullmatch(word):  # most cues
            return False
        with_text = self.is_with_text(place)
        if not (with_text or (cue.after.match(self.text, place.end) and not cue.with_text)):
            return False
        found = last_match(cue.before, before)
        if found is None or found.groupdict().get("other"):
            return False
        parts = ((cue.doubt, before[: found.start()]), (cue.opens, before[found.start() :]), (cue.unless, before))
        return not any(pattern.search(part) for pattern, part in parts)

    def _before(self, end: int, size: int = _NEAR) -> str:
        return self.text[max(0, end - size) : end]

    def _sentence_before(self, end: int) -> str:
        window = self._before(end, _WINDOW)
        last = last_match(rules.SENTENCE_END, window if rules.ENDED.search(window) else window.rstrip())
        return window[last.end() :] if last else window

    def _concluded(self, found: Sequence[Found]) -> Iterator[Found]:
        """Yield the only option of the last sentence that concludes, such as "That leaves B"."""
        ends = [end.end() for end in rules.SENTENCE.finditer(self.text)]
        spans = [span for span in pairwise([0, *ends, len(self.text)]) if rules.CONCLUDES.search(self.text, *span)]
        breaks_off = rules.UNFINISHED.search(self.text) and all(place.end < len(self.text) for place in found)
        if breaks_off or not spans:
            return
        start, end = spans[-1]
        named = self.letters(start, end) or [text for text in self.texts() if start <= text.start < end]
        others = [place for place in found if place.start >= start or (place.weight and not place.void)]
        is_open = LEAVES_OPEN.search(self.text, start, end) or self._says("not", "wrong", "less", "if", start=start)
        if named and not is_open and len({place.position for place in (*named, *others)}) == 1:
            yield named[0]._replace(weight=STATED, rule=Rule.CONCLUDED)

    def letters(self, start: int, end: int = sys.maxsize) -> list[Found]:
        """The letters of options in a part of the text that are not words or symbols, each once."""
        found = {letter[0]: self._letter_at(letter.start()) for letter in rules.ALONE.finditer(self.text, start, end)}
        return [place for place in found.values() if place and place.position < len(self._options)]

    # ---- mentioned: "B. Fog"
    def _mentioned(self) -> Iterator[Found]:
        front = skip(FRONT, self.text, 0)
        for start in (front, *(capital.start() for capital in rules.CAPITAL.finditer(self.text, front + 1))):
            place = self._letter_at(start)
            if place is None or self._option_at(start)[1] > place.end:
                continue
            with_text = not place.is_bare
            affirmed = self.has(rules.CALLED_RIGHT_BY, place) or (with_text and self.has(rules.AFFIRMED_BY, place))
            named = affirmed or with_text or self.has(rules.NAMED_BY, place)
            goes_on = rules.GIVES_REASON.match(self.text, start + 1) or rules.GOES_INTO_TEXT.match(self.text, start + 1)
            at_front = start == front and (place.void or goes_on)
            if not (named or at_front or self.has(rules.MARKED_BY, place)):
                continue
            is_small = not (named or place.void) and self.text[start].islower()
            follows = is_small and f"({LETTERS[place.position - 1].lower()})" in self.text[:start]
            if follows or (is_small and not rules.ENDS_LINE.match(self.text, place.end)):
                continue  # it numbers a step: "(b)" after "(a)", or "(a) First, ..."
            void = place.void or next((void for void, signs in rules.VOID_BY.items() if self.has(signs, place)), None)
            before = self._sentence_before(place.start)
            if affirmed and not rules.DOUBT.search(before):
                last = rules.CONCLUDES.search(before) and not rules.SENTENCE_END.search(self.text, place.end)
                weight = STATED if last else AFFIRMED
                yield place._replace(weight=weight, rule=Rule.CALLED_RIGHT, void=void)
            else:
                yield place._replace(rule=Rule.WITH_TEXT if with_text else Rule.LETTER, void=void)

    def has(self, signs: Iterable[Sequence[re.Pattern[str]]], place: Found) -> bool:
        """Whether the text before and after an option has one of some signs."""
        near = self._before(place.start)
        return any(before.search(near) and after.match(self.text, place.end) for before, after in signs)

    def is_with_text(self, place: Found) -> bool:
        """Whether a place is a letter followed by the text of its option."""
        letter = LETTERS[place.position : place.position + 1]
        is_letter = rules.LETTER_STATED.match(self.text, place.start) is not None
        return is_letter and not place.is_bare and self.text[place.start].upper() == letter

    def begins_line(self, start: int) -> bool:
        """Whether a place begins a line; marks and a label such as "option" may precede it."""
        return rules.LINE_START.search(self._before(start)) is not None

    # ---- named by text alone: "Fog"
    def texts(self) -> Iterator[Found]:
        """Yield the texts of options, in the order of the response; a text within a longer one is skipped.

        A text with fewer than three letters counts only as the whole first line or first sentence. A number counts
        only as the whole first line, or in a single sentence that ends with an option.
        """
        position, end = self._option_at(0)
        is_short = 0 < end < _SHORTEST_TEXT and self.lower[:end].isalpha()
        is_set_off = is_short and rules.SETS_OFF.match(self.text, end)  # "No, ..."
        is_first_line = rules.ENDS_LINE.match(self.text, end)
        is_sentence = self.lower[end - 1 : end].isalpha() and rules.SENTENCE_END.match(self.text, end)
        if end and (is_set_off or is_first_line or is_sentence):
            yield Found(position, 0, end, Rule.TEXT, void=self._void(0, end))
            return
        ends = list(rules.SENTENCE_END.finditer(self.text.rstrip(" .\n")))
        first, last = (ends[0].start(), ends[-1].end()) if ends and len(self.text) > _LONG else (0, 0)
        single = not rules.SENTENCE_END.search(self.lower.rstrip(" ."))
        ends_in_option = single and any(self._squeezed.endswith(key) for _, key in self._forms)
        end = 0
        for word in rules.WORD_START.finditer(self.lower):
            start = word.start()
            if start < end or first < start < last:
                continue
            position, stop = self._option_at(start)
            key = self._keys[position]
            is_number = ends_in_option and any(map(str.isdigit, key))
            if stop > start and (is_number or sum(map(str.isalpha, key)) >= _SHORTEST_TEXT):
                rejected = rules.REJECTED_BEFORE.search(self._before(start))
                doubted = rejected or LEAVES_OPEN.search(self._sentence_before(start))
                void = Reason.REJECTED if doubted else self._void(start, stop)
                yield Found(position, start, stop, Rule.TEXT, void=void)
                end = stop

    # ---- an option at a place
    def _named_at(self, start: int) -> Found | None:
        """Return the option that is stated at a place, by its letter or its text, or that none is; else None."""
        position, end = self._option_at(start)
        unprinted = end > start and self.text[start] not in LETTERS[: len(self._options)]
        if end - start > 1 or unprinted:
            return Found(position, start, end, void=self._void(start, end))
        if (letter := self._letter_at(start, stated=True)) or not rules.NOTHING_STATED.match(self.text, start):
            return letter
        return Found(-1, start, start + 4, void=Reason.NONE_FITS)

    def _letter_at(self, start: int, *, stated: bool = False) -> Found | None:
        match = (rules.LETTER_STATED if stated else rules.LETTER_MENTIONED).match(self.text, start)
        if not match:
            return None
        position, end, void = LETTERS.index(match[0].upper()), match.end(), None
        is_closed = stated and self.text[start - 1 : start] == "(" and self.text.startswith(").", end)
        if not is_closed and position < len(self._options):
            behind = skip(rules.AROUND, self.text, end)
            around = self.text[end:behind]
            other, text_end = self._option_at(behind, prefer=position)
            if text_end > behind and self._keys[other] == self._keys[position] and "\n\n" not in around:
                end = text_end
            elif text_end == behind > end and (first := self._first_words_at(behind, position)):
                end = first
            elif around and "\n" not in around and self._contradicts(position, behind, text_end):
                void, end = Reason.CONTRADICTION, max(end, text_end)
        if end == match.end() and rules.GLUED.match(self.text, end):  # "[A]0"
            return None
        return Found(position, start, end, void=void or self._void(start, end))

    def _first_words_at(self, start: int, position: int) -> int:
        """Return the end of a line that consists of the first words of an option and of no other; else 0."""
        end = start + len(self.text[start:].partition("\n")[0])
        words = self._squeezed[bisect_left(self._places, start) : bisect_left(self._places, end)]
        begun = [place for place, key in enumerate(self._keys) if key.startswith(words)]
        return end if len(words) >= _FIRST_WORDS and begun == [position] else 0

    def _contradicts(self, position: int, start: int, end: int) -> bool:
        """Whether the text after a letter belongs to another option: its text, a number, "none of the above"."""
        if end > start:
            return (rules.STOP.match(self.text, end) or rules.BEGINS_CLAUSE.match(self.text, end)) is not None
        if others := rules.ABOUT_THE_OTHERS.match(self.lower, start):
            refers = references(self._choices, "")[position]
            return refers != "other" and not (refers and others[0].startswith(refers))
        if self._leaves_out_parts(position, start):
            return True
        own, said = rules.NUMBER.fullmatch(self._options[position]), rules.NUMBER.match(self.text, start)
        values = {Decimal(_GROUPS.sub("", number[0]).replace(",", ".")) for number in (own, said) if number}
        return bool(own and said and rules.STOP.match(self.text, said.end())) and len(values) > 1

    def _leaves_out_parts(self, position: int, start: int) -> bool:
        """Whether options begin with the same part ("1, 3" and "1, 4") and the text after a letter lacks the rest."""
        option = self._options[position]
        first, comma, _ = option.partition(",")
        shared = any(other.startswith(f"{first},") for other in self._options if other != option)
        line = self.lower[start : start + _WINDOW].partition("\n")[0]
        is_begun = line.startswith(first) and not option.startswith(line)
        is_list = comma and len(option) <= _NEAR and not rules.NUMBER.fullmatch(option)
        return bool(is_list) and shared and is_begun

    def _void(self, start: int, end: int) -> Reason | None:
        """Return why a named option does not count, judging by the words after it; None if it counts."""
        if end == start + 1 and rules.IS_A_SYMBOL.match(self.text, end):
            return Reason.SEVERAL
        remark = rules.REMARK.match(self.text, end + 1)
        stops = {end, remark.end() if remark else end}
        if self._is_asked(start, end) or any(rules.REJECTS.match(self.text, stop) for stop in stops):
            return Reason.REJECTED
        other = rules.AND.match(self.text, end)
        letter = other and rules.OTHER_LETTER.match(self.text, other.end())
        return Reason.SEVERAL if letter and letter.group() != self.text[start] else None

    def _is_asked(self, start: int, end: int) -> bool:
        """Whether a question mark follows that is not part of an option."""
        asked = rules.IS_ASKED.match(self.text, end) is not None
        return asked and (end == start + 1 or not any(option.endswith("?") for option in self._options))

    def _option_at(self, start: int, prefer: int | None = None) -> tuple[int, int]:
        """Return the position of the longest option text at a place, and its end; (-1, start) if there is none."""
        at = bisect_left(self._places, start)
        if at == len(self._places) or self._cased[start : self._places[at]].strip(" \"'(["):
            return -1, start
        best, longest, end = -1, 0, start
        for position, key in self._forms:
            size = len(key)
            if size < longest or not size or (size == longest and position != prefer):
                continue
            if self._squeezed.startswith(key, at) and self._ends_at(stop := self._places[at + size - 1] + 1):
                best, longest, end = position, size, stop
        return best, end

    def _ends_at(self, stop: int) -> bool:
        """Whether an option text may end at a place: "5" may not in "5.5" or "5/2", nor "acid" in "acid-free"."""
        return not self.lower[stop - 1].isalnum() or rules.GOES_ON.match(self.lower, stop) is None
