"""Convert a response or an option to plain text: no markup, one kind of letter, quotation mark, dash and space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

_LONGEST = 20_000
"""Maximum number of characters that are read; half of them from each end of a longer text."""

_SAME = {
    **dict.fromkeys("‘’‛`´", "'"),
    **dict.fromkeys("“”„«»「」", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("【", "["),
    **dict.fromkeys("】", "]"),
    **dict.fromkeys("→⇒➔➜", "->"),
    **{chr(0x1F150 + place): chr(65 + place) for place in range(26)},  # letters in black circles and squares,
    **{chr(0x1F170 + place): chr(65 + place) for place in range(26)},  # which Unicode does not decompose
    "×": "*",
    "·": "*",
    "\r": "\n",
}
_END_OF_TURN = re.compile(
    r"<\|(?:eot_id|im_end|end|endoftext|return|end_of_text|user|END_OF_TURN_TOKEN|END_RESPONSE)\|>"
    r"|</s>|<eos>|<end_of_turn>"
)
_MACROS = (
    (re.compile(r"\\[dt]?frac\s*\{([^{}]{1,60})\}\s*\{([^{}]{1,60})\}"), r"\1/\2"),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "*"),
    (re.compile(r"\\(?:boxed|fbox)\s*\{?|<(?:final_?)?(?:answer|choice|option|output)>", re.IGNORECASE), " answer: "),
    (re.compile(r"(?:^|(?<=\n)|(?<=answer)|(?<=choice)|(?<=option)) ?[-=]{1,2}>", re.IGNORECASE), ":"),
    (
        re.compile(
            r"</?[a-zA-Z][\w-]{0,20} ?/?>|<\|?/?[\w|]{1,30}\|>|\\(?:text(?:bf|it|rm|sf)?|math(?:bf|it|rm|sf|bb|cal)|"
            r"left|right|[()\[\],;!])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\x1b\[[\d;]{0,8}m|\$|\\(?![a-zA-Z])|[*_~]+(?!\w)"
            r"|(?<!\w)[*_~]+|(?<=\s)\*\*(?=\w)"
        ),
        "",
    ),
    (re.compile(r"(?<!\w)\\(?=[a-zA-Z])"), ""),
    (re.compile(r"[{}\\]|&nbsp;|[^\S\n]+"), " "),
)
"""Replacements, in order. A box and an answer tag become the label "answer:", an arrow becomes a colon."""
_BREAK = re.compile(r" ?\n[ \n]*|  +")


class Plain:
    r"""A text without the markup of Markdown, LaTeX and HTML.

    A box (\boxed) and an answer tag (<answer>) become the label "answer:". Several blank lines become one. Text after
    the first end-of-turn token is dropped.

    Attributes:
        text: The plain text, without white space at its ends.

    Example:
        >>> Plain(r"**Answer:** $\boxed{\text{B}}$  *Fog*").text
        'Answer: answer: B Fog'
        >>> Plain("**B**").span(0, 1)
        (2, 3)
    """

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._at: Sequence[int] = range(len(text))
        if len(text) > _LONGEST:
            half = _LONGEST // 2
            self._at = [*range(half), half, half, *range(len(text) - half, len(text))]
        self.text = both_ends(text)
        turn = _END_OF_TURN.search(self.text)
        if turn and self.text[: turn.start()].strip():
            self.text = self.text[: turn.start()]
        if not self.text.isascii() or "`" in self.text or "\r" in self.text or "\x00" in self.text:
            self._replace_characters()
        for pattern, replacement in _MACROS:
            self._substitute(pattern, lambda match, new=replacement: match.expand(new))  # type: ignore[misc]
        self._substitute(_BREAK, _shorter)
        start = len(self.text) - len(self.text.lstrip())
        self.text, self._at = self.text.strip(), self._at[start:]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the part of the original text for a part of the plain text."""
        first = self._at[start] if start < len(self._at) else self._length
        return first, self._at[end - 1] + 1 if start < end <= len(self._at) else first

    def _replace_characters(self) -> None:
        new = [_character(character) for character in self.text]
        at = self._at
        self._at = [at[place] for place, character in enumerate(new) for _ in character]
        self.text = "".join(new)

    def _substitute(self, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> None:
        parts: list[str] = []
        at: list[int] = []
        end = 0
        for match in pattern.finditer(self.text):
            new = replacement(match)
            parts += (self.text[end : match.start()], new)
            at += self._at[end : match.start()]
            at += [self._at[match.start()]] * len(new)
            end = match.end()
        if end:
            self.text, self._at = "".join(parts) + self.text[end:], [*at, *self._at[end:]]


@lru_cache(maxsize=4096)
def _character(character: str) -> str:
    """Return the usual form of a character; empty for one without a shape."""
    if character in _SAME:
        return _SAME[character]
    if character.isascii():
        return character if character != "\x00" else ""
    if unicodedata.category(character) in ("Cf", "Mn"):
        return ""
    return "".join(_SAME.get(one, one) for one in unicodedata.normalize("NFKC", character))


def plain(text: str) -> str:
    r"""Return a text without markup, see `Plain`."""
    return Plain(text).text


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
