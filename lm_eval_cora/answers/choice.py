"""Find the option that a response chooses, as a careful person would read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lm_eval_cora.answers import Answer, Reason, objects, rules
from lm_eval_cora.answers.places import AT_THE_END, Place, Text
from lm_eval_cora.answers.plain import (
    before_next_question,
    is_reasoning,
    plain,
    start_of_answer,
    why_nothing,
    without_later_reasoning,
)
from lm_eval_cora.answers.rules import AFFIRMED, MENTIONED, ODD_ONE, STATED
from lm_eval_cora.questions.question import LETTERS

_WINDOW = 200
"""Number of characters before a later answer that are searched for a correction of the first one."""

_SHORT = 80
"""Up to this many characters, a response may end without a full stop and does not count as cut off."""

_BARE = 60
"""Maximum length of a response that consists of one letter, perhaps repeated, and marks."""

_BEGUN = 2
"""Number of characters after a line break that show that a new line has begun."""

_WORDS = re.compile(r"[^\W_]+")


def find_letter(response: str, printed: Sequence[int], choices: Sequence[str], *, at_the_end: bool = False) -> Answer:
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
    option or an explicit correction ("Wait, ...") follows. Reasoning between marks, such as "<think>" and "</think>",
    does not count, nor does what follows a new question. In a refusal, or in a response that breaks off, an option that
    is only mentioned does not count.
    """
    offset = start_of_answer(response)
    said = response[offset:]
    if not said or is_reasoning(said):
        return Answer(reason=why_nothing(said, Reason.EMPTY))
    said = without_later_reasoning(said)
    if (before := before_next_question(said)).strip():
        answer = _read(before, offset, printed, choices, at_the_end=at_the_end)
        if answer.position is not None:
            return replace(answer, settled=not at_the_end)
    return _read(said, offset, printed, choices, at_the_end=at_the_end)


def _read(said: str, offset: int, printed: Sequence[int], choices: Sequence[str], *, at_the_end: bool) -> Answer:
    """Read a response, or the part before a new question, which begins at an offset."""
    if len(said) <= _BARE and (answer := _bare(said, offset, printed)):
        return answer
    if (values := objects.values(said)) is not None:
        return _of_object(values, offset, printed, choices)
    return _choose(Text(said, choices), offset, printed, at_the_end=at_the_end)


def _bare(said: str, offset: int, printed: Sequence[int]) -> Answer | None:
    """Read a response that is one letter, perhaps repeated, and marks; None if it is not."""
    text = plain(said)
    words = set(_WORDS.findall(text))
    letter = next(iter(words), "")
    if len(words) != 1 or len(letter) != 1 or (letter.islower() and text.strip(" .,:;!?()[]\"'") != letter):
        return None
    letter = letter.upper()
    if letter not in LETTERS:
        return None
    position = LETTERS.index(letter)
    if position >= len(printed):
        return None
    return Answer(
        picked=printed[position],
        position=position,
        at_front=True,
        rule="a letter alone",
        span=(offset, offset + len(said.rstrip())),
    )


def _of_object(
    values: Sequence[tuple[str, int, int]], offset: int, printed: Sequence[int], choices: Sequence[str]
) -> Answer:
    if len(values) > 1:
        return Answer(reason=Reason.SEVERAL)
    if not values:
        return Answer(reason=Reason.NO_LETTER)
    ((value, start, end),) = values
    answer = find_letter(value, printed, choices)
    if answer.position is None:
        return answer
    return replace(answer, rule="a value of JSON", span=(offset + start, offset + end))


def _choose(text: Text, offset: int, printed: Sequence[int], *, at_the_end: bool) -> Answer:
    places = _without_contradicted(text.named())
    chosen = _chosen(text, places, printed, at_the_end=at_the_end)
    if isinstance(chosen, Reason):
        places = places or text.texts()
        return Answer(reason=chosen, found=tuple(text.found(place, offset) for place in places))
    found = text.found(chosen, offset)
    return Answer(
        picked=printed[chosen.position],
        position=chosen.position,
        rule=found.rule,
        span=found.span,
        settled=not at_the_end and _is_settled(text, chosen),
        at_front=not at_the_end and _is_at_front(text, chosen),
    )


def _without_contradicted(places: Sequence[Place]) -> list[Place]:
    """Void the letters that appear elsewhere next to the text of another option."""
    contradicted = {place.position for place in places if place.void is Reason.CONTRADICTION}
    return [
        replace(place, void=Reason.CONTRADICTION)
        if place.void is None and place.position in contradicted and place.end == place.start + 1
        else place
        for place in places
    ]


def _chosen(text: Text, places: Sequence[Place], printed: Sequence[int], *, at_the_end: bool) -> Place | Reason:
    steps = _analysis(text, places)
    places = [
        replace(place, weight=AFFIRMED if place.rule == rules.CALLED_RIGHT else MENTIONED)
        if place.start in steps
        else place
        for place in places
    ]
    front = None if at_the_end else _front(text, places)
    if front is not None and front.start in steps:
        states = any(place.weight == STATED for place in places)
        second = min(start for start in steps if start > front.start)
        separate = text.text.count("\n\n", front.end, second) > 1 and text.is_with_text(front)
        front = front if separate and not states else None
    if front is not None and (taken := rules.TAKES_BACK.search(text.text, front.end)):
        valid = [place for place in places if place.void is None and 0 <= place.position < len(printed)]
        later = [place for place in valid if place.start >= taken.start()]
        if later and later[-1].position != front.position:
            return later[-1]
    if front is not None and front.void is not Reason.SEVERAL and front.weight < STATED:
        raised = replace(front, weight=STATED, rule="a letter at the start")
        places = [raised if place is front else place for place in places]
        front = raised
    for weight in (STATED, ODD_ONE, AFFIRMED, MENTIONED):
        heavy = [place for place in places if place.weight == weight]
        valid = [place for place in heavy if place.void is None and 0 <= place.position < len(printed)]
        reason = _why_void(heavy, len(printed)) if weight else None
        at_front = front is not None and front in valid
        taken_back = weight == STATED and not at_front and heavy and heavy[-1].void is Reason.NONE_FITS
        if reason and (taken_back or not valid):
            return reason
        if valid:
            return _of_several(text, valid, front, printed)
    void = [place.void or Reason.OUT_OF_RANGE for place in places]
    return void[0] if void else _by_text(text, printed)


def _why_void(places: Sequence[Place], size: int) -> Reason | None:
    """Return the reason that invalidates the response; None if places with less weight may still count."""
    for place in places:
        if place.position >= size:
            return Reason.OUT_OF_RANGE
        if place.void in (Reason.CONTRADICTION, Reason.SEVERAL, Reason.NONE_FITS):
            return place.void
    return None


def _front(text: Text, places: Sequence[Place]) -> Place | None:
    """Return the answer at the beginning: a letter before all other words, or a statement in the first sentence."""
    for place in places:
        before = text.text[: place.start]
        if not any(map(str.isalnum, before)):
            listed = text.text[place.start].islower() and place.end == place.start + 1  # "(a) First, ..."
            return None if listed and not rules.ENDS_LINE.match(text.text, place.end) else place
        if place.weight == STATED and place.rule in rules.FIRM:
            return None if rules.SENTENCE_END.search(before.rstrip(" \n\"'([:-")) else place
    return None


def _analysis(text: Text, places: Sequence[Place]) -> set[int]:
    """Return the starts of the places that discuss the options in order, each on its own lines; empty if none."""
    steps: list[Place] = []
    for place in places:
        if place.position == len(steps) and text.begins_line(place.start):
            steps.append(place)
    starts = {place.start for place in steps if place.weight < STATED or place.rule == AT_THE_END}
    return starts if len(steps) > 1 else set()


def _of_several(text: Text, places: Sequence[Place], front: Place | None, printed: Sequence[int]) -> Place | Reason:
    """Return the place that counts among places of the same weight."""
    first, last = places[0], places[-1]
    if first.weight == MENTIONED and why_nothing(text.text, Reason.NO_LETTER) is Reason.REFUSED:
        return Reason.REFUSED
    if first.weight == MENTIONED and _breaks_off(text):
        return Reason.CUT_OFF
    if len({printed[place.position] for place in places}) == 1:
        return first
    if first.weight < STATED:
        return Reason.SEVERAL
    if front is not None and first.start == front.start:
        counts = last_counts(text.text, first.end, last.start, at_front=True)
        return first if counts is False else last
    return last


def last_counts(text: str, end: int, start: int, *, at_front: bool) -> bool | None:
    """Decide between the first and the last of several answers that disagree.

    Example:
        >>> last_counts("Yes. Wait, it is wrong", 3, 11, at_front=True)
        True
        >>> last_counts("Yes. It is wrong", 3, 5, at_front=True) is None
        True
    """
    between = text[end:start]
    if rules.TAKES_BACK.search(between[-_WINDOW:]):
        return True
    if at_front and "\n" in between:
        return False
    return True if rules.CONCLUDES.search(rules.SENTENCE_END.split(between)[-1]) else None


def _by_text(text: Text, printed: Sequence[int]) -> Place | Reason:
    """Return the option whose text occurs in the response, if only one option's text does."""
    reason = why_nothing(text.text, Reason.NO_LETTER)
    if reason is not Reason.NO_LETTER:
        return reason
    found = [place for place in text.texts() if place.void is None]
    right = [place for place in found if text.is_affirmed(place)]
    if not right and _breaks_off(text, found[-1].end if found else 0):
        return Reason.CUT_OFF
    found = right or found
    if len({printed[place.position] for place in found}) == 1:
        return found[0]
    if found:
        return Reason.SEVERAL
    return Reason.NONE_FITS if rules.NOTHING.search(text.text) else Reason.NO_LETTER


def _breaks_off(text: Text, end: int = 0) -> bool:
    """Whether a response of more than 80 characters ends within a sentence; a short one if more follows an option."""
    is_long = len(text.text) > _SHORT
    follows = 0 < end < len(text.text) and rules.SENTENCE_END.search(text.text) is not None
    return (is_long or follows) and rules.UNFINISHED.search(text.text[-1:]) is not None


def _is_at_front(text: Text, place: Place) -> bool:
    """Whether the answer is stated at the beginning, and more text follows it."""
    begins = not any(map(str.isalnum, text.text[: place.start])) or place.rule in rules.FIRM
    return begins and _front(text, [place]) is place and place.end < len(text.text)


def _is_settled(text: Text, place: Place) -> bool:
    """Whether the answer is at the beginning of the response and another line has begun.

    A letter A with its text does not count, because an analysis of all options may begin with it.
    """
    starts_analysis = (
        place.position == 0 and text.is_with_text(place) and not any(map(str.isalnum, text.text[: place.start]))
    )
    if _front(text, [place]) is not place or starts_analysis:
        return False
    return len(text.text[place.end :].partition("\n")[2].strip()) >= _BEGUN
