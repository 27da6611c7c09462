r"""Mend what a file format or an encoding did to published texts, where a rule can tell and no meaning changes.

A defect in some options of a question may give the answer away. Each rule was tried on all rows of the benchmarks that
use it; the READMEs of their tasks list what is left alone. Ids and answers never change. A declaration names the
repairs of `REPAIRS` that its source needs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


_LOOKALIKES = str.maketrans("АОНаеіорсухѕк", "AOHaeiopcyxsκ")

LOOKALIKES: Rule = (re.compile("[АОНаеіорсухѕк]"), lambda found: found[0].translate(_LOOKALIKES))
"""Cyrillic letters for Latin and Greek ones: in one question only the right answer had the Greek letter."""

TABLES: tuple[Rule, ...] = (
    (re.compile(r"(?<![ \t])[ \t]*\$\$\$[ \t]*"), ""),
    (re.compile(r"(?<!\s)\s*%%%\s*"), " | "),
)
"""The rows and columns of a table."""

_ESCAPED = {"\a": "a", "\b": "b", "\v": "v", "\t": "t", "\n": "r"}

ESCAPES: Rule = (
    re.compile("[\a\b\v](?=[A-Za-z])|\t(?=[a-z])|\n(?=ho(?:[^a-z]|[ad])|ceil|floor|ight)"),
    lambda found: "\\" + _ESCAPED[found[0]],
)
"""LaTeX whose backslash and first letter were read as a control character: a tab for the beginning of "theta"."""

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

DATES: Rule = (
    re.compile(rf"\A\s*(\d{{1,2}})-({'|'.join(_MONTHS)})\s*\Z"),
    lambda found: f"{_MONTHS.index(found[2]) + 1}-{found[1]}",
)
"""A range such as 10-15 that a spreadsheet took for a date."""


def without_lone_mark(stem: str) -> str:
    """A question without the quotation mark at its end, if it opens and closes nothing.

    Example:
        >>> without_lone_mark('Which drug?"'), without_lone_mark('Why does he say "no"')
        ('Which drug?', 'Why does he say "no"')
    """
    text = stem.rstrip()
    return text[:-1] if text.endswith('"') and text.count('"') % 2 else stem


def without_marks_on_lines(options: Sequence[str]) -> tuple[str, ...]:
    r"""Options without a last line that is only a quotation mark.

    Example:
        >>> without_marks_on_lines(['Propranolol\n"', 'the "word"'])
        ('Propranolol', 'the "word"')
    """
    return tuple(map(_without_mark_on_a_line, options))


def _without_mark_on_a_line(option: str) -> str:
    text = option.rstrip()
    if not text.endswith('"'):
        return option
    before = text[:-1].rstrip()
    return before if "\n" in text[len(before) : -1] else option


_LINE_END = re.compile(r"(?<=[a-z])rn\Z")
_NOT_A_WORD = 3
"""So many options of a question that end in "rn" do so because of a line break; "pattern" ends in it, too."""


def without_line_ends(options: Sequence[str]) -> tuple[str, ...]:
    r"""Options without the "rn" that is left of "\r\n".

    Example:
        >>> without_line_ends(["Doxorubicinrn", "Bleomycinrn", "Vincristinern", "Imatinib"])
        ('Doxorubicin', 'Bleomycin', 'Vincristine', 'Imatinib')
    """
    if sum(bool(_LINE_END.search(option)) for option in options) < _NOT_A_WORD:
        return tuple(options)
    return tuple(_LINE_END.sub("", option) for option in options)


@dataclass(frozen=True)
class Repair:
    """What a repair does to a question.

    Attributes:
        stem: Rules for the stem.
        each: Rules for each option.
        whole: Mends a stem; for what a rule cannot say.
        together: Mends the options of a question, which it sees together.
    """

    stem: tuple[Rule, ...] = ()
    each: tuple[Rule, ...] = ()
    whole: Callable[[str], str] | None = None
    together: Callable[[Sequence[str]], tuple[str, ...]] | None = None


def _everywhere(*rules: Rule) -> Repair:
    return Repair(stem=rules, each=rules)


REPAIRS: dict[str, Repair] = {
    "csv_quoting": _everywhere(CSV_QUOTING),
    "doubled_quotes": _everywhere(DOUBLED_QUOTES),
    "encoding": _everywhere(*ENCODING),
    "ligatures": _everywhere(LIGATURES),
    "escapes": _everywhere(ESCAPES),
    "lookalikes": _everywhere(LOOKALIKES),
    "lone_marks": Repair(whole=without_lone_mark, together=without_marks_on_lines),
    "line_ends": Repair(together=without_line_ends),
    "own_letters": Repair(together=without_own_letters),
    "dates": Repair(each=(DATES,)),
    "tables": Repair(stem=TABLES),
    "line_breaks": Repair(stem=((re.compile(r"\s+"), " "),)),  # inside of sentences
    "question_numbers": Repair(stem=((re.compile(r"\A\s*(?:\d{1,3}[.)]|\.)\s+(?=[A-Z])"), ""),)),  # of a book
    "soft_hyphens": Repair(stem=((re.compile("(?<=[a-z])!(?=[a-z])"), ""),)),  # printed as "!"
    "backslashes": Repair(stem=((re.compile(r"\\'"), "'"),)),  # before an apostrophe
}
"""The repairs that a declaration may name, by name."""


class Mended:
    """Some repairs as two functions, applied in the order in which they are named.

    Args:
        names: Names of `REPAIRS`.

    Example:
        >>> mended = Mended(["doubled_quotes", "own_letters"])
        >>> mended.stem('""Why?""'), mended.options(["A. Ice", "B. Fog"])
        ('"Why?"', ('Ice', 'Fog'))
    """

    def __init__(self, names: Iterable[str]) -> None:
        repairs = [REPAIRS[name] for name in names]
        self._stem = tuple(rule for repair in repairs for rule in repair.stem)
        self._each = tuple(rule for repair in repairs for rule in repair.each)
        self._whole = [repair.whole for repair in repairs if repair.whole]
        self._together = [repair.together for repair in repairs if repair.together]

    def stem(self, text: str) -> str:
        """Mend a stem: by the rules, then as a whole."""
        text = repaired(text, self._stem)
        for mend in self._whole:
            text = mend(text)
        return text

    def options(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Mend options: each by the rules, then all together."""
        options = tuple(repaired(text, self._each) for text in texts) if self._each else tuple(texts)
        for mend in self._together:
            options = mend(options)
        return options
