r"""How an answer is written: the differences in notation that mean nothing, plain numbers, and words."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

LONGEST = 1_000
"""Characters of the longest answer that is looked into; a longer one is compared as a text alone."""

_WRAPPED = re.compile(r"\\(?:text(?:bf|it|rm)?|mbox|math(?:rm|bf|it))\{([^{}\\]*)\}")

_REPLACED = [
    (re.compile(r"\\left(?![a-zA-Z])|\\right(?![a-zA-Z])|\\(?:displaystyle|textstyle|limits)(?![a-zA-Z])"), ""),
    (re.compile(r"\\[dtc]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"(?<!\\)\\!"), ""),
    (re.compile(r"(?<!\\)\\[,;:> ]|\\q?quad(?![a-zA-Z])|(?<!\\)~"), " "),
    (re.compile(r"\\\$|\$"), ""),
    (re.compile(r"(?<!\\)\\%"), "%"),
    (re.compile("[−–]"), "-"),
    (re.compile("°"), r"^\\circ"),
    (re.compile("∞"), r"\\infty"),
    (re.compile(r"\s+"), " "),
    (re.compile(r" ?\\(?:text|mbox|mathrm)\{ ?(?:and|or) ?\} ?|(?<=[\d})]) (?:and|or) (?=[\d\\({-])"), ", "),
    # A space beside anything but a letter or a digit separates nothing.
    (re.compile(r" ?([^\w\s\\,]) ?| (?=,)"), r"\1"),
    # Unless it shows that a comma separates numbers, too: 100, 200 are two, 100,200 is one.
    (re.compile(r"(?<!\d), |, (?!\d{3}(?!\d))"), ","),
    (re.compile(_WRAPPED.pattern.replace(r"[^{}\\]", r"[^{}\\a-zA-Z]")), r"\1"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\{,\}"), ","),
]
_THOUSANDS = re.compile(r"(?<![\d,.({\[])\d{1,3}(?:,\d{3})+(?![\d,)}\]])")
_AT_THE_END = re.compile(r"[.,;: ]+(\}*)$")

_PLAIN = re.compile(r"([+-]?)(\d+)(\.\d*)?|([+-]?\.\d+)")
_FRACTION = re.compile(r"([+-]?)(?:(\d+) ?)??(?:\\frac\{([+-]?\d+)\}\{(\d+)\}|\\frac(\d)(\d)|(?<!\d)(\d+)/(\d+))")
_REPEATING = re.compile(r"([+-]?)(\d*)\.(\d*)\\overline\{(\d+)\}")
_BASED = re.compile(r"(\d+)_(?:\{(\d+)\}|(\d))")

_SIX_DIGITS = Fraction(1, 10**6)

_WORDS = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+)*")
_WORD = re.compile(r"[^\W\d_]{4}|\b(?:yes|no|odd|all|one|two|six|ten)\b", re.IGNORECASE)


def canonical(written: str) -> str:
    r"""Write an answer without what means nothing: spaces, \left, \dfrac, dollar signs, a full stop, commas in 1,000.

    Args:
        written: The content of a box.

    Returns:
        A text; two answers with the same one are the same answer.

    Example:
        >>> canonical(r"$\left( 3,\, \dfrac{1}{2} \right)$.")
        '(3,\\frac{1}{2})'
        >>> canonical("1,000"), canonical("100, 200"), canonical("(1,000)")
        ('1000', '100, 200', '(1,000)')
    """
    text = written
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    text = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), text)
    return _AT_THE_END.sub(r"\1", text.strip())


def same_number(one: str, other: str) -> bool | None:
    r"""Compare two plain numbers: integers, decimals, fractions, mixed numbers, repeating decimals, numbers in a base.

    A decimal is as exact as it is written: it equals another number that rounds to the same six places and, if both
    are small, has the same six digits. Two numbers that name a base are compared by value, else the base is read as a
    remark.

    Args:
        one: An answer in canonical notation.
        other: Another.

    Returns:
        Whether they are equal; None if one of them is not a plain number.

    Example:
        >>> same_number("1000", "1000.0"), same_number(r"\frac{1}{3}", "0.333333"), same_number("x", "5")
        (True, True, None)
        >>> same_number(r"2\frac{1}{2}", "2.5"), same_number("1202_3", "1202_{5}"), same_number("1202_3", "1202")
        (True, False, True)
    """
    if "_" in one or "_" in other:
        return _same_in_base(one, other)
    first, second = _number(one), _number(other)
    if first is None or second is None:
        return None
    (left, exact_left), (right, exact_right) = first, second
    if left == right or (exact_left and exact_right):
        return left == right
    return round(left, 6) == round(right, 6) and abs(left - right) <= _SIX_DIGITS * max(abs(left), abs(right))


@lru_cache(maxsize=100_000)
def _number(text: str) -> tuple[Fraction, bool] | None:
    """A plain number, and whether it is written exactly."""
    if len(text) > LONGEST:
        return None
    if plain := _PLAIN.fullmatch(text):
        return Fraction(text), not (plain.group(3) or plain.group(4))
    if fraction := _FRACTION.fullmatch(text):
        sign, whole, *parts = fraction.groups()
        over, under = (int(part) for part in parts if part is not None)
        if not under or (whole and over < 0):
            return None
        value = int(whole or 0) + Fraction(over, under)
        return (-value if sign == "-" else value), True
    if repeating := _REPEATING.fullmatch(text):
        sign, whole, before, period = repeating.groups()
        shift = 10 ** len(before)
        value = Fraction(int(whole + before or 0), shift) + Fraction(int(period), shift * (10 ** len(period) - 1))
        return (-value if sign == "-" else value), True
    return None


def _same_in_base(one: str, other: str) -> bool | None:
    """Compare numbers of which one or both name a base."""
    first, second = _BASED.fullmatch(one), _BASED.fullmatch(other)
    if (first is None and second is None) or max(len(one), len(other)) > LONGEST:
        return None
    if first is None or second is None:
        return same_number(first.group(1) if first else one, second.group(1) if second else other)
    try:
        left, right = (int(match.group(1), int(match.group(2) or match.group(3))) for match in (first, second))
    except ValueError:  # no such base, or a digit that it does not have
        return one == other
    return left == right


def same_words(one: str, other: str) -> bool | None:
    r"""Compare two answers in words; as LaTeX they would be products of letters, and "east" would equal "seat".

    Args:
        one: An answer in canonical notation.
        other: Another.

    Returns:
        Whether they are the same words, whatever their case; None if neither is sure to be in words, or one is not in
        letters. Three letters in a row may be a product, but for "yes", "no" and some more; four are a word.

    Example:
        >>> same_words(r"\text{East}", "east"), same_words("east", "seat"), same_words("abc", "acb")
        (True, False, None)
    """
    first, second = _words(one), _words(other)
    if first is None or second is None or not (first.sure or second.sure):
        return None
    return first.text == second.text


class _Words(NamedTuple):
    text: str
    sure: bool


@lru_cache(maxsize=100_000)
def _words(text: str) -> _Words | None:
    """The letters of an answer that has nothing else, and whether they are sure to be words."""
    bare = " ".join(_WRAPPED.sub(r" \1 ", text).split()).rstrip(".")
    if not _WORDS.fullmatch(bare):
        return None
    return _Words(bare.casefold(), bool(_WRAPPED.search(text) or _WORD.search(bare)))
