"""Read questions from the columns that a declaration names, or that have a usual name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import MissingColumn, NotKept, Result, Row
from lm_eval_cora.questions.cells import Choices, option_text, read_options
from lm_eval_cora.questions.fields import Field, Getter, find_column
from lm_eval_cora.questions.messages import did_you_mean, first_few
from lm_eval_cora.questions.question import LETTERS, Question, UnusableQuestion, shorten
from lm_eval_cora.questions.randomness import in_random_order
from lm_eval_cora.questions.repairs import Repairer, without_labels
from lm_eval_cora.questions.right_option import FIRST, AnswerKey, Draft

_QUESTIONS = ("question", "question_stem", "stem")
_CHOICES = ("choices", "options")
_ANSWERS = ("answer", "answerkey", "answer_key", "answer_idx", "answer_index", "correct_answer", "correct", "label")
_RIGHT = re.compile("correct|right|true|gold|best|answer|solution", re.IGNORECASE)
_WRONG = re.compile("incorrect|wrong|untrue|false|distract|not", re.IGNORECASE)

_OF_AN_OPTION = re.compile(r"(?:option|choice|op|)[ _-]?([a-z])", re.IGNORECASE)

_ENOUGH = 10
"""With this many questions or more, a right option that is always in the same position is suspicious."""

_NEARLY_ALL = 0.9
"""Share of the questions whose options must have labels of their own for these to be removed."""


@dataclass(frozen=True)
class Columns:
    """The fields of a row that contain the parts of a question.

    A question, choices or answer field that is None is searched under its usual names.

    Attributes:
        name: Name of the benchmark.
        question: The text before the options.
        choices: One field with all options, or one field per option. Without an answer field, the first of several
            fields is the right option if its name says so, as in "correct_answer".
        labels: The labels of the options in the source, such as "A" or "1".
        answer: The field that names the right option.
        answer_check: A second field that must name the same option.
        id: Id of the question; by default the column `id`, else split and row number.
        category: Subject or subset; by default the column `category`.
        key: How answers name the right option.
        separator: Separator of the options if they are one text.
        shuffle: Whether to put the options of each question in a random order that depends on `shuffle_key` and id.
        shuffle_key: The name of the benchmark; empty for files and tables without a name of their own, because the
            name of a file must not change the order.
        repairs: Names of the repairs to apply.
        keep: Allowed values by column. Rows with other values are left out.
        published: Whether the dataset is published and its defects are known. Other sources get warnings.
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
    shuffle_key: str = ""
    repairs: tuple[str, ...] = ()
    keep: Mapping[str, frozenset[str]] = field(default_factory=dict)
    published: bool = False

    def __call__(self, columns: Sequence[str]) -> ColumnReader:
        """Find the fields among the columns of a source."""
        fields = [*self.named, *filter(None, (self.labels, self.answer_check, self.id, self.category))]
        used = {find_column(name.partition(".")[0], columns) for part in fields for name in part.reads}
        free = [column for column in columns if column not in used]
        for part in self.named:  # report wrong names of the user before searching for the other fields
            part.getter(columns, free)
        complete = self._complete(columns, free)
        found = complete.choices if self.choices is None else None
        beyond = _next_column(found[-1].text) if isinstance(found, tuple) else None
        return ColumnReader(complete, columns, beyond)

    def _complete(self, columns: Sequence[str], free: Sequence[str]) -> Columns:
        """Return a copy in which the question, choices and answer fields are set; errors suggest `free` columns."""
        right_first = self.key.reading == FIRST
        if isinstance(self.choices, tuple) and self.answer is None and not right_first:
            self._check_first([part.text for part in self.choices], _first(_ANSWERS, columns))
            right_first = True
        return replace(
            self,
            question=self.question or _found("question", _QUESTIONS, columns, free),
            choices=self.choices or _option_columns(columns) or _found("choices", _CHOICES, columns, free),
            answer=None if right_first else self.answer or _found("answer", _ANSWERS, columns, free),
            shuffle=self.shuffle or right_first,
        )

    def _check_first(self, choices: Sequence[str], answer: str | None) -> None:
        """Check that the name of the first option column alone says that it contains the right answers."""
        first, *others = choices
        if answer is not None and answer not in choices:
            instead = f"If the column {answer!r} is the answer, set 'answer': {answer!r}"
        elif not _is_right(first) or any(map(_is_right, others)):
            instead = "Name the column of the answer with 'answer'"
        else:
            return
        raise UserError(
            f"{self.name}: 'choices' names one column per option, but 'answer' is missing. {instead}. If the first "
            f"column, {first!r}, always contains the right option, set 'answer_is': 'first'"
        )

    @property
    def named(self) -> list[Field]:
        """The fields of the question, the options and the answer that are set."""
        choices = self.choices if isinstance(self.choices, tuple) else (self.choices,)
        return [part for part in (self.question, *choices, self.answer) if part is not None]


def _is_right(column: str) -> bool:
    """Whether the name of a column says that it contains right answers."""
    return _RIGHT.search(column) is not None and _WRONG.search(column) is None


def _first(names: Iterable[str], columns: Sequence[str]) -> str | None:
    return next((column for name in names if (column := find_column(name, columns)) is not None), None)


def _found(part: str, names: Sequence[str], columns: Sequence[str], free: Sequence[str]) -> Field:
    column = _first(names, columns)
    if column is None:
        expected = " or ".join(map(repr, names[:2])) + (", or A, B, C, ..." if part == "choices" else "")
        raise MissingColumn(
            f"no column for the {part}: expected {expected}. If it has another name, set '{part}': 'COLUMN'."
            f"{did_you_mean(part, free)}"
        )
    return Field(column)


def _option_columns(columns: Sequence[str]) -> tuple[Field, ...]:
    """Return the columns A, B, C, ... or option_a, ..., if there are two or more, none is skipped and no other fits."""
    if _first(_CHOICES, columns) is not None:
        return ()
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
    """Reader of rows with known columns; see RowReader."""

    def __init__(self, columns: Columns, names: Sequence[str], beyond: str | None = None) -> None:
        self._columns = columns
        self._names = names
        self._filled: set[str] = set()
        self._beyond = beyond
        self._repairer = Repairer(columns.repairs)
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
        """Extract the parts of a question from a row."""
        self._filled.update(name for name, cell in row.items() if not _is_blank(cell))
        for column, get, values in self._keep:
            if _kept(value := get(row)) not in values:
                raise NotKept(f"{column} {shorten(repr(value))}")
        stem = self._stem(row)
        if not isinstance(stem, str):
            raise UnusableQuestion("a question that is not text", f"it is {shorten(repr(stem))}")
        if self._beyond is not None and not _is_blank(row.get(self._beyond)):
            raise MissingColumn(
                f"expected the option columns of the first row, got an option in the column {self._beyond!r}, too. "
                "Name all option columns with 'choices'."
            )
        options = self._options(row)
        if not options.texts:
            raise UnusableQuestion("no options", f"in {shorten(stem)!r}")
        labels = _texts(self._labels(row), "labels") if self._columns.labels else options.labels
        if labels is not None and len(labels) != len(options.texts):
            raise UnusableQuestion(
                "not as many labels as options", f"expected {len(options.texts)} labels, got {len(labels)}"
            )
        if labels is not None and len(set(labels)) < len(labels):
            raise UnusableQuestion("repeated labels", shorten(", ".join(labels)))
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

    def _options(self, row: Row) -> Choices:
        if not self._each:
            return read_options(self._choices(row), self._columns.separator)
        cells = [get(row) for get in self._each]
        while cells and _is_blank(cells[-1]):
            cells.pop()  # this question has fewer options than others
        return Choices(cells)

    def finish(self, drafts: Sequence[Draft]) -> tuple[list[Result], list[str]]:
        """Read the answers of all drafts and convert the drafts to questions."""
        columns = self._columns
        key = columns.key if columns.answer else AnswerKey(reading=FIRST)
        plain, notes = drafts, list[str]()
        if not columns.published:
            self._check_filled()
            plain, notes = _without_labels(drafts)
        # An answer that repeats an option with its label is searched among the options with labels.
        keyed = [
            draft if draft.answer in draft.options or draft.check in draft.options else other
            for draft, other in zip(drafts, plain, strict=True)
        ]
        places, more = key.settle(keyed, columns.name)
        results = [self._question(draft, place) for draft, place in zip(plain, places, strict=True)]
        if not columns.published:
            more += [*_doubtful(drafts, results), *_always_same_position(results)]
        return results, notes + more

    def _check_filled(self) -> None:
        """Raise an error if the column of the question, the choices or the answer is empty in every row."""
        for part in ("question", "choices", "answer"):
            declared = getattr(self._columns, part)
            column = find_column(declared.text, self._names) if isinstance(declared, Field) else None
            if column is not None and column not in self._filled:
                others = ", ".join(repr(name) for name in self._names if name in self._filled)
                raise UserError(
                    f"{self._columns.name}: the column {column!r} is empty in every row. Set {part!r} to a column with "
                    f"values: {others}"
                )

    def _question(self, draft: Draft, place: int | UnusableQuestion) -> Result:
        if isinstance(place, UnusableQuestion):
            return place
        options = self._repairer.options(draft.options)
        if self._columns.shuffle:
            order = list(in_random_order(range(len(options)), self._columns.shuffle_key, draft.id))
            options, place = tuple(options[index] for index in order), order.index(place)
        try:
            return Question(draft.id, self._repairer.stem(draft.stem), options, place, draft.category)
        except UnusableQuestion as error:
            return error


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _next_column(last: str) -> str:
    """Return the name of the next option column: "option_e" after "option_d"."""
    return last[:-1] + chr(ord(last[-1]) + 1)


def _kept(value: object) -> str:
    """Convert a value to the text that `keep` compares. 1.0 becomes "1"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _getter(part: Any, names: Sequence[str]) -> Getter:
    return part.getter(names) if isinstance(part, Field) else _nothing


def _optional(name: str, names: Sequence[str]) -> Getter:
    """Return a getter for a column that rows may lack."""
    column = find_column(name, names) or name
    return lambda row: row.get(column)


def _nothing(row: Row) -> None:
    """Return None, the value of a part that the source does not have."""


def _texts(cell: Any, part: str) -> list[str]:
    found = read_options(cell).texts
    if any(isinstance(item, list | dict) for item in found):
        raise UnusableQuestion(f"{part} in an unknown format", f"expected a list of texts, got {shorten(repr(cell))}")
    return [str(item) for item in found]


def _text_or(value: object, default: str) -> str:
    return default if value is None or value == "" else str(value)


def _without_labels(drafts: Sequence[Draft]) -> tuple[Sequence[Draft], list[str]]:
    """Remove labels such as "A)" from the options if nearly all questions have them, and note it."""
    plain = [without_labels(draft.options) for draft in drafts]
    if (count := len(drafts) - plain.count(None)) < max(1, _NEARLY_ALL * len(drafts)):
        return drafts, []
    changed = [draft if one is None else draft._replace(options=one) for draft, one in zip(drafts, plain, strict=True)]
    first = next(place for place, one in enumerate(plain) if one is not None)
    before, after = (shorten(repr(some[first].options[0])) for some in (drafts, changed))
    return changed, [
        f"the options of {count} of {len(drafts)} questions have labels of their own, which are removed: {before} is "
        f"asked as {after}"
    ]


def _doubtful(drafts: Sequence[Draft], results: Sequence[Result]) -> list[str]:
    """Return a note if options are (almost) equal, and one if the same question has different right options."""
    alike = []
    answers: dict[Any, dict[str, str]] = {}
    for draft, result in zip(drafts, results, strict=True):
        if isinstance(result, Question):
            if len({"".join(choice.split()).casefold() for choice in result.choices}) < len(result.choices):
                alike.append(draft.where)
            same = answers.setdefault((result.stem, frozenset(result.choices)), {})
            same.setdefault(result.choices[result.answer], draft.where)
    notes = []
    if alike:
        what = "options that are equal or differ only in case or white space"
        notes.append(f"{len(alike)} of {len(drafts)} questions have {what} ({first_few(alike)})")
    if differing := [where for places in answers.values() if len(places) > 1 for where in places.values()]:
        notes.append(f"a question occurs again with another right option ({first_few(differing)})")
    return notes


def _always_same_position(results: Sequence[Result]) -> list[str]:
    """Return a note if the right option is always in the same position."""
    places = {result.answer for result in results if isinstance(result, Question)}
    if len(results) < _ENOUGH or len(places) != 1:
        return []
    return [
        f"the right option is always {LETTERS[int(places.pop())]}, so a model that always picks this letter answers "
        "every original variant correctly. Set 'shuffle': true to put the options of each question in a random order"
    ]
