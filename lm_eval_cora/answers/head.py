"""The part of a response that answers, and why another part does not."""

from __future__ import annotations

import re

from lm_eval_cora.answers import Reason

_REASONING = re.compile(
    r"<(?:think|thought|reason|scratchpad|seed:think)|\[THINK\]|<\|channel\|>|<\|begin_of_thought\|>|◁think▷|"
    r"analysis(?-i:(?=[A-Z\"']))",
    re.IGNORECASE,
)
# No alternative begins with a case-insensitive character: the search can skip to the few characters that begin one.
_END_OF_REASONING = re.compile(
    r"<(?i:/(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|seed:think)>|\|end_of_thought\|>|"
    r"\|channel\|>final(?: ?<\|constrain\|>\w{1,20})?<\|message\|>)|"
    r"\[(?i:/THINK\])|◁(?i:/think▷)|a(?i:ssistantfinal)|A(?i:ssistantfinal)"
)
LABEL = re.compile(
    r"\W*(?:(?:the|my|all|final|right|correct)\s+)*(?:answer|choice|option|letter)s?(?:\W*[:：]|\s+(?:are|is)\b\W*?[:：]?)",
    re.IGNORECASE,
)
"""What may stand before an answer of more than a letter: "Answer:", "The right answers are"."""

_REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry\b|i apologi[sz]e|as an ai\b|"
    r"(?:unfortunately,? )?i (?:can['’]t|can ?not|won['’]t|am unable|am not able))",
    re.IGNORECASE,
)


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last place where a pattern matches, None if there is none.

    Example:
        >>> last_match(re.compile("[a-z]"), "a b").start()
        2
    """
    match = None
    for match in pattern.finditer(text):  # noqa: B007
        pass
    return match


def head_of(response: str, length: int) -> str:
    """The beginning of a response, without the reasoning that ends in a "</think>" or the like of other models.

    Args:
        response: What the model wrote; any text of any length, looked at in linear time.
        length: Characters that decide. A response may be megabytes long; its answer stands at the front or nowhere.

    Returns:
        At most that many characters, the first one no white space; empty if the response says nothing.

    Example:
        >>> head_of("<think>Ice is water.</think> B. Ice", 1)
        'B'
    """
    return after_reasoning(response)[:length]


def after_reasoning(response: str) -> str:
    """A response without the reasoning before it, and without the white space there.

    Example:
        >>> after_reasoning("<think>Ice is water.</think> B. Ice")
        'B. Ice'
    """
    start = max((end.end() for end in _END_OF_REASONING.finditer(response)), default=0)
    return response[start:].lstrip()


def is_reasoning(head: str) -> bool:
    """Whether a response begins with reasoning that did not come to an end.

    Example:
        >>> is_reasoning("<think>Let me see"), is_reasoning("Let me see")
        (True, False)
    """
    return _REASONING.match(head) is not None


def why_nothing(head: str, otherwise: Reason) -> Reason:
    """The reason why the head of a response holds no answer.

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
