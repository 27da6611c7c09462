"""Whether a response says yes or no to a proposed answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_cora.answers import Answer, Reason
from lm_eval_cora.answers.choice import last_counts
from lm_eval_cora.answers.claims import text_of_option
from lm_eval_cora.answers.head import LABEL, after_reasoning, head_of, is_reasoning, why_nothing
from lm_eval_cora.answers.plain import lowered, plain

_HEAD = 256

_FIRST_WORD = re.compile(r"[\W_]*([^\W\d_]+)")
_OTHER_WORD = re.compile(r"(?:\s*/\s*|\s+(?:or|and)\s+)(?:yes|no)\b", re.IGNORECASE)


def read_yes_no(response: str, printed: Sequence[int]) -> Answer:
    r"""Read whether the option that a question is about is said to be right.

    The first word decides, whatever its case: "Yes", "**No**,", "yes. Because". A label before it is skipped ("Answer:
    yes", "The right answer is yes"), and so is reasoning that ends in "</think>" or the like. "True", "Correct" and
    other languages say nothing: yes or no was asked for. Nor does "yes or no", which repeats the question.

    Args:
        response: What the model wrote; any text of any length.
        printed: Identity of the option that the question is about, alone.

    Returns:
        The option as selected for yes, none selected for no, or the reason why neither was said.

    Example:
        >>> read_yes_no("Yes, because ...", printed=[4]).selected, read_yes_no("**No**", printed=[4]).selected
        ((4,), ())
        >>> read_yes_no("Ice is water.", printed=[4]).reason.value
        'neither yes nor no'
    """
    head = head_of(response, _HEAD)
    label = LABEL.match(head)
    word = _FIRST_WORD.match(head, label.end() if label else 0)
    said = word.group(1).lower() if word else ""
    if said not in ("yes", "no") or (word and _OTHER_WORD.match(head, word.end())):
        return Answer(reason=why_nothing(head, Reason.NO_YES_OR_NO))
    return Answer(selected=tuple(printed) if said == "yes" else ())


_OPENING = re.compile(
    r"[\W_]*(?P<not>not )?(?P<word>yes|no|correct|right|true|incorrect|wrong|false)\b(?!\s*/|\s+(?:or|and)\b)"
)
_SUBJECT = (
    r"\b(?:(?:the|this|that|your) )?(?:(?:proposed|given|suggested|provided|stated|final) )?"
    r"(?:answer|statement|claim|option|choice|it|this|that)(?:,? [\"'(]?it[\"')]?,?)?"
)
_STATED = re.compile(
    rf"{_SUBJECT}(?: is|'s|:| seems(?: to be)?| appears to be)(?P<not>n't| not)?[ :]{{0,2}}\s?[\"'(]?"
    r"(?:(?:indeed|therefore|clearly|most likely|likely|probably|definitely|also|the|a|one|answer:?) ?){0,3}[\"'(]?"
    r"(?P<word>yes|no|correct|right|true|accurate|incorrect|wrong|false|inaccurate)\b(?!\s*/|\s+(?:or|and)\b)"
)
_AFFIRMATIVE = ("yes", "correct", "right", "true", "accurate")
_SHORTEST_TEXT = 3


def find_yes_no(response: str, printed: Sequence[int], choices: Sequence[str]) -> Answer:
    r"""Find whether a response says that the proposed answer is right.

    Its first word says so ("Yes", "Correct", "False"), or a statement about the answer: "The proposed answer is
    correct", "It isn't right", "The answer is no". A statement about another answer says nothing. Where these disagree,
    the first word stands unless its paragraph takes it back, and else a conclusion ("Therefore ...") counts.

    Args:
        response: What the model wrote; any text of any length.
        printed: Identity of the option that the question is about, alone.
        choices: Its text, alone.

    Returns:
        The option as selected for yes, none selected for no, or the reason why neither was said.

    Example:
        >>> find_yes_no("The proposed answer is correct.", [4], ["Fog"]).selected
        (4,)
        >>> find_yes_no("Fog is not right. Ice is the right answer.", [4], ["Fog"]).selected
        ()

    Source: the rules are ours.
    """
    said = after_reasoning(response)
    if not said or is_reasoning(said):
        return Answer(reason=why_nothing(said, Reason.EMPTY))
    text = lowered(plain(said))
    proposed = text_of_option(choices[0])
    if len(proposed) >= _SHORTEST_TEXT:
        text = text.replace(proposed, "it")
    opening = _OPENING.match(text)
    claims = [*([opening] if opening else []), *_STATED.finditer(text)]
    if not claims:
        return Answer(reason=why_nothing(said, Reason.NO_YES_OR_NO))
    first, last = claims[0], claims[-1]
    if len({_says_yes(claim) for claim in claims}) > 1:
        counts = last_counts(text, first.end(), last.start(), at_front=first is opening)
        if counts is None:
            return Answer(reason=Reason.SEVERAL)
        first = last if counts else first
    settled = first is opening and "\n" in text[first.end() :].strip()
    return Answer(selected=tuple(printed) if _says_yes(first) else (), settled=settled)


def _says_yes(claim: re.Match[str]) -> bool:
    return (claim["word"] in _AFFIRMATIVE) is not bool(claim["not"])
