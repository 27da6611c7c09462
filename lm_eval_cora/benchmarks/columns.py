"""Read rows as a declaration says: which columns hold the question, its options, and the right answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lm_eval_cora.benchmarks import BenchmarkError, MissingColumn, NotKept, Result, Row
from lm_eval_cora.benchmarks.cells import Options, option_text, read_options
from lm_eval_cora.benchmarks.fields import Field, Getter, find_column
from lm_eval_cora.benchmarks.repairs import Mended
from lm_eval_cora.benchmarks.right_option import FIRST, AnswerKey, Draft
from lm_eval_cora.question import LETTERS, Question, UnusableQuestion, one_line, shorten
from lm_eval_cora.randomness import in_random_order
from lm_eval_cora.suggestions import did_you_mean

_QUESTIONS = ("question", "question_stem", "stem")
_CHOICES = ("choices", "options")
_ANSWERS = ("answer", "answerkey", "answer_key", "answer_idx", "answer_index", "correct_answer", "correct", "label")
_RIGHT = re.compile("correct|right|true|gold|best|answer|solution", re.IGNORECASE)
_WRONG = re.compile("incorrect|wrong|untrue|false|distract|not", re.IGNORECASE)

_OF_AN_OPTION = re.compile(r"(?:option|choice|op|)[ _-]?([a-z])", re.IGNORECASE)

_ENOUGH = 10
"""From this number of questions on, it is suspicious if the right option is always at the same place."""

_NAMED = 5


@dataclass(frozen=True)
class Columns:
    """Where a source has the parts of a question.

    A part that is None is looked for under its usual names.

    Attributes:
        name: Name of the benchmark. With `shuffle` the orders depend on it.
        question: The text before the options.
        choices: All options, or one field for each. Without an answer the first of several fields is the right one, if
            its name says so.
        labels: What the source calls the options, such as "A" or "1".
        answer: What says which option is right.
        answer_check: Another field that must name the same option.
        id: The question's id. Without it split and row number.
        category: Subject or subset.
        key: How answers name the right option.
        separator: What separates the options if they are one text.
        shuffle: Whether the options of each question get an order of their own, drawn by name and id.
        repairs: What is mended, by name.
        keep: Values that a row must have in some columns; other rows are left out.
        published: Whether it is a published set, whose defects are known. Other sources get warnings.
    """

    name: str
    question: Field | None = None
    choices: Field | tuple[Field, ...] | None = None
    labels: Field | None = None
    answer: Field | None = None
    answer_check: Field | None = None
    id: Field | None = None
    category: Field | None = None
    key: AnswerKey = field(default_factory=AnswerKey)
    separator: str | None = None
    shuffle: bool = False
    repairs: tuple[str, ...] = ()
    keep: Mapping[str, frozenset[str]] = field(default_factory=dict)
    published: bool = False

    def __call__(self, columns: Sequence[str]) -> ColumnReader:
        """Find the parts among the columns of a source.

        Args:
            columns: The columns of its first row.

        Returns:
            The reader of its rows.

        Raises:
            MissingColumn: If a column is missing.
            BenchmarkError: If it is not clear which option is right.
        """
        for part in self.named:  # what the user names, before anything is looked for
            part.getter(columns)
        complete = self._complete(columns)
        found = complete.choices if self.choices is None else None
        beyond = _next_column(found[-1].text) if isinstance(found, tuple) else None
        return ColumnReader(complete, columns, beyond)

    def _complete(self, columns: Sequence[str]) -> Columns:
        """The same with all fields that the source has."""
        right_first = self.key.reading == FIRST
        if isinstance(self.choices, tuple) and self.answer is None and not right_first:
            self._check_first([part.text for part in self.choices], _first(_ANSWERS, columns))
            right_first = True
        return replace(
            self,
            question=self.question or _found("question", _QUESTIONS, columns),
            choices=self.choices or _found_choices(columns),
            answer=None if right_first else self.answer or _found("answer", _ANSWERS, columns),
            shuffle=self.shuffle or right_first,
        )

    def _check_first(self, choices: Sequence[str], answer: str | None) -> None:
        """See that the first of several columns is meant to be the right answer.

        Args:
            choices: The columns of the options.
            answer: A column that may be the answer, if there is one.

        Raises:
            BenchmarkError: If nothing says that it is.
        """
        first, *others = choices
        if answer is not None and answer not in choices:
            instead = f"There is a column {answer!r}: give 'answer': {answer!r}"
        elif not _is_right(first) or any(map(_is_right, others)):
            instead = "Name the column of the answer with 'answer'"
        else:
            return
        raise BenchmarkError(
            f"{self.name}: 'choices' names a column for each option, and 'answer' is missing. {instead}. If the first "
            f"column, {first!r}, is always right, give 'answer_is': 'first'"
        )

    @property
    def named(self) -> list[Field]:
        """The fields that hold the question, its options and the answer."""
        choices = self.choices if isinstance(self.choices, tuple) else (self.choices,)
        return [part for part in (self.question, *choices, self.answer) if part is not None]


def _is_right(column: str) -> bool:
    """Whether the name of a column says that it holds right answers."""
    return _RIGHT.search(column) is not None and _WRONG.search(column) is None


def _first(names: Iterable[str], columns: Sequence[str]) -> str | None:
    return next((column for name in names if (column := find_column(name, columns)) is not None), None)


def _found(part: str, names: Sequence[str], columns: Sequence[str]) -> Field:
    column = _first(names, columns)
    if column is None:
        expected = " or ".join(map(repr, names[:2])) + (", or A, B, C, ..." if part == "choices" else "")
        raise MissingColumn(
            f"no column for the {part}: expected {expected}. Name it with '{part}': 'COLUMN'."
            f"{did_you_mean(part, columns)}"
        )
    return Field(column)


def _found_choices(columns: Sequence[str]) -> Field | tuple[Field, ...]:
    if _first(_CHOICES, columns) is None and (several := _option_columns(columns)):
        return several
    return _found("choices", _CHOICES, columns)


def _option_columns(columns: Sequence[str]) -> tuple[Field, ...]:
    """The columns A, B, C, ... or option_a, option_b, ..., if there are at least two from A on."""
    by_prefix: dict[str, dict[str, str]] = {}
    for column in columns:
        if isinstance(column, str) and (found := _OF_AN_OPTION.fullmatch(column.strip())):
            prefix = column.strip()[:-1].casefold()
            by_prefix.setdefault(prefix, {}).setdefault(found[1].upper(), column)
    for named in by_prefix.values():
        letters = LETTERS[: len(named)]
        if len(named) > 1 and sorted(named) == list(letters):
            return tuple(Field(named[letter]) for letter in letters)
    return ()


class ColumnReader:
    """Reader of a source whose columns are known; see RowReader.

    Args:
        columns: Where the parts are, complete.
        names: The columns of the first row.
        beyond: The column that would hold one more option, where columns of options were found and not named.
    """

    def __init__(self, columns: Columns, names: Sequence[str], beyond: str | None = None) -> None:
        self._columns = columns
        self._beyond = beyond
        self._mended = Mended(columns.repairs)
        self._keep = [(column, Field(column).getter(names), values) for column, values in columns.keep.items()]
        self._stem = _getter(columns.question, names)
        self._each: list[Getter] = []
        if isinstance(columns.choices, tuple):
            self._each = [part.getter(names) for part in columns.choices]
        else:
            self._choices = _getter(columns.choices, names)
        self._labels = _getter(columns.labels, names)
        self._answer = _getter(columns.answer, names)
        self._check = _getter(columns.answer_check, names)
        self._id = columns.id.getter(names) if columns.id else _optional("id", names)
        self._category = columns.category.getter(names) if columns.category else _optional("category", names)

    def read(self, row: Row, default_id: str, where: str) -> Draft:
        """Take the parts of a question from a row."""
        for column, get, values in self._keep:
            if _kept(value := get(row)) not in values:
                raise NotKept(f"{column} {shorten(repr(value))}")
        stem = self._stem(row)
        if not isinstance(stem, str):
            raise UnusableQuestion("a question that is not text", f"it is {shorten(repr(stem))}")
        if self._beyond is not None and not _is_blank(row.get(self._beyond)):
            raise MissingColumn(
                f"a column {self._beyond!r} with an option, which the first row lacks. Name all columns of options "
                "with 'choices'."
            )
        options = self._options(row)
        if not options.texts:
            raise UnusableQuestion("no options", f"in {shorten(stem)!r}")
        labels = _texts(self._labels(row), "labels") if self._columns.labels else options.labels
        if labels is not None and len(labels) != len(options.texts):
            raise UnusableQuestion(
                "as many labels as options are needed", f"{len(labels)} labels for {len(options.texts)} options"
            )
        if labels is not None and len(set(labels)) < len(labels):
            raise UnusableQuestion("labels that are repeated", shorten(", ".join(labels)))
        return Draft(
            id=_text_or(self._id(row), default_id),
            stem=stem,
            options=tuple(map(option_text, options.texts)),
            labels=None if labels is None else tuple(labels),
            answer=self._answer(row),
            check=self._check(row),
            category=_text_or(self._category(row), ""),
            where=where,
        )

    def _options(self, row: Row) -> Options:
        if not self._each:
            return read_options(self._choices(row), self._columns.separator)
        cells = [get(row) for get in self._each]
        while cells and _is_blank(cells[-1]):
            cells.pop()  # a question with fewer options than others
        return Options(cells)

    def finish(self, drafts: Sequence[Draft]) -> tuple[list[Result], list[str]]:
        """Read the answers and make the questions."""
        columns = self._columns
        key = columns.key if columns.answer else AnswerKey(reading=FIRST)
        places, notes = key.settle(drafts, columns.name)
        results = [self._question(draft, place) for draft, place in zip(drafts, places, strict=True)]
        if not columns.published:
            notes += [*_alike(drafts), *_always_there(results)]
        return results, notes

    def _question(self, draft: Draft, place: int | UnusableQuestion) -> Result:
        if isinstance(place, UnusableQuestion):
            return place
        options = self._mended.options(draft.options)
        if self._columns.shuffle:
            order = list(in_random_order(range(len(options)), self._columns.name, draft.id))
            options, place = tuple(options[index] for index in order), order.index(place)
        try:
            return Question(draft.id, self._mended.stem(draft.stem), options, place, draft.category)
        except UnusableQuestion as error:
            return error


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _next_column(last: str) -> str:
    """The column of the next option: after "option_d" comes "option_e"."""
    return last[:-1] + chr(ord(last[-1]) + 1)


def _kept(value: object) -> str:
    """A value as `keep` compares it: 1.0 is 1."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _getter(part: Any, names: Sequence[str]) -> Getter:
    return part.getter(names) if isinstance(part, Field) else _nothing


def _optional(name: str, names: Sequence[str]) -> Getter:
    """Read a column that rows may lack."""
    column = find_column(name, names) or name
    return lambda row: row.get(column)


def _nothing(row: Row) -> None:
    """The value of a part that a source does not have."""


def _texts(cell: Any, part: str) -> list[str]:
    found = read_options(cell).texts
    if any(isinstance(item, list | dict) for item in found):
        raise UnusableQuestion(f"{part} of another shape", f"expected a list of texts, got {shorten(repr(cell))}")
    return [str(item) for item in found]


def _text_or(value: object, default: str) -> str:
    return default if value is None or value == "" else str(value)


def _alike(drafts: Sequence[Draft]) -> list[str]:
    """A note if some questions have options that only case or white space tells apart."""
    places = []
    for draft in drafts:
        printed = {one_line(option) for option in draft.options}
        if len({"".join(option.split()).casefold() for option in printed}) < len(printed):
            places.append(draft.where)
    if not places:
        return []
    listed = ", ".join(places[:_NAMED]) + (", …" if len(places) > _NAMED else "")
    return [f"{len(places)} of {len(drafts)} questions have options that differ only in case or white space ({listed})"]


def _always_there(results: Sequence[Result]) -> list[str]:
    """A note if the right option is always at the same place."""
    places = {result.answer for result in results if isinstance(result, Question)}
    if len(results) < _ENOUGH or len(places) != 1:
        return []
    return [
        f"the right option is always {LETTERS[int(places.pop())]}, so a model that always picks this letter would be "
        "right in the original. 'shuffle': true gives the options of each question an order of their own"
    ]
