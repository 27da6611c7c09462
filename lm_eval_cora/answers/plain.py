"""Convert a response or an option to plain text: no markup, one kind of quotation mark, dash and space."""

from __future__ import annotations

import re

_LONGEST = 20_000
"""Maximum number of characters that are read; half of them from each end of a longer text."""

_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‛`´", "'"),
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\x00", None),
        "：": ":",
        "（": "(",
        "）": ")",
        "\r": "\n",
    }
)
_END_OF_TURN = re.compile(r"<\|(?:eot_id|im_end|end|endoftext|return|end_of_text)\|>|</s>|<eos>|<end_of_turn>")
_LABEL_TAG = re.compile(r"<(?:final_?)?(?:answer|choice)>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{?")
_MARKUP = re.compile(
    r"</?[a-zA-Z][\w-]{0,20} ?/?>|<\|[\w|]{1,30}\|?>|\\(?:text(?:bf|it|rm|sf)?|math(?:bf|it|rm|sf)|[()\[\]])"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\$|\\(?![a-zA-Z])|\*+(?!\w)|(?<!\w)\*+"
)
_BRACES = re.compile(r"[{}\\]|&nbsp;")
_SPACES = re.compile(r"[^\S\n]+")
_BREAK = re.compile(r" ?\n[ \n]*|  +")


def plain(text: str) -> str:
    r"""Strip the markup of Markdown, LaTeX and HTML, and unify quotation marks, dashes and spaces.

    A box (\boxed) and an answer tag (<answer>) become the label "answer:". Several blank lines become one. Text after
    the first end-of-turn token is dropped.

    Args:
        text: Any text. If it has more than 20,000 characters, only the first and the last 10,000 are read.

    Returns:
        The plain text, without white space at its ends.

    Example:
        >>> plain(r"**Answer:** $\boxed{\text{B}}$  *Fog*")
        'Answer: answer: B Fog'
    """
    text = both_ends(text)
    turn = _END_OF_TURN.split(text, maxsplit=1)[0]
    text = (turn if turn.strip() else text).translate(_SAME)
    text = _BOX.sub(" answer: ", _LABEL_TAG.sub(" answer: ", text))
    text = _SPACES.sub(" ", _BRACES.sub(" ", _MARKUP.sub("", text)))
    return _BREAK.sub(_shorter, text).strip()


def _shorter(blank: re.Match[str]) -> str:
    lines = blank.group().count("\n")
    return "\n\n" if lines > 1 else "\n" if lines else " "


def both_ends(text: str) -> str:
    """Drop the middle of a text that has more than 20,000 characters; answers are at the beginning or the end.

    Example:
        >>> len(both_ends("x" * 1_000_000))
        20002
    """
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n\n{text[-_LONGEST // 2 :]}"


def lowered(text: str) -> str:
    """Convert a text to lower case without changing its length.

    Example:
        >>> lowered("The FOG"), len(lowered("\u0130"))
        ('the fog', 1)
    """
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)
