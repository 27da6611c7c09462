"""Separate the answer of a response from its reasoning, and name the reason if there is no answer."""

from __future__ import annotations

import re

from lm_eval_cora.answers import Reason

_KIND = r"(?:think|thought|reason|scratchpad|analysis|reflect|rationale|internal|inner|monologue|\bcot\b)"
_MARK = rf"[\w:.-]{{0,20}}?{_KIND}[\w:.-]{{0,20}}"
_OPENS = re.compile(
    rf"(?:<|&lt;)\|?(?!end)(?:begin_of_|start_of_|start_)?{_MARK}(?<!suffix)(?:\|?>|&gt;)|\[THINK\]|◁think▷"
    r"|<unused\d+>thought|<\|channel\|?>\s?(?:analysis|commentary|thought)"
    r"|^\s*(?:analysis(?-i:(?=[A-Z\"']))|thinking\s?(?:\.\.\.|…)\s)",
    re.IGNORECASE,
)
"""Marks at which reasoning begins: a tag of any kind whose name speaks of thinking, and a few other signs."""
_OPENED = re.compile(rf"(?:{_OPENS.pattern})\s*\Z", re.IGNORECASE)
_CLOSES = re.compile(
    rf"(?:<|&lt;)(?:\|?/|\|end_(?:of_)?){_MARK}\s?(?:\|?>|&gt;)|<\|inner_suffix\|>|\[/THINK\]|◁/think▷"
    r"|(?<!^)<unused\d+>(?!thought)|<channel\|>|\.\.\.\s?done thinking\.?"
    r"|<\|channel\|>final(?: ?<\|constrain\|>\w{1,20})?<\|message\|>|(?-i:[aA])ssistantfinal",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\s*(?:<\|(?:im_start|start_header_id|start|START_OF_TURN_TOKEN|CHATBOT_TOKEN|START_RESPONSE)\|>\s*)*"
    r"(?:<\|assistant\|>|(?:assistant|model)(?:<\|end_header_id\|>)?\s*\n)?\s*"
)
"""The header of a turn, which some servers leave in the response."""

_NEXT_QUESTION = re.compile(
    r"\n\s*(?:[#*>\s]{0,6}(?:(?:next |new )?question\s?(?:\d+\s?)?[:.]|Q\s?\d{0,3}[:.)]|human:|user:|<\|user\|>"
    r"|###\s?(?:instruction|human|user))"
    r"|(?:now|so|finally|therefore),? (?:let(?:'|’)s ?|we (?:can )?|to )?(?:combin|summar|总结|compil|list|put)\w{0,8}"
    r"\W*[^\n]{0,30}?(?:answers|答案|questions)|以上)",
    re.IGNORECASE,
)
"""Where a response goes on with a question of its own, or with the answers to the exemplars."""

_NEAR = 80
"""Number of characters at the end of a prompt in which reasoning may be opened."""

_ALONE = 20
"""Up to this many characters before a closing mark are an answer if nothing follows the mark."""

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

    Example:
        >>> head_of("<think>Ice is water.</think> B. Ice", 1)
        'B'
    """
    return after_reasoning(response)[:length]


def after_reasoning(response: str) -> str:
    """Return a response without its reasoning and without leading white space.

    Reasoning ends with the last closing mark, such as "</think>".
    """
    return response[start_of_answer(response) :]


def start_of_answer(response: str) -> int:
    """Return where the answer begins: after the last closing mark of reasoning, white space and the turn's header.

    Example:
        >>> start_of_answer("<think>Ice is water.</think> B. Ice")
        29
    """
    start, first = 0, -1
    for close in _CLOSES.finditer(response):
        start, first = close.end(), first if start else close.start()
    if start and not response[start:].strip() and 0 < len(response[:first].strip()) <= _ALONE:
        start = 0 if _OPENS.match(response) is None else start
    header = _ROLE.match(response, start)
    return header.end() if header else start


def without_later_reasoning(said: str) -> str:
    """Drop the reasoning that begins within a response."""
    opens = _OPENS.search(said)
    return said[: opens.start()] if opens and said[: opens.start()].strip() else said


def before_next_question(said: str) -> str:
    r"""Return what stands before a question that the response invents; empty if there is none.

    Example:
        >>> before_next_question("B. Ice\nQuestion: Where is it?\nAnswer: A")
        'B. Ice'
    """
    question = _NEXT_QUESTION.search(said)
    return said[: question.start()] if question else ""


def is_reasoning(head: str) -> bool:
    """Whether a response, without its finished reasoning, begins with reasoning that was cut off."""
    return _OPENS.match(head) is not None


def opens_reasoning(prompt: str) -> bool:
    r"""Whether a prompt ends in an opening mark of reasoning, as the chat templates of some models do.

    Example:
        >>> opens_reasoning("<|Assistant|><think>\n"), opens_reasoning("<think>\n\n</think>\n\n")
        (True, False)
    """
    return _OPENED.search(prompt[-_NEAR:]) is not None


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
