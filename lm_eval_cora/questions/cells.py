"""Read the options of a question from the cells of a row, in any of several formats."""

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from lm_eval_cora.questions.question import UnusableQuestion, shorten, shown

_FORMATS = (
    "a list of texts, a mapping from label to text, {text, label}, a list of {key, value}, one of these as JSON or as "
    "Python prints it, or a text with a `separator`"
)
_LARGEST = 1e300  # upper limit of the absolute value of a numeric option; it also excludes infinity and NaN
TEXT_NAMES = ("text", "texts", "value", "choices", "choice", "option")
LABEL_NAMES = ("label", "labels", "key", "id", "letter")
"""Keys of objects that are options."""


Choices = tuple[Sequence[Any], "list[str] | None"]  # the unchanged texts of options, and their labels if they have some


def parse_cell(cell: Any) -> Any:
    """Parse a cell that contains JSON or a Python literal, as csv files do. Return any other cell unchanged."""
    if isinstance(cell, str):
        text = cell.strip(" \t\n\r")  # the blanks of JSON
        try:
            value, end = _DECODER.raw_decode(text)  # `decode` takes several times as long
        except (ValueError, RecursionError):
            value, end = None, -1
        if end == len(text):
            return value
        with suppress(ValueError, RecursionError):
            return parse_literal(cell)
    return cell


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict, and refuse repeated keys: one of two options with the same label would be lost."""
    row = dict(pairs)
    if len(row) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {key!r} occurs twice in the object {shorten(row, 80)}")
    return row


_DECODER = json.JSONDecoder(object_pairs_hook=without_repeats)


def read_options(cell: Any, separator: str | None = None) -> Choices:
    """Read the options from one cell."""
    if separator is not None and isinstance(cell, str):
        return [part.strip() for part in cell.split(separator)], None
    value = parse_cell(cell)
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if not _is_list(value):
        raise UnusableQuestion("options that are not a list", f"expected {_FORMATS}; got {shown(cell)}")
    if not value or not all(isinstance(item, Mapping) for item in value):
        return value, None
    texts, labels = _named(value[0], TEXT_NAMES), _named(value[0], LABEL_NAMES)
    needed = {texts, labels or texts}
    if not all(needed <= item.keys() for item in value):
        raise UnusableQuestion("options in an unknown format", f"expected a list of {{key, value}}, got {shown(value)}")
    return [item[texts] for item in value], [str(item[labels]) for item in value] if labels else None


def _of_mapping(value: Mapping[str, Any]) -> Choices:
    texts, labels = _named(value, TEXT_NAMES), _named(value, LABEL_NAMES)
    if texts is not None and _is_list(value[texts]):
        if labels is None:
            return value[texts], None
        if not _is_list(value[labels]) or len(value[labels]) != len(value[texts]):
            found = f"expected {len(value[texts])} labels, got {shown(value[labels])}"
            raise UnusableQuestion("not as many labels as options", found)
        return value[texts], list(map(str, value[labels]))
    is_one_option = texts and labels
    if is_one_option or any(_is_list(text) or isinstance(text, Mapping) for text in value.values()):
        raise UnusableQuestion("options in an unknown format", f"expected {_FORMATS}; got {shown(value)}")
    present = {str(label): text for label, text in value.items()}
    # In a table every mapping has the keys of all rows. A question with fewer options has None for the last keys.
    while present and next(reversed(present.values())) is None:
        present.popitem()
    return list(present.values()), list(present)


def _named(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next(filter(value.__contains__, names), None)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_blank(cell: Any) -> bool:
    """Whether a cell is missing, or a text of white space."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def filled(cells: Sequence[Any]) -> list[Any]:
    """The cells of options without blank ones at the end: a question may have fewer options than others."""
    kept = list(cells)
    while kept and is_blank(kept[-1]):
        kept.pop()
    return kept


def option_text(option: Any) -> str:
    """Return an option as text. Numbers are converted."""
    if is_blank(option):
        raise UnusableQuestion("an empty option")
    if isinstance(option, str):
        return option
    is_number = isinstance(option, int | float) and not isinstance(option, bool)
    if not is_number or not -_LARGEST < option < _LARGEST:
        raise UnusableQuestion("an option that is not text", f"it is {shown(option)}")
    return str(option)


_NAMES: dict[str, Any] = {"True": True, "True_": True, "False": False, "False_": False, "inf": inf, "-inf": -inf}
_NAMES |= dict.fromkeys(("None", "nan", "NaN", "NaT"))
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_ESCAPE = r"""\\(?:[\\'"nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_VALUE = re.compile(
    rf"""\s*(?:
    (?P<text>u?(?:'[^'\\\r\n\0]*(?:{_ESCAPE}[^'\\\r\n\0]*)*'|"[^"\\\r\n\0]*(?:{_ESCAPE}[^"\\\r\n\0]*)*")) |
    (?P<number>-?\d+\.?\d*(?:e[+-]?\d+)?(?![\w.])) |
    (?:np\.)?(?P<name>{"|".join(_NAMES)})(?!\w) |
    (?P<call>(?:np\.)?(?:array|list|bool_?|str_?|u?int\d*|float\d*)\() |
    (?P<opening>[\[({{])\s*
    )""",
    re.VERBOSE,
)
_END_OF_CALL = re.compile(r"(?:,\s*(?:dtype=(?:\w+|'[^']*')|shape=\([\d, ]*\))\s*)*\)")
_COLON = re.compile(r"\s*:")
_BETWEEN = re.compile(r"\s*(?P<comma>,)\s*|\s*(?P<last>(?=[\])}]))|(?P<space>\s)\s*")


def parse_literal(text: str) -> Any:
    """Parse a list, tuple or dict of texts, numbers, True, False and None (also nan), as Python or numpy prints it."""
    # numpy prints spaces between the items of an array, whose texts Python's own parser would concatenate.
    value, end = _value(text, 0)
    if text.lstrip()[:1] not in _CLOSING or text[end:].strip():
        raise ValueError(text)
    return value


def _at(start: int, text: str, pattern: re.Pattern[str]) -> re.Match[str]:
    """Match a pattern at an index."""
    if (match := pattern.match(text, start)) is None:
        raise ValueError(text)
    return match


def _value(text: str, start: int) -> tuple[Any, int]:
    """Parse the value that begins at an index, and return its end, too."""
    token = _at(start, text, _VALUE)
    if token["opening"]:
        return _bracket(text, token.end(), token["opening"])
    if token["call"]:  # array(['Ice'], dtype=object)
        value, end = _value(text, token.end())
        return value, _at(end, text, _END_OF_CALL).end()
    if token["name"]:
        return _NAMES[token["name"]], token.end()
    try:
        return ast.literal_eval(token[0].strip()), token.end()
    except SyntaxError:  # 007
        raise ValueError(text) from None


def _bracket(text: str, end: int, opening: str) -> tuple[Any, int]:
    """Parse the items after an opening bracket."""
    items, pairs, separators = list[Any](), dict[Any, Any](), set()
    while text[end : end + 1] != _CLOSING[opening]:
        item, end = _value(text, end)
        items.append(item)
        if opening == "{":
            colon = _at(end, text, _COLON)
            if not isinstance(item, str | int | float) or item in pairs:
                raise ValueError(text)
            pairs[item], end = _value(text, colon.end())
        between = _at(end, text, _BETWEEN)
        end = between.end()
        separators.add(between.lastgroup)
    in_parentheses = opening == "(" and separators == {"last"}
    if in_parentheses or separators >= {"comma", "space"} or ("space" in separators and opening != "["):
        raise ValueError(text)
    return {"[": items, "(": tuple(items), "{": pairs}[opening], end + 1
