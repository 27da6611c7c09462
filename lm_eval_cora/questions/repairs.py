r"""Repair damage that file formats and encodings did to published texts, by rules that do not change the meaning.

A defect in only some options can reveal the answer. Each rule was tested on all rows of the benchmarks that use it.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lm_eval_cora.questions.question import LETTERS, SEQUENCES

Rule = tuple[re.Pattern[str], "str | Callable[[re.Match[str]], str]"]  # a pattern and its replacement


def repaired(text: Any, rules: Sequence[Rule]) -> Any:
    """Apply the rules in order. Values that are not text are returned unchanged."""
    if isinstance(text, str):
        for pattern, replacement in rules:
            text = pattern.sub(replacement, text)
    return text


def _unquoted(quoted: re.Match[str]) -> str:
    inside = quoted[1]
    return inside.replace('""', '"') if '""' in inside and '"' not in inside.replace('""', "") else quoted[0]


def without_own_letters(options: Sequence[Any]) -> tuple[Any, ...]:
    """Remove letters such as "A.": capital ones if every option has its own, unlike "B. F. Skinner"; or small ones."""
    if not all(isinstance(option, str) for option in options):
        return tuple(options)
    pairs = list(zip(LETTERS, options, strict=False))
    plain = [re.sub(rf"\A\(?{letter}[.)]\s*(?=\S)", "", option) for letter, option in pairs]
    if any(shorter == option for shorter, option in zip(plain, options, strict=False)):
        plain = [re.sub(rf"\A{letter.lower()}[.)]\s*(?=[A-Z])", "", option) for letter, option in pairs]
    return (*plain, *options[len(pairs) :])


# A digit after "1." or a letter after "A-" belongs to the option: "1.5", "A-frame".
_OWN_LABEL = re.compile(
    r"\s*[(\[（【]?([^\W_]{1,4})"
    r"(?:(?<=[①-⑨])|[)\]）】][.:]?|[.:：、．](?!(?<=\d.)\d)|\s?[-–—](?:\s|(?<=[^\x00-\x7f].)))\s*(?=\S)"
)


def own_labels(options: Sequence[str]) -> tuple[list[str], tuple[str, ...]] | None:
    """The labels that options begin with, such as "(A)", "b." or "أ-", and the rest.

    None unless each option has the label of its place.
    """
    found = [*filter(None, map(_OWN_LABEL.match, options))]
    labels = [match[1] for match in found]
    begin = " ".join([*labels, ""])
    is_sequence = any(f"{sequence} ".startswith((begin, begin.upper())) for sequence in SEQUENCES)
    if not found or len(found) < len(options) or not is_sequence:
        return None
    plain = tuple(match.string[match.end() :] for match in found)
    _, plain = own_labels(plain) or (labels, plain)  # some sources have each label twice
    return labels, plain


def without_line_ends(options: Sequence[str]) -> tuple[str, ...]:
    r"""Remove the "rn" that remains of "\r\n" at the end of options, if three or more of a question have it."""
    plain = tuple(re.sub(r"(?<=[a-z])rn\Z", "", option) for option in options)
    repaired_ones = sum(before != after for before, after in zip(options, plain, strict=True))
    return plain if repaired_ones >= 3 else tuple(options)  # words such as "pattern" end in it, too


class Repair(NamedTuple):
    """Rules for the stem and for each option, and a function for all options together."""

    stem: tuple[Rule, ...] = ()
    each: tuple[Rule, ...] = ()
    together: Callable[[Sequence[str]], tuple[str, ...]] | None = None


def _everywhere(*rules: Rule) -> Repair:
    return Repair(stem=rules, each=rules)


_LOOKALIKES = str.maketrans("АОНаеіорсухѕк", "AOHaeiopcyxsκ")
_ESCAPED = {"\a": "a", "\b": "b", "\v": "v", "\t": "t", "\n": "r"}
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DATE = re.compile(rf"\A\s*(\d{{1,2}})-({_MONTHS})\s*\Z")
_TABLE_ROW = re.compile(r"(?<![ \t])[ \t]*\$\$\$[ \t]*")
_BROKEN_COMMAND = re.compile("[\a\b\v](?=[A-Za-z])|\t(?=[a-z])|\n(?=ho(?:[^a-z]|[ad])|ceil|floor|ight)")

REPAIRS: dict[str, Repair] = {
    # Text in quotation marks, with doubled quotation marks inside, as in a csv file.
    "csv_quoting": _everywhere((re.compile(r'\A\s*"(.*)"\s*\Z', re.DOTALL), _unquoted)),
    "doubled_quotes": _everywhere((re.compile(r'"{2,}'), '"')),
    "encoding": _everywhere(
        # UTF-8 decoded as Latin-1: two characters instead of one.
        (re.compile("[\u00c2\u00c3][\x80-\xbf]"), lambda found: found[0].encode("latin-1").decode("utf-8", "replace")),
        # A space replaced the first of three bytes: dashes, quotation marks, bullets.
        (re.compile("\x80([\x80-\xbf])"), lambda found: chr(0x2000 + ord(found[1]) - 0x80)),
        (re.compile("[\x80-\x84\x86-\x9f\ufeff]"), ""),
    ),
    # ff, fi, fl, ffi, ffl as one character.
    "ligatures": _everywhere((re.compile("[\ufb00-\ufb04]"), lambda found: unicodedata.normalize("NFKC", found[0]))),
    # LaTeX commands whose backslash and first letter became a control character, such as a tab in place of "\t".
    "escapes": _everywhere((_BROKEN_COMMAND, lambda found: "\\" + _ESCAPED[found[0]])),
    # Cyrillic letters in place of Latin and Greek ones: in one question only the right answer had the Greek letter.
    "lookalikes": _everywhere((re.compile("[АОНаеіорсухѕк]"), lambda found: found[0].translate(_LOOKALIKES))),
    # A quotation mark at the end of a question with an odd number of them, or alone on the last line of an option.
    "lone_marks": Repair(
        stem=((re.compile(r'"\s*\Z'), lambda found: found[0] if found.string.count('"') % 2 == 0 else ""),),
        each=((re.compile(r'(?<!\s)(\s+)"\s*\Z'), lambda found: "" if "\n" in found[1] else found[0]),),
    ),
    "line_ends": Repair(together=without_line_ends),
    "own_letters": Repair(together=without_own_letters),
    # A range such as 1-10 that a spreadsheet converted to a date ("10-Jan").
    "dates": Repair(each=((_DATE, lambda found: f"{_MONTHS.split('|').index(found[2]) + 1}-{found[1]}"),)),
    # Markup of the rows and columns of a table.
    "tables": Repair(stem=((_TABLE_ROW, ""), (re.compile(r"(?<!\s)\s*%%%\s*"), " | "))),
    "line_breaks": Repair(stem=((re.compile(r"\s+"), " "),)),  # inside sentences
    "question_numbers": Repair(stem=((re.compile(r"\A\s*(?:\d{1,3}[.)]|\.)\s+(?=[A-Z])"), ""),)),  # from a book
    "soft_hyphens": Repair(stem=((re.compile("(?<=[a-z])!(?=[a-z])"), ""),)),  # stored as "!"
    "backslashes": Repair(stem=((re.compile(r"\\'"), "'"),)),  # before an apostrophe
}
"""The repairs that a declaration may name, by name."""


def repaired_stem(text: str, repairs: Sequence[Repair]) -> str:
    """Repair a stem by all rules."""
    return str(repaired(text, [rule for repair in repairs for rule in repair.stem]))


def repaired_options(texts: Sequence[str], repairs: Sequence[Repair]) -> tuple[str, ...]:
    """Repair the options: apply all rules to each option, then the functions to all options together."""
    rules = [rule for repair in repairs for rule in repair.each]
    options = tuple(repaired(text, rules) for text in texts)
    for repair in repairs:
        options = repair.together(options) if repair.together else options
    return options
