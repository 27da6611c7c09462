"""Read the options of a question from the cells of a row, whatever shape they have there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lm_eval_cora.benchmarks.literals import parse_literal
from lm_eval_cora.question import UnusableQuestion, shorten

_SHAPES = (
    "a list of texts, a mapping from label to text, {text, label}, a list of {key, value}, one of these as JSON or as "
    "Python prints it, or a text with a `separator`"
)
_LARGEST = 1e300
"""Limit of a number that is an option. Infinity and NaN are refused, too."""

_TEXT_NAMES = ("text", "texts", "value", "choices", "choice", "option")
_LABEL_NAMES = ("label", "labels", "key", "id", "letter")


class Options(NamedTuple):
    """The options of a row.

    Attributes:
        texts: As the row has them.
        labels: What the source calls them, such as "A" or "1"; None if it does not name them.
    """

    texts: Sequence[Any]
    labels: Sequence[str] | None = None


def parse_cell(cell: Any) -> Any:
    """Read the JSON, or the Python literal, in the cell of a csv file. Anything else stays as it is.

    Example:
        >>> parse_cell('["Ice", "Fog"]'), parse_cell("['Ice' 'Fog']"), parse_cell("Ice, Fog"), parse_cell(None)
        (['Ice', 'Fog'], ['Ice', 'Fog'], 'Ice, Fog', None)
    """
    if not isinstance(cell, str):
        return cell
    with suppress(ValueError, RecursionError):
        return json.loads(cell, object_pairs_hook=_object)
    with suppress(ValueError):
        return parse_literal(cell)
    return cell


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys: of two options with one label, one would vanish."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return found


def read_options(cell: Any, separator: str | None = None) -> Options:
    """Read the options in one cell.

    Args:
        cell: A list of texts; a mapping from label to text; a mapping of two lists, texts and labels; a list of
            mappings, each with a text and perhaps a label; or one of these as text.
        separator: What separates the options if the cell is a text.

    Returns:
        The options in the cell's order.

    Raises:
        UnusableQuestion: If the cell has another shape.

    Example:
        >>> read_options({"A": "Ice", "B": "Fog"})
        Options(texts=['Ice', 'Fog'], labels=['A', 'B'])
        >>> read_options([{"key": "A", "value": "Ice"}, {"key": "B", "value": "Fog"}])
        Options(texts=['Ice', 'Fog'], labels=['A', 'B'])
        >>> read_options("Ice | Fog", "|").texts
        ['Ice', 'Fog']
    """
    if separator is not None and isinstance(cell, str):
        return Options([part.strip() for part in cell.split(separator)])
    value = parse_cell(cell)
    if isinstance(value, Mapping):
        return _of_mapping(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise UnusableQuestion("options that are not a list", f"expected {_SHAPES}; got {shorten(repr(cell))}")
    if value and all(isinstance(item, Mapping) for item in value):
        return _of_mappings(value)
    return Options(value)


def _of_mapping(value: Mapping[str, Any]) -> Options:
    texts, labels = _named(value, _TEXT_NAMES), _named(value, _LABEL_NAMES)
    if texts is not None and _is_list(value[texts]):
        if labels is None:
            return Options(value[texts])
        if not _is_list(value[labels]) or len(value[labels]) != len(value[texts]):
            raise UnusableQuestion(
                "as many labels as options are needed", f"got {shorten(repr(value[labels]))} for {len(value[texts])}"
            )
        return Options(value[texts], [str(label) for label in value[labels]])
    if (texts and labels) or any(_is_list(text) or isinstance(text, Mapping) for text in value.values()):
        raise UnusableQuestion("options of another shape", f"expected {_SHAPES}; got {shorten(repr(value))}")
    present = {str(label): text for label, text in value.items()}
    # Tables store a mapping with the keys of all rows: a question with fewer options has None in the last ones.
    while present and next(reversed(present.values())) is None:
        present.popitem()
    return Options(list(present.values()), list(present))


def _of_mappings(value: Sequence[Mapping[str, Any]]) -> Options:
    texts, labels = _named(value[0], _TEXT_NAMES), _named(value[0], _LABEL_NAMES)
    try:
        if texts is None:
            raise KeyError
        found = [item[texts] for item in value]
        return Options(found, None if labels is None else [str(item[labels]) for item in value])
    except KeyError:
        raise UnusableQuestion(
            "options of another shape", f"expected a list of {{key, value}}, got {shorten(repr(value))}"
        ) from None


def _named(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in value), None)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def option_text(option: object) -> str:
    """The text of an option. Numbers become text.

    Raises:
        UnusableQuestion: If it is empty or not a text.

    Example:
        >>> option_text("Ice"), option_text(2.5)
        ('Ice', '2.5')
    """
    if isinstance(option, str):
        if not option.strip():
            raise UnusableQuestion("an empty option")
        return option
    if option is None:
        raise UnusableQuestion("an empty option")
    if isinstance(option, bool) or not isinstance(option, int | float) or not -_LARGEST < option < _LARGEST:
        raise UnusableQuestion("an option that is not text", f"it is {shorten(repr(option))}")
    return str(option)
