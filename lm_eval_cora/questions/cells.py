"""Read the options of a question from the cells of a row, in any of several formats."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lm_eval_cora.questions.lines import is_deep, whole_number
from lm_eval_cora.questions.question import UnusableQuestion, shorten

_OPENING, _CLOSING = ("[", "(", "{"), ("]", ")", "}")

_MARKS = (*_OPENING, *_CLOSING, ",", ":", "=", "-", ".")

_MISSING = ("nan", "NaN", "NaT")

_CALLED = re.compile(r"array|list|object|bool_?|str_?|u?int\d*|float\d*")
"""Names that numpy prints before a value or as a type, as in `array(['Ice'], dtype=object)` or `np.float64(0.5)`."""

_NAME = re.compile(rf"None|(?:True|False)_?|{'|'.join(_MISSING)}|inf|np|dtype|shape|{_CALLED.pattern}")

_TEXT = re.compile(
    r"""u?(?:'(?!'')|"(?!""))[^\\]*(?:\\(?:[\\'"nrt]|x..|u.{4}|U.{8})[^\\]*)*""",
    re.DOTALL,
)
"""A string literal without triple quotes. It may have the prefix u and the escapes that Python prints."""


def parse_literal(text: str) -> Any:
    r"""Parse a printed list, tuple or dict of texts, numbers, True, False and None.

    No code is executed. Arrays become lists, and nan becomes None. numpy prints spaces between the items of an array.
    This function treats them as separators, whereas Python's parser would concatenate the texts.
    """
    text = text.strip()
    if text[:1] not in _OPENING or "\0" in text:
        raise ValueError("expected a list, tuple or dict without null bytes, which begins with one of [ ( {")
    try:
        value = _value(ast.parse(" ".join(_with_commas(text)), mode="eval").body)
    except (SyntaxError, tokenize.TokenError, RecursionError, MemoryError, SystemError, TypeError) as error:
        raise ValueError(f"expected a list, tuple or dict as Python prints it: {error}") from None
    if not isinstance(value, (list, tuple, dict)):
        raise ValueError(f"expected a list, tuple or dict, got {type(value).__name__} in brackets")
    return value


def _with_commas(text: str) -> Iterator[str]:
    """Split a literal into tokens, add the commas that numpy does not print, and remove `np.`."""
    before = tokenize.TokenInfo(tokenize.NL, "", (1, 0), (1, 0), "")
    brackets: list[str] = []
    separators: list[str] = []  # of the items in each open bracket; empty before the second item
    for token in tokenize.generate_tokens(io.StringIO(text.replace("\r\n", "\n")).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        _check(token, before)
        separator = "," if token.string == "," else " " if _ends_value(before) and _begins_value(token) else ""
        if separator == " " and token.start == before.end:  # only a call has no space here
            if token.string != "(" or not _CALLED.fullmatch(before.string):
                raise ValueError(f"expected a separator between {before.string!r} and {token.string!r}")
            separator = ""
        if separator:
            if not brackets or (separator == " " and brackets[-1] != "[") or separators[-1] not in ("", separator):
                raise ValueError(f"expected items separated by commas, got {before.string!r} before {token.string!r}")
            separators[-1] = separator
        if token.string in _OPENING:
            brackets.append(token.string)
            separators.append("")
        elif token.string in _CLOSING and brackets:
            brackets.pop()
            separators.pop()
        if separator == " ":
            yield ","
        if token.string not in ("np", "."):
            yield token.string
        before = token


def _begins_value(token: tokenize.TokenInfo) -> bool:
    return token.type != tokenize.OP or token.string == "-" or token.string in _OPENING


def _ends_value(token: tokenize.TokenInfo) -> bool:
    return token.type in (tokenize.STRING, tokenize.NUMBER, tokenize.NAME) or token.string in _CLOSING


def _check(token: tokenize.TokenInfo, before: tokenize.TokenInfo) -> None:
    """Check that a token can be part of a literal and can follow the token before it."""
    string = token.string
    if string == "...":
        raise ValueError("numpy shortened the list: '...' replaces items that the text does not contain")
    known = {
        tokenize.STRING: _TEXT.fullmatch(string) is not None,
        tokenize.NUMBER: True,
        tokenize.NAME: _NAME.fullmatch(string) is not None,
        tokenize.OP: string in _MARKS,
    }
    negated = token.type == tokenize.NUMBER or string == "inf"
    if (
        not known.get(token.type)
        or (before.string == "-" and not (negated and token.start == before.end))
        or (before.string == "np") != (string == ".")
    ):
        raise ValueError(f"expected texts, numbers, True, False and None, got {shorten(string)!r}")


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=None | str() | int() | float()):
            return node.value
        case ast.Name(id="True_" | "False_"):
            return node.id == "True_"
        case ast.Name(id="inf"):
            return float("inf")
        case ast.Name(id=name) if name in _MISSING:
            return None
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.List():
            return [_value(item) for item in node.elts]
        case ast.Tuple():
            return tuple(_value(item) for item in node.elts)
        case ast.Dict():
            keys = [_value(key) for key in node.keys if key is not None]
            pairs = dict(zip(keys, map(_value, node.values), strict=True))
            if len(pairs) < len(keys):
                raise ValueError("expected a dict with different keys, got one key twice")
            return pairs
        case ast.Call(func=ast.Name(id=name), args=[item]) if _CALLED.fullmatch(name):
            if {keyword.arg for keyword in node.keywords} <= {"dtype", "shape"}:
                return _value(item)
    raise ValueError(f"expected texts, numbers, True, False and None, got {type(node).__name__}")


_FORMATS = (
    "a list of texts, a mapping from label to text, {text, label}, a list of {key, value}, one of these as JSON or as "
    "Python prints it, or a text with a `separator`"
)
_LARGEST = 1e300
"""Upper limit of the absolute value of a numeric option. It also excludes infinity and NaN."""

TEXT_NAMES = ("text", "texts", "value", "choices", "choice", "option")
LABEL_NAMES = ("label", "labels", "key", "id", "letter")
"""Keys of objects that are options."""


class Options(NamedTuple):
    """The options of a row.

    Attributes:
        texts: The texts, unchanged.
        labels: The labels in the source, such as "A" or "1"; None if it has no labels.
    """

    texts: Sequence[Any]
    labels: Sequence[str] | None = None


def parse_cell(cell: Any) -> Any:
    """Parse a cell that contains JSON or a Python literal, as csv files do. Return any other cell unchanged."""
    if not isinstance(cell, str):
        return cell
    with suppress(ValueError, RecursionError):
        value = json.loads(cell, object_pairs_hook=_object, parse_int=whole_number)
        return cell if is_deep(value) else value
    with suppress(ValueError):
        return parse_literal(cell)
    return cell


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dict, and refuse repeated keys: they would drop one of two options with the same label."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("expected an object with different keys")
    return found


def read_options(cell: Any, separator: str | None = None) -> Options:
    """Read the options from one cell."""
    if separator is not None and isinstance(cell, str):
        return Options([part.strip() for part in cell.split(separator)])
    value = parse_cell(cell)
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise UnusableQuestion("options that are not a list", f"expected {_FORMATS}; got {shorten(repr(cell))}")
    if value and all(isinstance(item, Mapping) for item in value):
        return _of_mappings(value)
    return Options(value)


def _of_mapping(value: Mapping[str, Any]) -> Options:
    texts, labels = _named(value, TEXT_NAMES), _named(value, LABEL_NAMES)
    if texts is not None and _is_list(value[texts]):
        if labels is None:
            return Options(value[texts])
        if not _is_list(value[labels]) or len(value[labels]) != len(value[texts]):
            raise UnusableQuestion(
                "not as many labels as options",
                f"expected {len(value[texts])} labels, got {shorten(repr(value[labels]))}",
            )
        return Options(value[texts], [str(label) for label in value[labels]])
    if (texts and labels) or any(_is_list(text) or isinstance(text, Mapping) for text in value.values()):
        raise UnusableQuestion("options in an unknown format", f"expected {_FORMATS}; got {shorten(repr(value))}")
    present = {str(label): text for label, text in value.items()}
    # In a table every mapping has the keys of all rows. A question with fewer options has None for the last keys.
    while present and next(reversed(present.values())) is None:
        present.popitem()
    return Options(list(present.values()), list(present))


def _of_mappings(value: Sequence[Mapping[str, Any]]) -> Options:
    texts, labels = _named(value[0], TEXT_NAMES), _named(value[0], LABEL_NAMES)
    try:
        if texts is None:
            raise KeyError
        found = [item[texts] for item in value]
        return Options(found, None if labels is None else [str(item[labels]) for item in value])
    except KeyError:
        raise UnusableQuestion(
            "options in an unknown format", f"expected a list of {{key, value}}, got {shorten(repr(value))}"
        ) from None


def _named(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in value), None)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def option_text(option: object) -> str:
    """Return an option as text. Numbers are converted."""
    if isinstance(option, str):
        if not option.strip():
            raise UnusableQuestion("an empty option")
        return option
    if option is None:
        raise UnusableQuestion("an empty option")
    if isinstance(option, bool) or not isinstance(option, int | float) or not -_LARGEST < option < _LARGEST:
        raise UnusableQuestion("an option that is not text", f"it is {shorten(repr(option))}")
    return str(option)
