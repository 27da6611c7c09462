"""The columns of a table or file of answers: their names and values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import parse_cell
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.questions.rows import read_rows


class Column(NamedTuple):
    """A column of answers.

    Attributes:
        about: Description of its values.
        names: Names under which it is found.
    """

    about: str
    names: tuple[str, ...]


COLUMNS: Mapping[str, Column] = {
    "question": Column("id of the question", ("question_id", "question")),
    "variant": Column(
        "number or name of the variant, different for each variant of a question. Names that questions share, such as "
        "original and shuffled, are also the kinds",
        ("variant", "ordinal"),
    ),
    "correct": Column("whether the answer is right; a missing value is a skipped variant", ("correct",)),
    "original": Column(
        "whether the variant is the original question; for cora, ci and mcqa. Without it, the kind or variant named "
        "original is the original",
        ("original",),
    ),
    "picked": Column("the option that the answer picks; a missing or empty value is an invalid answer", ("picked",)),
    "answer": Column("the right option", ("answer",)),
    "printed": Column("list of the options that the variant prints", ("printed", "options")),
    "kind": Column("kind of the variant, such as shuffled, if a question has several variants of a kind", ("kind",)),
    "category": Column("category of the question", ("category",)),
    "followed": Column("whether the response follows the format", ("followed",)),
    "reader": Column("name of the reader that read the response", ("reader",)),
}
"""All columns of answers."""

_MAY_BE_ABSENT = {"printed", "category", "followed", "reader"}
"""Columns that may be missing in some rows of a JSON file."""

_ABSENT = object()
"""Marks a key that is missing in a row."""

_TRUTH = {**dict.fromkeys(("true", "yes", "1", "1.0"), True), **dict.fromkeys(("false", "no", "0", "0.0"), False)}

_MISSING = {"NA", "N/A", "NaN", "nan", "null", "NULL", "None"}
"""Texts in a csv file that may be meant as a missing value."""

_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)(?:\.0)?")

_EXACT = 2**53
"""Floats represent all whole numbers exactly up to this one."""


class AnswerColumns(NamedTuple):
    """The columns of a table or file of answers.

    Attributes:
        names: The name of each column in the source.
        values: The values of each column; None is a missing value.
        where: Describes the location of a row.
    """

    names: Mapping[str, str]
    values: Mapping[str, Sequence[Any]]
    where: Callable[[int], str]

    def has(self, *columns: str) -> bool:
        """Whether the source has all these columns."""
        return all(column in self.values for column in columns)

    def error(self, row: int, column: str, expected: str) -> UserError:
        """Make an error about the value of a column in a row."""
        got = shorten(repr(self.values[column][row]), 200)
        return UserError(f"{self.where(row)}: column {self.names[column]!r}: expected {expected}, got {got}")

    def texts(self, column: str) -> list[str]:
        """The values as text. A number becomes its text, so that 7, 7.0 and "7" are equal."""
        return [
            value if type(value) is str else str(value) if type(value) is int else self._text(row, column, value)
            for row, value in enumerate(self.values[column])
        ]

    def texts_or_none(self, column: str) -> list[str | None]:
        """The values as text; None for a missing or empty value."""
        return [
            (value or None) if type(value) is str or value is None else self._text(row, column, value)
            for row, value in enumerate(self.values[column])
        ]

    def truths(self, column: str) -> list[bool | None]:
        """The values as True or False; None for a missing value."""
        return [
            value if value is True or value is False or value is None else self._truth(row, column, value)
            for row, value in enumerate(self.values[column])
        ]

    def lists(self, column: str) -> list[list[str] | None]:
        """The values as lists of texts; None for a missing value."""
        lists: list[list[str] | None] = []
        for row, value in enumerate(self.values[column]):
            items = parse_cell(value)
            if items is not None and not isinstance(items, list | tuple):
                raise self.error(row, column, "a list of options")
            lists.append(
                None
                if items is None
                else [item if type(item) is str else self._text(row, column, item) for item in items]
            )
        return lists

    def _text(self, row: int, column: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(row, column, "a text or a number")
        whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
        return str(int(value) if whole else value)

    def _truth(self, row: int, column: str, value: Any) -> bool:
        text = str(value + 0.0) if isinstance(value, float) else str(value).strip().lower()
        if text not in _TRUTH:
            raise self.error(row, column, "True or False (or yes, no, 1 or 0)")
        return _TRUTH[text]


def read_columns(data: Any, given: Mapping[str, str | None] | None, option: str = "{}=") -> AnswerColumns:
    """Read the columns of a table or file of answers.

    Example:
        >>> columns = read_columns([{"id": 7, "variant": "a", "ok": True}], {"question": "id", "correct": "ok"})
        >>> columns.texts("question"), columns.names["correct"]
        (['7'], 'ok')
    """
    is_frame = hasattr(data, "iloc") and hasattr(data, "columns")
    found, where = _from_frame(data) if is_frame else _from_rows(data)
    names = _find(found, given, _source(data), option)
    if not found[names["question"]]:
        raise UserError(f"{_source(data)}: expected at least one answer, got none")
    for column in names.keys() - _MAY_BE_ABSENT:
        if _ABSENT in found[names[column]]:
            row = found[names[column]].index(_ABSENT)
            raise UserError(
                f"{where(row)}: the key {names[column]!r} is missing, but other rows have it. "
                "Give every row the same keys"
            )
    values = {column: _without_absent(found[name]) for column, name in names.items()}
    columns = AnswerColumns(names, values, where)
    return _of_text(columns) if str(data).lower().endswith((".csv", ".tsv")) else columns


def _source(data: Any) -> str:
    return str(data) if isinstance(data, (str, os.PathLike)) else type(data).__name__


def _from_frame(frame: Any) -> tuple[dict[str, list[Any]], Callable[[int], str]]:
    names = list(map(str, frame.columns))
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"DataFrame: expected a different name for each column, got {repeated!r} twice")
    missing = frame.isna().to_numpy()
    columns = {}
    for place, name in enumerate(names):
        values = frame.iloc[:, place].tolist()
        absent = missing[:, place]
        if absent.any():
            values = [None if gone else value for value, gone in zip(values, absent, strict=True)]
        if frame.dtypes.iloc[place].kind == "O":
            values = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        columns[name] = values
    return columns, lambda row: f"DataFrame row {row}"


def _from_rows(data: Any) -> tuple[dict[str, list[Any]], Callable[[int], str]]:
    in_memory = isinstance(data, (list, tuple)) and all(isinstance(row, Mapping) for row in data)
    try:
        located = [(f"row {number}", row) for number, row in enumerate(data)] if in_memory else list(read_rows(data))
    except UserError as error:
        raise UserError(str(error).removeprefix("data_files: ")) from None
    if not located:  # without rows there are no columns
        raise UserError(f"{_source(data)}: expected at least one answer, got none")
    names = dict.fromkeys(name for _, row in located for name in row)
    columns = {str(name): [_plain(row.get(name, _ABSENT)) for _, row in located] for name in names}
    if str(data).lower().endswith((".csv", ".tsv")):
        columns = {name: [None if value == "" else value for value in values] for name, values in columns.items()}
    places = [place for place, _ in located]  # without the rows, which fill the memory
    return columns, lambda row: places[row]


def _plain(value: Any) -> Any:
    """A value of numpy or pandas as one of Python; None for a missing one."""
    if type(value) in (str, int, bool) or value is None or value is _ABSENT:
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    return value


def _of_text(columns: AnswerColumns) -> AnswerColumns:
    """The columns of a csv file, which has texts only.

    pandas writes whole numbers as 3.0 if a value of the column is missing, so 3.0 and 3 are equal in the columns of
    picks and answers if these contain whole numbers only.
    """
    picks = [column for column in ("picked", "answer") if columns.has(column)]
    values = dict(columns.values)
    if all(value is None or _WHOLE.fullmatch(value) for column in picks for value in values[column]):
        for column in picks:
            values[column] = [None if value is None else value.removesuffix(".0") for value in values[column]]
    if columns.has("picked"):
        texts = set(values.get("answer", ()))
        for row, pick in enumerate(values["picked"]):
            if pick in _MISSING and pick not in texts:
                raise columns.error(row, "picked", "an option, or an empty cell if the answer is invalid")
    return columns._replace(values=values)


def _without_absent(values: list[Any]) -> list[Any]:
    return [None if value is _ABSENT else value for value in values] if _ABSENT in values else values


def _find(
    found: Mapping[str, Sequence[Any]], given: Mapping[str, str | None] | None, source: str, option: str
) -> dict[str, str]:
    """The name in the source of each column that it has."""
    names = {column: name for column, name in (given or {}).items() if name is not None}
    for column, (_, usual) in COLUMNS.items():
        if column not in names and (name := next((name for name in usual if name in found), None)) is not None:
            names[column] = name
    for column, name in names.items():
        if name not in found:
            meant = did_you_mean(str(name), found.keys() - names.values())
            raise UserError(
                f"{source}: {option.format(column)}{name!r}: there is no such column.{meant} "
                f"The columns are {', '.join(map(repr, found))}"
            )
    needed = [column for column in ("question", "variant") if column not in names]
    if "correct" not in names and not {"picked", "answer"} <= names.keys():
        needed.append("correct")
    if needed:
        instead = ", or 'picked' and 'answer' instead of 'correct'" if "correct" in needed else ""
        usual_names = "; ".join(f"{name!r}: {' or '.join(COLUMNS[name].names)}" for name in needed)
        how = (
            f"Rename yours ({usual_names})"
            if given is None
            else f"Name yours: {', '.join(f'{option.format(name)}COLUMN' for name in needed)}"
        )
        raise UserError(
            f"{source}: expected the columns {', '.join(map(repr, needed))}{instead}; got "
            f"{', '.join(map(repr, found)) or 'none'}. {how}"
        )
    return names
