"""Read a field of a declaration from a row: a column, a dotted path, or a Jinja template."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateRuntimeError, Undefined, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import MissingColumn, Row
from lm_eval_cora.questions.cells import parse_cell
from lm_eval_cora.questions.messages import described, did_you_mean
from lm_eval_cora.questions.question import UnusableQuestion, shorten

Getter = Callable[[Row], Any]
"""Function that returns the value of a field in a row."""


def _printable(value: Any) -> Any:
    """Raise an error for a missing value, which Jinja would print as "None"."""
    if value is None:
        raise TemplateRuntimeError("it prints a missing value (None)")
    return value


_SANDBOX = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, keep_trailing_newline=True, finalize=_printable, extensions=[]
)
for _name in ("random", "lipsum"):  # their results would differ between the ranks of a run
    _SANDBOX.filters.pop(_name, None)
    _SANDBOX.globals.pop(_name, None)

_EXPRESSION = re.compile(r"\A\s*\{\{[-+]?((?:(?!\{\{|\}\}|\{%|%\}).)*?)[-+]?\}\}\s*\Z", re.DOTALL)
_MOST_BITS = 64
"""Largest size, in bits, of a number that a template returns."""


@dataclass(frozen=True)
class Field:
    """A field of a row.

    Attributes:
        text: A column, a path such as `choices.text`, or a Jinja template. In a template each column is a variable,
            and `row` is the whole row. The value of a template with a single expression keeps its type.
    """

    text: str

    def __post_init__(self) -> None:
        if self.is_template:
            _compiled(self.text)

    @property
    def is_template(self) -> bool:
        """Whether the field is a Jinja template."""
        return "{{" in self.text or "{%" in self.text

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns, or the path, that the field reads.

        Example:
            >>> Field("{{ passage }} {{ stem or row['x'] }}").reads, Field("choices.text").reads
            (('passage', 'stem'), ('choices.text',))
        """
        if not self.is_template:
            return (self.text,)
        variables = meta.find_undeclared_variables(_SANDBOX.parse(self.text))
        return tuple(sorted(variables - {"row", *_SANDBOX.globals}))

    def getter(self, columns: Sequence[str] | Any, free: Sequence[str] | None = None) -> Getter:
        """Find the field among the columns of a source.

        A column with exactly this name comes first. Otherwise case and surrounding white space are ignored, if only
        one column then matches.
        """
        if self.is_template:
            return _compiled(self.text)
        column = find_column(self.text, columns)
        if column is not None:
            return partial(_cell, itemgetter(column), column)
        first, *path = self.text.split(".")
        column = find_column(first, columns)
        if column is None or not path:
            raise MissingColumn(f"no column {self.text!r}.{did_you_mean(self.text, columns if free is None else free)}")
        return partial(_at_path, column, path)


def find_column(name: str, columns: Any) -> str | None:
    """Find a column by name: an exact match, or else the only match if case and outer white space are ignored."""
    if name in columns:
        return name
    alike = [column for column in columns if isinstance(column, str) and _plain(column) == _plain(name)]
    return alike[0] if len(alike) == 1 else None


def _plain(name: str) -> str:
    return name.strip().casefold()


def _cell(get: Getter, column: str, row: Row) -> Any:
    try:
        return get(row)
    except KeyError:
        raise MissingColumn(f"no column {column!r}.") from None


def _at_path(column: str, path: Sequence[str], row: Row) -> Any:
    """Follow a path through mappings and lists. A name after a list is looked up in each item of the list."""
    value = _cell(itemgetter(column), column, row)
    walked = column
    for name in path:
        value = parse_cell(value)
        try:
            if isinstance(value, str):
                raise TypeError
            if isinstance(value, Mapping):
                value = value[name]
            elif name.isdecimal():
                value = value[int(name)]
            else:
                value = [item[name] for item in value]
        except (LookupError, TypeError):
            raise UnusableQuestion(
                f"no {walked}.{name}", f"expected {name!r} in {walked}, got {shorten(repr(value))}"
            ) from None
        walked = f"{walked}.{name}"
    return value


def _compiled(text: str) -> Getter:
    """Compile a template in Jinja's sandbox."""
    single = _EXPRESSION.match(text)
    try:
        if single:
            evaluate: Callable[..., Any] = _SANDBOX.compile_expression(single[1].strip(), undefined_to_none=False)
        else:
            evaluate = _SANDBOX.from_string(text).render
    except (TemplateError, SyntaxError, RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise UserError(f"the template {shorten(text, 80)!r} cannot be compiled: {shorten(error, 200)}") from None
    return partial(_evaluated, evaluate, text)


def _evaluated(evaluate: Callable[..., Any], text: str, row: Row) -> Any:
    try:
        value = evaluate({**row, "row": row})
        if isinstance(value, Undefined):
            str(value)  # raises an error that names the missing column
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise OverflowError(f"a number with more than {_MOST_BITS} bits")
    except TemplateError as error:
        raise UnusableQuestion(
            "a template that fails", f"{shorten(error.message, 120)} in {shorten(text, 80)!r}"
        ) from None
    except Exception as error:
        raise UnusableQuestion(
            "a template that fails", f"{shorten(described(error), 140)} in {shorten(text, 80)!r}"
        ) from None
    return value
