"""Read questions from the columns that a declaration names, or that have a usual name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import methodcaller
from typing import Any

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import filled, is_blank, option_text, parse_cell, read_options
from lm_eval_cora.questions.messages import described, did_you_mean, first_few
from lm_eval_cora.questions.question import (
    ALIKE,
    LETTERS,
    MissingColumn,
    NotKept,
    Question,
    Result,
    Row,
    UnusableQuestion,
    has_alike,
    shorten,
    shown,
)
from lm_eval_cora.questions.randomness import in_random_order
from lm_eval_cora.questions.repairs import REPAIRS, own_labels, repaired_options, repaired_stem
from lm_eval_cora.questions.right_option import ENOUGH, FIRST, AnswerKey, Draft

Getter = Callable[[Row], Any]  # returns the value of a field in a row


def _printable(value: Any) -> Any:
    """Raise an error for a missing value, which Jinja would print as "None"."""
    if value is None:
        from jinja2 import TemplateRuntimeError

        raise TemplateRuntimeError("it prints a missing value (None)")
    return value


@cache
def _sandbox() -> Any:
    """Jinja's sandbox. Few sources have templates, and Jinja is slow to import."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    found = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True, finalize=_printable)
    for name in ("random", "lipsum"):  # their results would differ between the ranks of a run
        found.filters.pop(name, None)
        found.globals.pop(name, None)
    return found


_EXPRESSION = re.compile(r"\A\s*\{\{[-+]?((?:(?!\{\{|\}\}|\{%|%\}).)*?)[-+]?\}\}\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Field:
    """A column, a path such as `choices.text`, or a Jinja template, with the columns and `row` as variables."""

    text: str

    def __post_init__(self) -> None:
        if self._is_template:
            _compiled(self.text)

    @property
    def _is_template(self) -> bool:
        return "{{" in self.text or "{%" in self.text

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns, or the path, that the field reads."""
        if not self._is_template:
            return (self.text,)
        from jinja2.meta import find_undeclared_variables

        variables = find_undeclared_variables(_sandbox().parse(self.text))
        return tuple(sorted(variables - {"row", *_sandbox().globals}))

    def getter(self, columns: Sequence[str], free: Sequence[str] | None = None) -> Getter:
        """Find the field among the columns of a source. An error suggests one of the `free` columns."""
        if self._is_template:
            return _compiled(self.text)
        whole = find_column(self.text, columns)
        first, *path = [self.text] if whole is not None else self.text.split(".")
        column = find_column(first, columns)
        if column is None:
            raise MissingColumn(f"no column {self.text!r}.{did_you_mean(self.text, columns if free is None else free)}")
        return partial(_at_path, column, path)


def find_column(name: str, columns: Iterable[str]) -> str | None:
    """Find a column by name: an exact match, or else the only match if case and outer white space are ignored."""
    if name in columns:
        return name
    plain = name.strip().casefold()
    similar = [column for column in columns if isinstance(column, str) and column.strip().casefold() == plain]
    return similar[0] if len(similar) == 1 else None


def _at_path(column: str, path: Sequence[str], row: Row) -> Any:
    """Follow a path through mappings and lists. A name after a list is looked up in each item of the list."""
    if column not in row:
        raise MissingColumn(f"no column {column!r}.")
    value, walked = row[column], column
    for name in path:
        value = parse_cell(value)
        try:
            if isinstance(value, Mapping):
                value = value[name]
            elif isinstance(value, str):
                raise TypeError
            else:
                value = value[int(name)] if name.isdecimal() else [item[name] for item in value]
        except (LookupError, TypeError):
            found = f"expected {name!r} in {walked}, got {shown(value)}"
            raise UnusableQuestion(f"no {walked}.{name}", found) from None
        walked = f"{walked}.{name}"
    return value


def _compiled(text: str) -> Getter:
    """Compile a template in Jinja's sandbox. The value of a single expression keeps its type."""
    from jinja2 import TemplateError, Undefined

    try:
        if single := _EXPRESSION.match(text):
            evaluate = _sandbox().compile_expression(single[1].strip(), undefined_to_none=False)
        else:
            evaluate = _sandbox().from_string(text).render
    except (TemplateError, SyntaxError, RecursionError, MemoryError, OverflowError, ValueError) as error:
        raise UserError(f"the template {shorten(text, 80)!r} cannot be compiled: {shorten(error, 200)}") from None

    def value_in(row: Row) -> Any:
        try:
            value = evaluate({**row, "row": row})
            if isinstance(value, Undefined):
                str(value)  # raises an error that names the missing column
        except Exception as error:
            problem = shorten(error.message if isinstance(error, TemplateError) else described(error), 140)
            raise UnusableQuestion("a template that fails", f"{problem} in {shorten(text, 80)!r}") from None
        return value

    return value_in


Fields = Mapping[str, tuple[Field, ...]]
"""The fields of the parts of a question: one each, but `choices` may have one per option."""

_USUAL = {
    "question": ("question", "question_stem", "stem"),
    "choices": ("choices", "options"),
    "answer": ("answer", "answerkey", "answer_key", "answer_idx", "answer_index", "correct_answer", "correct", "label"),
}
"""Usual names of the columns, for parts that are not declared."""

_RIGHT = re.compile(  # what the name of a column with right answers says
    "(?!.*(?:incorrect|wrong|untrue|false|distract|not)).*(?:correct|right|true|gold|best|answer|solution)",
    re.IGNORECASE | re.DOTALL,
)
_OF_AN_OPTION = re.compile(r"(?:option|choice|op|)[ _-]?[a-z]|(?:option|choice|op)[ _-]?\d", re.IGNORECASE)
_NEARLY_ALL = 0.9  # share of the questions whose options must have labels of their own for these to be removed


@dataclass(frozen=True)
class Columns:
    """The declaration of a dataset's columns."""

    name: str
    fields: Fields = field(default_factory=dict)
    key: AnswerKey = field(default_factory=AnswerKey)
    separator: str | None = None
    shuffle: bool = False
    shuffle_key: str = ""  # the name of the benchmark, unless it is that of a file, which must not change the order
    repairs: tuple[str, ...] = ()
    keep: Mapping[str, frozenset[str]] = field(default_factory=dict)
    published: bool = False  # its defects are known; other sources get warnings

    def reads(self, *parts: str) -> list[str]:
        """The columns and paths that the fields of some parts of a question read."""
        return [name for part in parts for one in self.fields.get(part, ()) for name in one.reads]

    def __call__(self, names: Sequence[str]) -> ColumnReader:
        """Find the fields among the columns of a source."""
        fields = dict(self.fields)
        used = {find_column(name.partition(".")[0], names) for name in self.reads(*fields)}
        free = [name for name in names if name not in used]  # suggested in errors
        for part in _USUAL:  # report wrong names of the user before searching for the other fields
            for one in fields.get(part, ()):
                one.getter(names, free)
        right_first = self.key.reading == FIRST
        has_answer = right_first or "answer" in fields
        if len(each := fields.get("choices", ())) > 1 and not has_answer:
            self._check_first([one.text for one in each], _first("answer", names))
            right_first = True
        beyond = None
        if "choices" not in fields and (options := option_columns(names)):
            fields["choices"] = tuple(map(Field, options))
            beyond = options[-1][:-1] + chr(ord(options[-1][-1]) + 1)  # "option_e" after "option_d"
        needed = ("question", "choices") if right_first else _USUAL
        for part in (part for part in needed if part not in fields):
            fields[part] = (_usual(part, names, free),)
        return ColumnReader(replace(self, fields=fields, shuffle=self.shuffle or right_first), names, beyond)

    def _check_first(self, choices: Sequence[str], answer: str | None) -> None:
        """Check that the name of the first option column alone says that it contains the right answers."""
        first, *others = choices
        if answer is not None and answer not in choices:
            instead = f"If the column {answer!r} is the answer, set 'answer': {answer!r}"
        elif _RIGHT.match(first) and not any(map(_RIGHT.match, others)):
            return
        else:
            instead = "Name the column of the answer with 'answer'"
        raise UserError(
            f"{self.name}: 'choices' names one column per option, but 'answer' is missing. {instead}. If the first "
            f"column, {first!r}, always contains the right option, set 'answer_is': 'first'"
        )


def _first(part: str, names: Sequence[str]) -> str | None:
    """The first column with a usual name of a part."""
    return next((column for name in _USUAL[part] if (column := find_column(name, names)) is not None), None)


def _usual(part: str, names: Sequence[str], free: Sequence[str]) -> Field:
    if (column := _first(part, names)) is not None:
        return Field(column)
    expected = " or ".join(map(repr, _USUAL[part][:2])) + (", or A, B, C, ..." if part == "choices" else "")
    raise MissingColumn(
        f"no column for the {part}: expected {expected}. If it has another name, set '{part}': "
        f"'COLUMN'.{did_you_mean(part, free)}"
    )


def option_columns(names: Sequence[str]) -> list[str]:
    """Return the columns A, B, ... or option_a, ... or option1, ..., if none is skipped and no other column fits."""
    by_prefix: dict[str, dict[str, str]] = {}
    for name in names if _first("choices", names) is None else ():
        if isinstance(name, str) and (match := _OF_AN_OPTION.fullmatch(name.strip())):
            by_prefix.setdefault(match[0][:-1].casefold(), {}).setdefault(match[0][-1].upper(), name)
    for named in by_prefix.values():
        labels = "".join(sorted(named))
        if len(labels) > 1 and labels[0] in "A01" and labels in f"{LETTERS}0123456789":
            return [named[label] for label in labels]
    return []


class ColumnReader:
    """Converts rows with known columns to questions in two steps, because some decisions depend on all rows."""

    def __init__(self, columns: Columns, names: Sequence[str], beyond: str | None) -> None:
        self._columns, self._beyond = columns, beyond
        self._repairs = [REPAIRS[name] for name in columns.repairs]
        self._keep = [(column, Field(column).getter(names), values) for column, values in columns.keep.items()]
        self._get = {part: [one.getter(names) for one in each] for part, each in columns.fields.items()}
        for part in {"id", "category", "cluster"} - self._get.keys():  # rows may lack these columns
            self._get[part] = [methodcaller("get", find_column(part, names) or part)]

    def _cell(self, part: str, row: Row) -> Any:
        """The value of a part that has one field; None if it has none."""
        return self._get[part][0](row) if part in self._get else None

    def read(self, row: Row, default_id: str, where: str) -> Draft:
        """Extract the parts of a question from a row."""
        for column, get, values in self._keep:
            value = get(row)
            if str(int(value) if isinstance(value, float) and value.is_integer() else value) not in values:
                raise NotKept(f"{column} {shown(value)}")
        stem = self._cell("question", row)
        if not isinstance(stem, str):
            raise UnusableQuestion("a question that is not text", f"it is {shown(stem)}")
        if self._beyond is not None and not is_blank(row.get(self._beyond)):
            raise MissingColumn(
                f"expected the option columns of the first row, got an option in the column {self._beyond!r}, too. "
                "Name all option columns with 'choices'."
            )
        cells, separator = [get(row) for get in self._get["choices"]], self._columns.separator
        options, labels = (filled(cells), None) if len(cells) > 1 else read_options(cells[0], separator)
        if not options:
            raise UnusableQuestion("no options", f"in {shorten(stem)!r}")
        if "labels" in self._get:
            found, _ = read_options(cell := self._cell("labels", row))
            if any(isinstance(label, list | dict) for label in found):
                raise UnusableQuestion("labels in an unknown format", f"expected texts, got {shown(cell)}")
            labels = list(map(str, found))
        if labels is not None:
            if len(labels) != len(options):
                counts = f"expected {len(options)} labels, got {len(labels)}"
                raise UnusableQuestion("not as many labels as options", counts)
            if len(set(labels)) < len(labels):
                raise UnusableQuestion("repeated labels", shorten(", ".join(labels)))
        cells = [self._cell(part, row) for part in ("id", "category", "cluster")]
        identifier, category, cluster = ("" if cell is None else str(cell) for cell in cells)
        texts = tuple(map(option_text, options))
        answer, check = self._cell("answer", row), self._cell("answer_check", row)
        return Draft(identifier or default_id, stem, texts, labels, answer, check, category, where, cluster)

    def finish(self, drafts: Sequence[Draft]) -> tuple[list[Result], list[str]]:
        """Read the answers of all drafts and convert the drafts to questions."""
        columns = self._columns
        key = columns.key if "answer" in columns.fields else AnswerKey(reading=FIRST)
        plain, keyed, notes = drafts, drafts, list[str]()
        if not columns.published:
            plain, keyed, notes = without_labels(drafts)
        places, more = key.settle(keyed, columns.name)
        results = [self._question(draft, place) for draft, place in zip(plain, places, strict=True)]
        return results, [*notes, *more, *([] if columns.published else _suspicions(drafts, results))]

    def _question(self, draft: Draft, place: int | UnusableQuestion) -> Result:
        if isinstance(place, UnusableQuestion):
            return place
        options = repaired_options(draft.options, self._repairs)
        if self._columns.shuffle:
            order = list(in_random_order(range(len(options)), self._columns.shuffle_key, draft.id))
            options, place = tuple(options[index] for index in order), order.index(place)
        try:
            stem = repaired_stem(draft.stem, self._repairs)
            return Question(
                draft.id,
                stem,
                options,
                place,
                draft.category,
                draft.cluster,
                keeps_lines=not self._columns.published,
            )
        except UnusableQuestion as error:
            return error


def without_labels(drafts: Sequence[Draft]) -> tuple[Sequence[Draft], Sequence[Draft], list[str]]:
    """Remove labels such as "A)" from the options if nearly all questions have them.

    Returns:
        The questions, those in which to search for the answers, and a note.
    """
    found = [own_labels(draft.options) for draft in drafts]
    if (count := len(drafts) - found.count(None)) < max(1, _NEARLY_ALL * len(drafts)):
        return drafts, drafts, []
    plain = [draft if one is None else _plain(draft, *one) for draft, one in zip(drafts, found, strict=True)]
    place = next(place for place, one in enumerate(found) if one)
    note = (
        f"the options of {count} of {len(drafts)} questions have labels of their own, which are removed: "
        f"{shown(drafts[place].options[0])} is asked as {shown(plain[place].options[0])}"
    )
    # An answer that repeats an option with its label is searched among the options with labels.
    both = zip(drafts, plain, strict=True)
    keyed = [one if one.answer in one.options or one.check in one.options else other for one, other in both]
    return plain, keyed, [note]


def _plain(draft: Draft, labels: Sequence[str], options: tuple[str, ...]) -> Draft:
    """A question without the labels of its options. Those that are not letters may be its answer."""
    own = None if LETTERS.startswith("".join(labels).upper()) else labels
    return draft._replace(options=options, labels=draft.labels or own)


def _suspicions(drafts: Sequence[Draft], results: Sequence[Result]) -> list[str]:
    """Note equal options, equal questions with different answers, and a right option always in the same position."""
    both = zip(drafts, results, strict=True)
    questions = [(draft.where, result) for draft, result in both if isinstance(result, Question)]
    notes = []
    if alike := [where for where, one in questions if has_alike(one.choices)]:
        notes.append(f"{len(alike)} of {len(drafts)} questions have {ALIKE} ({first_few(alike)})")
    answers: dict[Any, dict[str, str]] = {}
    for where, question in questions:
        same = answers.setdefault((question.stem, frozenset(question.choices)), {})
        same.setdefault(question.right, where)
    if differing := [where for places in answers.values() if len(places) > 1 for where in places.values()]:
        notes.append(f"a question occurs again with another right option ({first_few(differing)})")
    positions = {question.answer for _, question in questions}
    if len(results) >= ENOUGH and len(positions) == 1:
        notes.append(
            f"the right option is always {LETTERS[positions.pop()]}, so a model that always picks this letter answers "
            "every original variant correctly. Set 'shuffle': true to ask each question's options in a random order"
        )
    return notes
