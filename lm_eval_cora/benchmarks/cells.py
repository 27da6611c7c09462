"""Read the options of a question from the cells of a row, in any of several formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lm_eval_cora.benchmarks.literals import parse_literal
from lm_eval_cora.lines import is_deep, whole_number
from lm_eval_cora.question import UnusableQuestion, shorten

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
