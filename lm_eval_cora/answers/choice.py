"""Find the option that a response chooses, as a careful person would read it."""

import re
from collections.abc import Sequence
from dataclasses import replace

from lm_eval_cora.answers import Answer, Found, Reason, Rule, rules
from lm_eval_cora.answers.answer_format import Doc, picked_at, valid
from lm_eval_cora.answers.places import Text
from lm_eval_cora.answers.plain import NEXT_QUESTION, OPENS, plain, refused_or
from lm_eval_cora.answers.rules import AFFIRMED, MENTIONED, ODD_ONE, STATED
from lm_eval_cora.questions.question import LETTERS

_SHORT = 80  # up to this many characters, a response may end without a full stop and does not count as cut off
_LONGEST_BARE = 60  # characters of a response that is one letter, perhaps repeated, and marks
_BEGUN = 2  # characters after a line break that show that a new line has begun


def find_letter(said: str, doc: Doc, *, at_the_end: bool = False) -> Answer:
    r"""Find the printed option that a response chooses.

    The rules in three steps:

    1. Find the places that name an option, each with a weight. *Stated*: "the answer is (B)", "I would choose option
       B", "**Answer:** B", "\boxed{B}", "the most likely product is: **B. fog**", a JSON value, a letter on the last
       line, alone or with its own text. *Called right*: "Option B is correct", "B: yes". *Mentioned*: a letter with its
       text, "option B", a letter at the beginning of a line.
    2. Drop the places that are rejected ("B is wrong"), asked about, conditional or doubted, joined to another letter
       ("B or C"), next to the text of another option ("B. Ice" where A is ice), or in a list that repeats the options.
    3. The last stated option decides, whatever was mentioned elsewhere. Without one, the only option that is called
       right; then the only one that is mentioned; then the only one whose text occurs.

    If the prompt asks for the answer first, an answer in the first sentence is kept unless its own line states another
    option, an explicit correction ("Wait, ...") follows, or the last line is "Answer: B". What follows a new question
    does not count. In a refusal, or in a response that breaks off, an option that is only mentioned does not count. An
    announcement at the end that cannot be read ("Answer: none") leaves the response invalid.
    """
    said = OPENS.split(said, maxsplit=1)[0]
    if question := NEXT_QUESTION.search(said):
        answer = _read(said[: question.start()], doc, at_the_end=at_the_end)
        if answer.position is not None:
            return replace(answer, settled=not at_the_end)
        if answer.reason in _DECISIVE:
            return answer
    return _read(said, doc, at_the_end=at_the_end)


def _read(said: str, doc: Doc, *, at_the_end: bool) -> Answer:
    """Read a response, or the part before a new question."""
    if answer := _bare(said, doc) or _of_object(said, doc):
        return answer
    text = Text(said, doc["choices"])
    return text.traced(_of_text(text, doc, at_the_end=at_the_end))


def _of_text(text: Text, doc: Doc, *, at_the_end: bool) -> Answer:
    """Read a text by its places."""
    places, printed = text.named(), doc["printed"]
    texts = [] if places else [*text.texts()]
    chosen = _chosen(text, places, printed, at_the_end=at_the_end) if places else _by_text(text, texts, printed)
    if isinstance(chosen, Reason):
        return Answer(reason=chosen, found=(*places, *texts))
    at_front = not at_the_end and _front(text, [chosen]) is chosen
    agree = [place.end for place in places if (place.position, place.weight) == (chosen.position, chosen.weight)]
    unfinished = text.breaks_off_in_doubt(max(agree, default=chosen.end))
    if unfinished and not at_front and not text.has(rules.LABELLED_BY, chosen):
        return Answer(reason=Reason.CUT_OFF, found=tuple(places))
    # A letter A with its text at the beginning is not settled, because an analysis of all options may begin with it.
    may_go_on = chosen.position == 0 and text.is_with_text(chosen) and _is_first(text, chosen)
    begun = len(text.text[chosen.end :].partition("\n")[2].strip()) >= _BEGUN
    return picked_at(
        chosen.position,
        doc,
        settled=at_front and begun and not may_go_on,
        at_front=at_front and chosen.end < len(text.text),
        rule=chosen.rule,
        span=chosen.span,
    )


_MARKS = r"[ .,:;!?()\[\]\"']*"
_BARE = re.compile(rf"[\W_]*([A-Z])(?:[\W_]+\1)*[\W_]*|{_MARKS}([a-z]){_MARKS}")


def _bare(said: str, doc: Doc) -> Answer | None:
    """Read a response that is one letter, perhaps repeated, and marks; None if it is not."""
    if len(said) <= _LONGEST_BARE and (bare := _BARE.fullmatch(plain(said))):
        position = LETTERS.index((bare[1] or bare[2]).upper())
        if position < len(doc["printed"]):
            return picked_at(position, doc, at_front=True, rule=Rule.ALONE, span=(0, len(said.rstrip())))
    return None


# ---- JSON, a printed Python dict, or the arguments of a tool call
_PAIR = re.compile(
    r"(?P<quote>[\"'])(?P<key>[^\"'\n]{1,40})(?P=quote)\s{0,4}:\s{0,4}(?P<list>\[\s{0,4})?"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.){0,4000})\"|'(?P<single>(?:[^'\\]|\\.){0,4000}?)'(?=\s*[,}\]])"
    r"|(?P<bare>true|false|null|None|True|False|-?\d[\d.]{0,30}))"
)
_MORE = re.compile(r"\s{0,4},\s{0,4}[\"'][^\"':]{0,400}[\"']\s{0,4}[,\]]")
_CALL = re.compile(
    r"\b\w{1,40}\(\s{0,4}(?P<key>[a-z_]{1,40})\s?=\s?(?P<list>)(?P<quote>[\"'])(?P<double>[^\"'\n]{1,400})(?P=quote)\s{0,4}\)"
)
_ANSWER_KEYS = (
    re.compile(
        r"(?i)(?:final|correct|best|predicted|my|the|right|selected|chosen)?[\s_-]*answer(?:[\s_-]*(?:letter|choice|"
        r"option|key|label))?|(?:final|correct|best|selected|chosen|predicted|right)[\s_-]*(?:choice|option|letter)"
    ),
    re.compile(r"(?i)[\w\s-]*(?:choice|option|letter|answer|selection|selected|prediction|chosen)[\w\s-]*"),
    re.compile(r"(?i)(?:result|response|output|final|value|solution|conclusion)"),
)
"""Keys of an answer, the clearest first."""
_OTHER_KEYS = re.compile(
    r"(?i)expla|reason|rationale|thought|analy|why|comment|justif|confidence|wrong|incorrect|options|choices"
)
_YES = re.compile(r"[Tt]rue|[Yy]es|[Cc]orrect|[Rr]ight")


def _of_object(said: str, doc: Doc) -> Answer | None:
    """Read the value of an answer in a text that looks like JSON; None if it has none."""
    spans = _answers_of_object(said)
    if len(spans) != 1:
        return Answer(reason=Reason.SEVERAL) if spans else None
    answer = find_letter(said[slice(*spans[0])], doc)
    return answer if answer.reason else replace(answer, rule=Rule.JSON, span=spans[0])


def _answers_of_object(text: str) -> list[tuple[int, int]]:
    """Return the places of the values that are answers, or of the keys that are letters."""
    pairs = [*_PAIR.finditer(text), *_CALL.finditer(text)]
    for keys in _ANSWER_KEYS:
        found = [pair for pair in pairs if keys.fullmatch(pair["key"].strip()) and not _OTHER_KEYS.search(pair["key"])]
        if found:
            return _value(found[-1])
    letters = [pair for pair in pairs if re.fullmatch(r"[A-Z]", pair["key"].strip())]
    if len(letters) > 1:
        affirmed = [pair for pair in letters if _YES.fullmatch(pair[pair.lastgroup or 0])]
        return [pair.span("key") for pair in affirmed or letters]
    return _value(pairs[0]) if len(pairs) == 1 and re.fullmatch(r"[A-Z]", pairs[0][pairs[0].lastgroup or 0]) else []


def _value(pair: re.Match[str]) -> list[tuple[int, int]]:
    """Return the place of the value of a pair, which is its last group, and a second one for the rest of a list."""
    end = pair.end()
    is_list = pair["list"] and _MORE.match(pair.string, end)
    return [pair.span(pair.lastgroup or 0), *([(end, end)] if is_list else [])]


# ---- the place that counts
_DECISIVE = (Reason.OUT_OF_RANGE, Reason.CONTRADICTION, Reason.SEVERAL, Reason.NONE_FITS)
"""Reasons that invalidate the response, whatever it names with less weight."""


def _chosen(text: Text, places: Sequence[Found], printed: Sequence[int], *, at_the_end: bool) -> Found | Reason:
    # A letter next to the text of another option does not count elsewhere with the same weight, either.
    contradicted = {(place.position, place.weight) for place in places if place.void is Reason.CONTRADICTION}

    def counting(among: Sequence[Found]) -> list[Found]:
        agreeing = (place for place in valid(among) if (place.position, place.weight) not in contradicted)
        return [place for place in agreeing if 0 <= place.position < len(printed)]

    steps = _analysis(text, places)
    lighter = {place for place in places if place.start in steps and place.rule is not Rule.CALLED_RIGHT}
    places = [place._replace(weight=MENTIONED) if place in lighter else place for place in places]
    is_final = bool(places) and text.is_final(places[-1])
    front = None if at_the_end or is_final else _front(text, places)
    if front and front.start in steps:
        front = None
    if front and (instead := _instead(text, front, counting(places))):
        return instead
    affirmed = {place.position for place in counting(places) if place.rule is Rule.CALLED_RIGHT}
    is_listed = front and front.rule is Rule.CALLED_RIGHT and len(affirmed) > 1
    if front and not is_listed and front.void is not Reason.SEVERAL and front.weight < STATED:
        raised = front._replace(weight=STATED, rule=Rule.AT_THE_START)
        places, front = [raised if place is front else place for place in places], raised
    for weight in (STATED, ODD_ONE, AFFIRMED, MENTIONED):
        heavy = [place for place in places if place.weight == weight]
        counted = counting(heavy)
        is_last = heavy and (front not in counted or text.ends_with(heavy[-1]))
        if weight == STATED and is_last and heavy[-1].void in (*_DECISIVE, Reason.NO_LETTER):
            return heavy[-1].void
        if counted:
            return _of_several(text, counted, front, printed)
        voids = (Reason.OUT_OF_RANGE if place.position >= len(printed) else place.void for place in heavy)
        if weight and (decisive := [void for void in voids if void in _DECISIVE]):
            return decisive[0]
    if contradicted:
        return Reason.CONTRADICTION
    return places[0].void or Reason.OUT_OF_RANGE


def _instead(text: Text, front: Found, counted: Sequence[Found]) -> Found | Reason | None:
    """Return what a correction puts in the place of the answer at the beginning; None if there is none."""
    if text.ends_in_nothing(front.end):
        return Reason.NONE_FITS
    if not (taken := rules.TAKES_BACK.search(text.text, front.end)):
        return None
    if later := [place for place in counted if place.start >= taken.start()]:
        return later[-1] if later[-1].position != front.position else None
    letters = text.letters(taken.end())
    others = [letter for letter in letters if letter.position != front.position]
    if not others:
        return None
    is_clear = len(letters) == 1 and len(text.text) - taken.end() <= _SHORT
    return others[0]._replace(rule=Rule.CORRECTED) if is_clear else Reason.SEVERAL


def _front(text: Text, places: Sequence[Found]) -> Found | None:
    """Return the answer at the beginning: a letter before all other words, or a statement in the first sentence."""
    for place in places:
        if _is_first(text, place) and place.rule is not Rule.TEXT:
            listed = text.text[place.start].islower() and place.is_bare  # "(a) First, ..."
            return None if listed and not rules.ENDS_LINE.match(text.text, place.end) else place
        if place.weight == STATED and place.rule in rules.FIRM:
            return None if rules.SENTENCE_END.search(text.text[: place.start].rstrip(" \n\"'([:-")) else place
    return None


def _is_first(text: Text, place: Found) -> bool:
    return not any(map(str.isalnum, text.text[: place.start]))


def _analysis(text: Text, places: Sequence[Found]) -> set[int]:
    """Return the starts of the places that discuss the options in order, each on its own lines; empty if none."""
    steps: list[Found] = []
    for place in places:
        if place.position == len(steps) and text.begins_line(place.start):
            steps.append(place)
    discussed = steps if len(steps) > 1 else []
    return {place.start for place in discussed if place.weight < STATED or place.rule is Rule.AT_THE_END}


def _of_several(text: Text, places: Sequence[Found], front: Found | None, printed: Sequence[int]) -> Found | Reason:
    """Return the place that counts among places of the same weight."""
    first, last = places[0], places[-1]
    if first.weight == MENTIONED:
        if refused_or(Reason.NO_LETTER, text.text) is Reason.REFUSED:
            return Reason.REFUSED
        if _breaks_off(text):
            return Reason.CUT_OFF
    if len({printed[place.position] for place in places}) == 1:
        others = {letter.position for letter in text.letters(0)} - {first.position}
        return Reason.SEVERAL if others and first.is_bare and not first.weight else first
    if first.weight < STATED:
        return Reason.SEVERAL
    is_kept = front and first.start == front.start
    replaced = text.ends_with(last) and len({place.position for place in places}) == 2
    if not is_kept or replaced or last_counts(text.text, first.end, last.start, at_front=True) is not False:
        return last
    return first


def last_counts(text: str, end: int, start: int, *, at_front: bool) -> bool | None:
    """Decide between the first and the last of several answers that disagree; None if it is unclear."""
    between = text[end:start]
    if rules.TAKES_BACK.search(between[-200:]) or rules.CONCLUDES.search(rules.SENTENCE_END.split(between)[-1]):
        return True
    return False if at_front and "\n" in between else None


def _by_text(text: Text, texts: Sequence[Found], printed: Sequence[int]) -> Found | Reason:
    """Return the option whose text occurs in the response, if only one option's text does."""
    if refused_or(Reason.NO_LETTER, text.text) is Reason.REFUSED:
        return Reason.REFUSED
    found = valid(texts)
    right = [place for place in found if text.has(rules.AFFIRMED_BY, place)]
    if not right and _breaks_off(text, found[-1].end if found else 0):
        return Reason.CUT_OFF
    if found := right or found:
        return found[0] if len({printed[place.position] for place in found}) == 1 else Reason.SEVERAL
    return Reason.NONE_FITS if rules.NOTHING.search(text.text) else Reason.NO_LETTER


def _breaks_off(text: Text, end: int = 0) -> bool:
    """Whether a response of more than 80 characters ends within a sentence; a short one if more follows an option."""
    follows = 0 < end < len(text.text) and rules.SENTENCE_END.search(text.text) is not None
    return (len(text.text) > _SHORT or follows) and rules.UNFINISHED.search(text.text[-1:]) is not None
