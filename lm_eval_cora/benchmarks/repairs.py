r"""Mend what a file format or an encoding did to published texts, where a rule can tell and no meaning changes.

A defect in some options of a question may give the answer away. Each rule was tried on all rows of the benchmarks that
use it; the READMEs of their tasks list what is left alone. Ids and answers never change.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from lm_eval_cora.question import LETTERS

Rule = tuple[re.Pattern[str], "str | Callable[[re.Match[str]], str]"]
"""A pattern and its replacement."""


def repaired(text: Any, rules: Sequence[Rule]) -> Any:
    r"""Apply the rules in order. Values that are not text are returned unchanged.

    Example:
        >>> repaired('"a ""coe\ufb03cient"" of one"', [CSV_QUOTING, LIGATURES])
        'a "coefficient" of one'
    """
    if isinstance(text, str):
        for pattern, replacement in rules:
            text = pattern.sub(replacement, text)
    return text


def _unquoted(found: re.Match[str]) -> str:
    inside = found[1]
    if '""' in inside and '"' not in inside.replace('""', ""):
        return inside.replace('""', '"')
    return found[0]


CSV_QUOTING: Rule = (re.compile(r'\A\s*"(.*)"\s*\Z', re.DOTALL), _unquoted)
"""The text is still quoted as in a csv file: in quotation marks, and those inside it doubled."""

DOUBLED_QUOTES: Rule = (re.compile(r'"{2,}'), '"')
"""Quotation marks are doubled, as in a csv file."""

LIGATURES: Rule = (re.compile("[\ufb00-\ufb04]"), lambda found: unicodedata.normalize("NFKC", found[0]))
"""ff, fi, fl, ffi, ffl as one character."""

ENCODING: tuple[Rule, ...] = (
    # UTF-8 read as Latin-1: two characters for one.
    (re.compile("[\u00c2\u00c3][\x80-\xbf]"), lambda found: found[0].encode("latin-1").decode("utf-8", "replace")),
    # The first of three bytes became a space: dashes, quotation marks, bullets.
    (re.compile("\x80([\x80-\xbf])"), lambda found: chr(0x2000 + ord(found[1]) - 0x80)),
    (re.compile("[\x80-\x84\x86-\x9f\ufeff]"), ""),
)
"""Characters outside ASCII that were decoded wrongly, and control characters that are left of them."""


def without_own_letters(options: Sequence[Any]) -> tuple[Any, ...]:
    """Options without letters of their own, which would contradict the printed ones.

    Capital letters go where every option has its own, because "B. F. Skinner" is a name. Small ones go in any option.

    Example:
        >>> without_own_letters(["A. Ice", "B. Fog"]), without_own_letters(["A. Smith", "Jones"])
        (('Ice', 'Fog'), ('A. Smith', 'Jones'))
        >>> without_own_letters(["Ice", "b) Fog"])
        ('Ice', 'Fog')
    """
    if not all(isinstance(option, str) for option in options):
        return tuple(options)
    pairs = list(zip(LETTERS, options, strict=False))
    plain = [re.sub(rf"\A\(?{letter}[.)]\s*(?=\S)", "", option) for letter, option in pairs]
    if any(shorter == option for shorter, option in zip(plain, options, strict=False)):
        plain = [re.sub(rf"\A{letter.lower()}[.)]\s*(?=[A-Z])", "", option) for letter, option in pairs]
    return (*plain, *options[len(pairs) :])
