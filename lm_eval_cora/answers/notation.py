r"""Canonical notation of written answers, and the comparison of plain numbers and words."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

LONGEST = 1_000
"""Maximum number of characters of an answer that is analysed; a longer answer is compared only as text."""

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
    # A space next to anything but a letter or a digit has no meaning.
    (re.compile(r" ?([^\w\s\\,]) ?| (?=,)"), r"\1"),
    # But a space after a comma shows that the comma separates two numbers: "100, 200" against "100,200".
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
    r"""Remove notation without meaning: spaces, \left, \dfrac, dollar signs, a final full stop, the comma in 1,000."""
    text = written
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    text = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), text)
    return _AT_THE_END.sub(r"\1", text.strip())


def same_number(one: str, other: str) -> bool | None:
    r"""Compare two plain numbers: integers, decimals, fractions, mixed numbers, repeating decimals, numbers in a base.

    A decimal may be rounded. It equals another number if both round to the same six places and their relative
    difference is at most 1e-6. If both numbers name a base, their values are compared. If only one of them does, the
    base is ignored.
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
    """Return the value of a plain number and whether it is exact, not a decimal; None for any other text."""
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
    """Compare two numbers if at least one of them names a base; None if one is not a plain number."""
    first, second = _BASED.fullmatch(one), _BASED.fullmatch(other)
    if (first is None and second is None) or max(len(one), len(other)) > LONGEST:
        return None
    if first is None or second is None:
        return same_number(first.group(1) if first else one, second.group(1) if second else other)
    try:
        left, right = (int(match.group(1), int(match.group(2) or match.group(3))) for match in (first, second))
    except ValueError:  # an invalid base, or a digit that the base does not have
        return one == other
    return left == right


def same_words(one: str, other: str) -> bool | None:
    r"""Compare two answers that are words.

    math-verify would read them as products of letters, and "east" would equal "seat".
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
    """Return the letters of an answer and whether they are certainly words; None if it has other characters."""
    bare = " ".join(_WRAPPED.sub(r" \1 ", text).split()).rstrip(".")
    if not _WORDS.fullmatch(bare):
        return None
    return _Words(bare.casefold(), bool(_WRAPPED.search(text) or _WORD.search(bare)))
