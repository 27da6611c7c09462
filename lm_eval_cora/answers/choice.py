"""Find the option that a response chooses, as a careful person would read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lm_eval_cora.answers import Answer, Reason, phrases
from lm_eval_cora.answers.claims import AFFIRMED, MENTIONED, STATED, Claim, Text
from lm_eval_cora.answers.head import after_reasoning, is_reasoning, why_nothing
from lm_eval_cora.question import LETTERS

_WINDOW = 200
"""Number of characters before a later answer that are searched for a correction of the first one."""

_SHORT = 80
"""Up to this many characters, a response may end without a full stop and does not count as cut off."""

_BEGUN = 2
"""Number of characters after a line break that show that a new line has begun."""

_CONCLUDES = re.compile(
    r"\b(?:therefore|thus|hence|so|final|finally|conclusion|conclude|overall|consequently|in summary)\b", re.IGNORECASE
)
_TAKES_BACK = re.compile(
    r"\b(?:wait|correction|corrected|mistaken?|apologi[sz]e|apologies|sorry|on second thought|on reflection|reconsider|"
    r"scratch that)\b",
    re.IGNORECASE,
)
_NEXT_QUESTION = re.compile(r"\n(?:Question|Q)\s?:")
_NOTHING_FITS = re.compile(
    r"\bnone of (?:the|these)\b|\bno (?:correct|right|valid|suitable|appropriate) (?:answer|option|choice)\b"
    r"|\b(?:options|choices)(?: \w{1,20}){0,3} (?:do|does)(?: not|n't) (?:match|include|contain|fit|list)\b",
    re.IGNORECASE,
)
_FINISHED = re.compile(r"[.!?:)\]\"'}%]\s*$")


def find_letter(response: str, printed: Sequence[int], choices: Sequence[str]) -> Answer:
    r"""Find the printed option that a response chooses.

    These count as a choice, in order of precedence:

    1. A letter at the very beginning, or an option that is stated as the answer: "The answer is (B)", "I would choose
       option B", "**Answer:** B", "\boxed{B}", "So the answer is fog".
    2. An option that is called right: "Option B is correct", or a letter with its text directly after "is" or "are".
    3. A letter with its text, "option B", or a letter at the beginning of a line.
    4. If no letter is named, the text of exactly one option.

    If several options have the same precedence, none of them is chosen, with two exceptions. An answer in the first
    sentence is kept unless the same line states another option or an explicit correction ("Wait, ...") follows. A
    conclusion ("Therefore ...") overrides earlier answers. If the response discusses the options one by one, the first
    of them has no precedence.

    A letter does not count if it is rejected ("B is wrong"), if another letter follows it ("B or C"), or if the text
    next to it belongs to another option ("B. Ice" where A is ice). If the options combine the same parts ("1, 3" and
    "1, 4"), that text must be complete. Lines that repeat the options do not count. In a refusal, or in a response
    that breaks off, an option that is only mentioned does not count. Text before the last "</think>", or another
    model's equivalent, is reasoning and is ignored.

    Args:
        response: The response, of any length. If it has more than 20,000 characters, only the first and the last
            10,000 are read.
        printed: Identity of each printed option, in printed order.
        choices: Text of each printed option, in the same order.

    Returns:
        The identity of the chosen option, or the reason why none is chosen.

    Example:
        >>> find_letter("Sure! The correct answer is:\n\nB. Fog", [0, 4], ["Ice", "Fog"]).picked
        4
        >>> find_letter("B. Ice", [0, 4], ["Ice", "Fog"]).reason.value
        'letter and text disagree'
        >>> find_letter("It is fog.", [0, 4], ["Ice", "Fog"]).picked
        4

    Source: our own rules. `read_letter` applies those of the paper.
    """
    return choose(after_reasoning(response), printed, choices)


def choose(said: str, printed: Sequence[int], choices: Sequence[str], *, at_the_end: bool = False) -> Answer:
    """Find the option that a text chooses, by the rules of `find_letter`.

    Args:
        said: A response without its reasoning.
        printed: Identity of each printed option, in printed order.
        choices: Text of each printed option, in the same order.
        at_the_end: Whether the prompt asks for the answer at the end. If so, an answer at the very beginning has no
            precedence.

    Example:
        >>> choose("A. Ice is cold. So the answer is B.", [0, 4], ["Ice", "Fog"], at_the_end=True).picked
        4
    """
    if not said or is_reasoning(said):
        return Answer(reason=why_nothing(said, Reason.EMPTY))
    if said[0] in LETTERS[: len(printed)] and said[1:] in ("", "."):
        # A shortcut for the most common response. The rules below give the same answer for all options.
        return Answer(picked=printed[LETTERS.index(said[0])], position=LETTERS.index(said[0]))
    before, *after = _NEXT_QUESTION.split(said, maxsplit=1)
    if after and before.strip():  # base models often continue with new questions
        answer = choose(before, printed, choices, at_the_end=at_the_end)
        if answer.reason is None:
            return replace(answer, settled=not at_the_end)
    text = Text(said, choices)
    chosen = _chosen(text, printed, at_the_end=at_the_end)
    if isinstance(chosen, Reason):
        return Answer(reason=chosen)
    return Answer(
        picked=printed[chosen.position], position=chosen.position, settled=not at_the_end and _is_settled(text, chosen)
    )


def _chosen(text: Text, printed: Sequence[int], *, at_the_end: bool) -> Claim | Reason:
    claims = _without_contradicted(text.claims())
    steps = _analysis(text, claims)
    claims = [replace(claim, weight=MENTIONED) if claim.start in steps else claim for claim in claims]
    front = None if at_the_end or steps else _front(text, claims)
    if front is not None and front.void is not Reason.SEVERAL:
        claims = [replace(claim, weight=STATED) if claim is front else claim for claim in claims]
    for weight in (STATED, AFFIRMED, MENTIONED):
        weighty = [claim for claim in claims if claim.weight == weight]
        if valid := [claim for claim in weighty if claim.void is None and claim.position < len(printed)]:
            return _of_several(text, valid, front, printed)
        if weight and (reason := _why_void(weighty, len(printed))):
            return reason
    void = [claim.void or Reason.OUT_OF_RANGE for claim in claims]
    return void[0] if void else _by_text(text, printed)


def _why_void(claims: Sequence[Claim], size: int) -> Reason | None:
    """Return the reason that invalidates the response; None if claims with less weight may still count."""
    for claim in claims:
        if claim.position >= size:
            return Reason.OUT_OF_RANGE
        if claim.void in (Reason.CONTRADICTION, Reason.SEVERAL):
            return claim.void
    return None


def _without_contradicted(claims: Sequence[Claim]) -> list[Claim]:
    """Void the claims whose letter appears elsewhere next to the text of another option."""
    contradicted = {claim.position for claim in claims if claim.void is Reason.CONTRADICTION}
    return [
        replace(claim, void=Reason.CONTRADICTION)
        if claim.void is None and claim.position in contradicted and claim.end == claim.start + 1
        else claim
        for claim in claims
    ]


def _front(text: Text, claims: Sequence[Claim]) -> Claim | None:
    """Return the answer at the beginning: a letter before all other words, or a statement in the first sentence."""
    for claim in claims:
        before = text.text[: claim.start]
        if not any(map(str.isalnum, before)):
            return claim
        if claim.weight == STATED:
            return None if phrases.SENTENCE_END.search(before.rstrip(" \n\"'([:-")) else claim
    return None


def _analysis(text: Text, claims: Sequence[Claim]) -> set[int]:
    """Return the starts of the claims that discuss the options in order, each on its own lines; empty if none.

    The response must also state an option as the answer elsewhere.
    """
    steps: list[Claim] = []
    for claim in claims:
        if claim.position == len(steps) and text.begins_line(claim.start) and (steps or text.is_with_text(claim)):
            steps.append(claim)
    starts = {claim.start for claim in steps}
    states = any(claim.weight == STATED and claim.start not in starts for claim in claims)
    return starts if len(steps) > 1 and states else set()


def _of_several(text: Text, claims: Sequence[Claim], front: Claim | None, printed: Sequence[int]) -> Claim | Reason:
    """Return the claim that counts among claims of the same weight."""
    first, last = claims[0], claims[-1]
    if first.weight == MENTIONED and why_nothing(text.text, Reason.NO_LETTER) is Reason.REFUSED:
        return Reason.REFUSED
    if first.weight == MENTIONED and _breaks_off(text):
        return Reason.CUT_OFF
    if len({printed[claim.position] for claim in claims}) == 1:
        return first
    if first.weight == MENTIONED:
        return Reason.SEVERAL
    at_front = front is not None and first.start == front.start
    counts = last_counts(text.text, first.end, last.start, at_front=at_front)
    return Reason.SEVERAL if counts is None else last if counts else first


def last_counts(text: str, end: int, start: int, *, at_front: bool) -> bool | None:
    """Decide between the first and the last of several answers that disagree.

    Args:
        text: The response as plain text.
        end: End of the first answer.
        start: Start of the last answer.
        at_front: Whether the first answer is at the very beginning of the response.

    Returns:
        True if the last answer counts, False if the first one counts, None if neither counts.

    Example:
        >>> last_counts("Yes. Wait, it is wrong", 3, 11, at_front=True)
        True
        >>> last_counts("Yes. It is wrong", 3, 5, at_front=True) is None
        True
    """
    between = text[end:start]
    if _TAKES_BACK.search(between[-_WINDOW:]):
        return True
    if at_front and "\n" in between:
        return False
    return True if _CONCLUDES.search(phrases.SENTENCE_END.split(between)[-1]) else None


def _by_text(text: Text, printed: Sequence[int]) -> Claim | Reason:
    """Return the option whose text occurs in the response, if only one option's text does."""
    reason = why_nothing(text.text, Reason.NO_LETTER)
    if reason is not Reason.NO_LETTER:
        return reason
    if _breaks_off(text):
        return Reason.CUT_OFF
    found = [claim for claim in text.texts() if claim.void is None]
    if len({printed[claim.position] for claim in found}) == 1:
        return found[0]
    if found:
        return Reason.SEVERAL
    return Reason.NONE_FITS if _NOTHING_FITS.search(text.text) else Reason.NO_LETTER


def _breaks_off(text: Text) -> bool:
    """Whether a response of more than 80 characters ends within a sentence."""
    return len(text.text) > _SHORT and not _FINISHED.search(text.text[-1:])


def _is_settled(text: Text, claim: Claim) -> bool:
    """Whether the answer is at the beginning of the response and another line has begun.

    A letter A with its text does not count, because an analysis of all options may begin with it.
    """
    starts_analysis = (
        claim.position == 0 and text.is_with_text(claim) and not any(map(str.isalnum, text.text[: claim.start]))
    )
    if _front(text, [claim]) is not claim or starts_analysis:
        return False
    return len(text.text[claim.end :].partition("\n")[2].strip()) >= _BEGUN
