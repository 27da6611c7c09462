"""Separate the answer of a response from its reasoning, and name the reason if there is no answer."""

from __future__ import annotations

import re

from lm_eval_cora.answers import Reason

_REASONING = re.compile(
    r"<(?:think|thought|reason|scratchpad|seed:think)|\[THINK\]|<\|channel\|>|<\|begin_of_thought\|>|◁think▷|"
    r"analysis(?-i:(?=[A-Z\"']))",
    re.IGNORECASE,
)
# Each alternative begins with a case-sensitive character, so that the search can skip to these few characters.
_END_OF_REASONING = re.compile(
    r"<(?i:/(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|seed:think)>|\|end_of_thought\|>|"
    r"\|channel\|>final(?: ?<\|constrain\|>\w{1,20})?<\|message\|>)|"
    r"\[(?i:/THINK\])|◁(?i:/think▷)|a(?i:ssistantfinal)|A(?i:ssistantfinal)"
)
LABEL = re.compile(
    r"\W*(?:(?:the|my|all|final|right|correct)\s+)*(?:answer|choice|option|letter)s?(?:\W*[:：]|\s+(?:are|is)\b\W*?[:：]?)",
    re.IGNORECASE,
)
"""A label before a selection, or before yes or no: "Answer:", "The right answers are"."""

_REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry\b|i apologi[sz]e|as an ai\b|"
    r"(?:unfortunately,? )?i (?:can['’]t|can ?not|won['’]t|am unable|am not able))",
    re.IGNORECASE,
)


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the last match of a pattern in a text; None if there is none.

    Example:
        >>> last_match(re.compile("[a-z]"), "a b").start()
        2
    """
    match = None
    for match in pattern.finditer(text):  # noqa: B007
        pass
    return match


def head_of(response: str, length: int) -> str:
    """Return the beginning of a response, without its reasoning and without leading white space.

    Args:
        response: The response, of any length. It is read in linear time.
        length: Maximum number of characters to return.

    Returns:
        The beginning; empty if the response is empty.

    Example:
        >>> head_of("<think>Ice is water.</think> B. Ice", 1)
        'B'
    """
    return after_reasoning(response)[:length]


def after_reasoning(response: str) -> str:
    """Return a response without its reasoning and without leading white space.

    Reasoning ends with the last "</think>" or another model's equivalent.

    Example:
        >>> after_reasoning("<think>Ice is water.</think> B. Ice")
        'B. Ice'
    """
    start = max((end.end() for end in _END_OF_REASONING.finditer(response)), default=0)
    return response[start:].lstrip()


def is_reasoning(head: str) -> bool:
    """Whether a response, without its finished reasoning, begins with reasoning that was cut off.

    Example:
        >>> is_reasoning("<think>Let me see"), is_reasoning("Let me see")
        (True, False)
    """
    return _REASONING.match(head) is not None


def why_nothing(head: str, otherwise: Reason) -> Reason:
    """Return why a response has no answer: empty, cut off while reasoning, refused, or else `otherwise`.

    Example:
        >>> why_nothing("<think>Let me see", Reason.NO_LETTER).value
        'cut off while reasoning'
        >>> why_nothing("Based on the history", Reason.NO_LETTER).value
        'no letter'
    """
    if not head:
        return Reason.EMPTY
    if is_reasoning(head):
        return Reason.CUT_OFF
    if _REFUSAL.match(head):
        return Reason.REFUSED
    return otherwise
