"""The columns of a table or file of answers: their names and values, and what the readers find in responses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from itertools import chain, islice
from sys import intern
from typing import Any, NamedTuple, get_args

from lm_eval_cora.answers.formats import LETTER
from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import Response, answer_and_format
from lm_eval_cora.bars import bar
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.cells import filled, parse_cell, read_options
from lm_eval_cora.questions.columns import find_column, option_columns, without_labels
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.question import LETTERS, SEQUENCES, Reader, UnusableQuestion, shorten
from lm_eval_cora.questions.right_option import AnswerKey, Draft
from lm_eval_cora.questions.rows import AT_ONCE, read_columns, read_rows
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.runs.printed import longest_run
from lm_eval_cora.variants.alterations import ORIGINAL

_TRUTH = {**dict.fromkeys(("true", "yes", "1", "1.0"), True), **dict.fromkeys(("false", "no", "0", "0.0"), False)}
_WAYS = (("correct",), ("picked", "answer"), ("response", "answer"))  # columns, of which one group is needed
_EXPECTED = (
    "'question' (an id), 'variant' (unless each question has one row), and 'correct' (or 'picked' and 'answer', or "
    "'response' and 'answer')"
)
_ORIGINALS = "Without 'original', or a variant or kind of this name, cora, ci, mcqa and others are undefined"
_EXACT = 2**53  # floats represent all whole numbers exactly up to this one


def _text(value: Any) -> str:
    """A value as text. A number becomes its text, so that 7, 7.0 and "7" are equal."""
    if type(value) is str or type(value) is int:
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a text or a number")
    return str(int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value)


def _text_unless_missing(value: Any) -> str | None:
    return None if value is None else _text(value)


def _text_or_none(value: Any) -> str | None:
    return None if value == "" else _text_unless_missing(value)


def _truth(value: Any) -> bool | None:
    if value is None or value is True or value is False:
        return value
    text = str(value + 0.0) if isinstance(value, float) else str(value).strip().lower()
    if text not in _TRUTH:
        raise ValueError("True or False (or yes, no, 1 or 0)")
    return _TRUTH[text]


def _share(value: Any) -> float | None:
    """A score from 0 to 1; True and False are 1 and 0."""
    if value is None:
        return None
    with suppress(TypeError, ValueError):
        if 0 <= (share := float(value)) <= 1:
            return share
    raise ValueError("a number from 0 to 1")


def _list(value: Any) -> tuple[str, ...] | None:
    if (items := parse_cell(value)) is None:
        return None
    if type(items) is list and set(map(type, items)) <= {str}:  # most lists
        return tuple(map(intern, items))
    try:
        texts, labels = read_options(items)
    except UnusableQuestion:
        raise ValueError("a list of options") from None
    if labels and not LETTERS.startswith("".join(labels)):
        raise ValueError("a list of options, and labels other than A, B, C in the column 'labels'")
    return tuple(intern(_text(text)) for text in texts)


def _right(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        raise ValueError("one right option. Leave out questions with two right options or more")
    return _text_unless_missing(value)


class Column(NamedTuple):
    """A column of answers: description of its values, function that converts a value, names, and names to suggest."""

    about: str
    read: Callable[[Any], Any]
    names: tuple[str, ...] = ()
    like: str = ""  # names that it may have elsewhere, separated by spaces


COLUMNS: Mapping[str, Column] = {
    "question": Column("id of the question", _text, ("question_id", "question"), "id qid idx item item_id doc_id"),
    "variant": Column(
        "number or name of the variant, different for each variant of a question. Names that questions share, such as "
        "original and shuffled, are also the kinds",
        _text,
        ("variant", "ordinal"),
        "perm permutation variation variant_id version order repetition",
    ),
    "correct": Column(
        "whether the answer is right; a missing value is a skipped variant",
        _truth,
        like="ok is_correct hit acc",
    ),
    "original": Column(
        "whether the variant is the original question; for cora, ci and mcqa. Without it, the kind or variant named "
        "original is the original",
        _truth,
        like="is_original",
    ),
    "picked": Column(
        "the option that the answer picks; a missing or empty value is an invalid answer",
        _text_or_none,
        like="pick chosen selected prediction predicted pred",
    ),
    "answer": Column("the right option", _right, like="gold target label correct_answer right_answer solution"),
    "printed": Column(
        "list of the options that the variant prints", _list, ("printed", "options", "choices"), "opts alternatives"
    ),
    "kind": Column("kind of the variant, such as shuffled, if a question has several variants of a kind", _text),
    "category": Column("category of the question", _text_or_none),
    "cluster": Column("what the question shares with others, such as a passage: the unit of the errors", _text_or_none),
    "followed": Column("whether the response follows the format", _truth),
    "reader": Column("name of the reader that read the response; with responses flexible or strict", _text_or_none),
    "response": Column(
        """what the model wrote, instead of picked; needs the answer and the options. An empty text is an invalid
        answer, null a skipped variant""",
        _text_unless_missing,
        like="output completion generation generated_text model_output reply text",
    ),
    "prompt": Column("the prompt of a response, if the options stand only there", _text_or_none),
    "labels": Column("list of the labels of the options of a response, if they are not A, B, C", _list),
    "cut_off": Column("whether the token limit ended the response", _truth),
    "came": Column("what came instead of a response, such as a timeout: why the answer is invalid", _text_or_none),
    "own": Column("score from 0 to 1 that another program gave the answer, to compare with", _share),
    "confidence": Column("confidence of the answer, from 0 to 1", _share, like="probability prob certainty"),
    "model": Column("name of the model, if there are several", _text_or_none),
}
"""All columns of answers."""

RAW = ("response", "prompt", "labels", "cut_off", "came")  # columns that are used only if the responses are read here

# Columns that may be missing in some rows of a JSON file
_MAY_BE_ABSENT = {"printed", "category", "cluster", "followed", "reader", "own", "confidence", *RAW[1:]}
_FOUND = ("reason", "rule", "span")  # what the readers of responses find
_ABSENT = object()  # marks a key that is missing in a row
_MISSING = {"NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"}  # texts that may mean a missing value
_WHOLE = re.compile(r"-?(?:0|[1-9]\d*)(?:\.0)?")


class AnswerColumns:
    """The columns of a table or file of answers with their usual names and values; None is a missing value."""

    equal_prompts = False  # whether the variants of a question have the same prompt

    def __init__(self, data: Any, given: Mapping[str, Any] | None, option: str = "{}=") -> None:
        """Read a source; `option` is how a message writes the argument that names a column."""
        source = str(data) if isinstance(data, (str, os.PathLike)) else type(data).__name__
        is_table = source.lower().endswith((".csv", ".tsv"))
        found, self._where = _read(data, source)
        self.source = source
        self.names = _find(found, given, source, option)  # of each column in the source
        self.is_raw = "response" in self.names  # the picks are still to be read
        self.key = AnswerKey()  # how the answers name the right options
        count = len(found[self.names["question"]])
        self._order: Sequence[int] = range(count)
        # Why a response is invalid, and the rule and characters that decided, if responses are read here.
        self.values: dict[str, list[Any]] = dict.fromkeys((*_FOUND, *COLUMNS), [None] * count)
        if "variant" not in self.names:
            self.values["variant"] = [ORIGINAL] * count
        for column in filter(self.names.__contains__, COLUMNS):
            values = found[self.names[column]]
            if _ABSENT in values and column not in _MAY_BE_ABSENT:
                raise UserError(
                    f"{self.where(values.index(_ABSENT))}: the key {self.names[column]!r} is missing, but "
                    "other rows have it. Give every row the same keys"
                )
            # A csv file cannot tell an empty cell from a missing value.
            is_missing_if_empty = is_table and column != "response"
            if _ABSENT in values or (is_missing_if_empty and not all(values)):
                values = [
                    None if value is _ABSENT or (is_missing_if_empty and not value) else value for value in values
                ]
            self.values[column] = values
            converted: list[Any] = []
            different = _different(values)
            try:
                converted.extend(map(COLUMNS[column].read, different))
            except ValueError as error:
                wrong = len(converted)
                row = wrong if different is values else values.index([*different][wrong])
                raise self.error(row, column, str(error)) from None
            known = {} if different is values else dict(zip(different, converted, strict=True))
            self.values[column] = list(map(known.__getitem__, values)) if known else converted
        if "picked" in self.names:
            self._read_picks()

    def sort(self, order: Sequence[int]) -> None:
        """Sort the rows, or choose some."""
        lists = {id(values): values for values in self.values.values()}  # columns that are missing are one list
        ordered = {key: list(map(values.__getitem__, order)) for key, values in lists.items()}
        self.values = {name: ordered[id(values)] for name, values in self.values.items()}
        self._order = list(map(self._order.__getitem__, order))

    def by_model(self) -> dict[str, AnswerColumns]:
        """The rows of each model; the name is empty if the source does not name models."""
        if "model" not in self.names:
            return {"": self}
        if None in self.values["model"]:
            raise self.error(self.values["model"].index(None), "model", "the name of the model")
        rows = grouped_by(range(len(self._order)), self.values["model"].__getitem__)
        parts = {model: copy(self) for model in rows}
        for model, part in parts.items():
            part.sort(rows[model])
        return parts

    def where(self, row: int) -> str:
        """The place of a row in the source."""
        return self._where(self._order[row])

    def error(self, row: int, column: str, expected: str) -> UserError:
        """Make an error about the value of a column in a row."""
        got = shorten(repr(self.values[column][row]), 200)
        return UserError(f"{self.where(row)}: column {self.names[column]!r}: expected {expected}, got {got}")

    def _read_picks(self) -> None:
        """Give whole numbers one form, and refuse texts that may mean a missing value."""
        picks, answers, lists = (self.values[name] for name in ("picked", "answer", "printed"))
        # pandas writes 3 as 3.0 if a value of the column is missing, so both are equal among whole numbers.
        texts = {*picks, *answers} - {None}
        if all(map(_WHOLE.fullmatch, chain(texts, chain.from_iterable(filter(None, lists))))):
            texts.update(*filter(None, lists))
            whole = {None: None, **{text: intern(text.removesuffix(".0")) for text in texts}}
            for values in (picks, answers):
                values[:] = map(whole.__getitem__, values)
            lists[:] = [shown and tuple(map(whole.__getitem__, shown)) for shown in lists]
        doubtful = _MISSING & texts - {*answers}
        for row, (pick, shown) in enumerate(zip(picks, lists, strict=True) if doubtful else ()):
            if pick in doubtful and pick not in (shown or ()):
                expected = "an option, or a missing value if the answer is invalid (a column 'printed' has all options)"
                raise self.error(row, "picked", expected)
        self._read_letters()

    def _read_letters(self) -> None:
        """Replace letters of printed options by the options; refuse letters of reordered ones if these are unknown."""
        picks, answers, lists = (self.values[name] for name in ("picked", "answer", "printed"))
        found = {*map(_bare, {*picks, *answers} - {None})}
        labels = next((one for one in map(str.split, map(str.upper, SEQUENCES)) if {one[0]} <= found <= {*one}), None)
        if labels is None or any(pick in (shown or ()) for pick, shown in zip(picks, lists, strict=True)):
            return
        for values in (picks, answers):
            pairs = zip(values, lists, strict=True)
            values[:] = [
                text and dict(zip(labels, shown or (), strict=False)).get(_bare(text), text) for text, shown in pairs
            ]
        rows = zip(self.values["question"], picks, answers, self.values["correct"], strict=True)
        rights = {(question, right or pick) for question, pick, right, is_right in rows if right or (pick and is_right)}
        if "printed" not in self.names and len(dict(rights)) < len(rights):
            raise UserError(
                f"{self.source}: column {self.names['picked']!r}: expected options, got letters: the right one changes "
                "within a question, so the options are reordered, and equal letters are different options. Add a "
                "column 'printed' with the list of options of each row in printed order, or write their texts"
            )


def _bare(label: str) -> str:
    """A label of an option without case and punctuation."""
    return label.strip(" ()[].:").upper()


def _read(data: Any, source: str) -> tuple[dict[str, list[Any]], Callable[[int], str]]:
    """The columns of a table or file, and a function that names the place of a row."""
    columns: dict[str, list[Any]] = {}
    places: list[str] = []
    try:
        known = read_columns(data)
        if known and any(known[0].values()):
            return known
        located = read_rows(data)
        while some := [*islice(located, AT_ONCE)]:  # all rows at once would fill the memory
            for name in dict.fromkeys(chain.from_iterable(row for _, row in some)):
                column = columns.setdefault(name, [_ABSENT] * len(places))
                values = [row.get(name, _ABSENT) for _, row in some]
                column += [None if value != value else value for value in values]  # nan, which JSON files can have
            places += [place for place, _ in some]
            for column in columns.values():
                column += [_ABSENT] * (len(places) - len(column))
    except UserError as error:
        raise UserError(str(error).removeprefix("data_files: ")) from None
    if not places:  # without rows there are no columns
        raise UserError(f"{source}: expected at least one answer, got none")
    return columns, places.__getitem__


def _different(values: list[Any]) -> Collection[Any]:
    """The different values; all values if they are not of one simple type."""
    types = set(map(type, values)) - {type(None)}
    return values if len(types) > 1 or not types <= {str, int, float, bool} else dict.fromkeys(values)


def _option_columns(found: Mapping[str, Any], names: Mapping[str, Any]) -> list[str]:
    """The columns with one option each, such as A, B and C: those that are named, else those of responses."""
    named = names.get("printed")
    if named is None:
        return option_columns([*found]) if "response" in names else []
    if isinstance(named, str):
        named = named.split(",") if "," in named and named not in found else ()
    return [name.strip() for name in named]


def _find(found: dict[str, list[Any]], given: Mapping[str, Any] | None, source: str, option: str) -> dict[str, str]:
    """The name in the source of each column that it has. Options in columns of their own are joined to one column."""
    own = [*found]
    names = {column: name for column, name in (given or {}).items() if name is not None}
    if names.get("reader") in get_args(Reader) and names["reader"] not in found:
        del names["reader"]
    for column, about in COLUMNS.items():
        if usual := [name for usual in about.names or (column,) if (name := find_column(usual, own))]:
            names.setdefault(column, usual[0])
    if each := _option_columns(found, names):
        names.pop("printed", None)
    for column, name in [*names.items(), *(("printed", name) for name in each)]:
        if name not in found:
            meant = did_you_mean(str(name), found.keys() - names.values())
            unknown = f"{source}: {option.format(column)}{name!r}: there is no such column"
            raise UserError(f"{unknown}.{meant} The columns are {', '.join(map(repr, own))}")
    if each:
        names["printed"] = f"{each[0]} to {each[-1]}"
        cells = ([None if cell is _ABSENT else cell for cell in found[name]] for name in each)
        found[names["printed"]] = [filled(row) for row in zip(*cells, strict=True)]
    if "correct" in names or "picked" in names or not {"response", "answer"} <= names.keys():
        names = {column: name for column, name in names.items() if column not in RAW}
    elif "kind" in names:
        names.setdefault("variant", names["kind"])
    needed = [column for column in ("question", "variant") if column not in names]
    if needed == ["variant"]:
        answered = (found[names[column]] for column in ("question", "model") if column in names)
        rows = [*map(repr, zip(*answered, strict=True))]
        needed = needed if len({*rows}) < len(rows) else []  # each row is an original
    has_answers = any(names.keys() >= set(way) for way in _WAYS)
    if has_answers and not needed:
        return names
    likely = _meant(names, own)
    if not has_answers:
        needed += next((way for way in _WAYS if all(likely.get(name, name) for name in way)), _WAYS[0])
    fitting = [f"{option.format(name)}{like or 'COLUMN'}" for name, like in likely.items() if like or name in needed]
    raise UserError(
        f"{source}: expected the columns {_EXPECTED}; got {', '.join(map(repr, own)) or 'none'}. "
        f"{'Rename yours (new=old)' if given is None else 'Name yours'}: {', '.join(fitting)}. {_ORIGINALS}"
    )


def _meant(names: Mapping[str, str], own: Sequence[str]) -> dict[str, str]:
    """The name in the source that may mean each column that was not found; empty if there is none."""
    words = {name: (name, *about.like.split()) for name, about in COLUMNS.items() if name not in names}
    return {name: next((column for column in own if column.lower() in words[name]), "") for name in words}


# ---- responses, read by the readers of the harness' tasks
# The end of messages about right options, which names options of tasks.
_ADVICE = re.compile(r"\. (?:If they do, s|S|Write all answers in the same way, or s)et 'answer_\w+'.*", re.DOTALL)


def read_raw(columns: AnswerColumns, reader: Reader) -> None:
    """Fill all columns that depend on the responses."""
    values = columns.values
    if not {"printed", "prompt"} & columns.names.keys():
        raise UserError(
            f"{columns.source}: expected the options of each response: a column 'options' or 'choices' with "
            "lists, one for each option (A, B, ...), or the column 'prompt'"
        )
    drafts, keyed, _ = without_labels([_draft(columns, row) for row in range(len(values["response"]))])
    rights = _right_options(columns, keyed)
    read = ("picked", "correct", "followed", "printed")
    columns.names = {**dict.fromkeys(read, columns.names["response"]), **columns.names}
    values |= {name: [None] * len(drafts) for name in (*read, *_FOUND)}
    values["reader"] = [reader] * len(drafts)
    known = (values[name] for name in ("response", "cut_off", "prompt", "came"))
    rows = zip(drafts, rights, *known, strict=True)
    shown = bar(rows, "reading", len(drafts), unit="response")
    for row, (draft, right, text, cut_off, prompt, came) in enumerate(shown):
        if text is None:
            continue  # a skipped variant
        doc = {"ask": LETTER.name, "printed": range(len(draft.options)), "choices": draft.options}
        if draft.labels and not LETTERS.startswith("".join(draft.labels)):
            doc["labels"] = draft.labels
        response = Response(text, cut_off=cut_off, opened=opens_reasoning(prompt or ""), came=came or "")
        answer, followed = answer_and_format(doc, response, reader)
        values["picked"][row] = None if answer.position is None else draft.options[answer.position]
        values["correct"][row] = values["picked"][row] == draft.options[right]  # equal options are one
        values["followed"][row] = followed
        values["reason"][row] = answer.reason
        values["rule"][row] = answer.rule
        values["span"][row] = answer.span
    values["printed"] = [draft.options for draft in drafts]
    values["answer"] = [draft.options[right] for draft, right in zip(drafts, rights, strict=True)]


def _draft(columns: AnswerColumns, row: int) -> Draft:
    """The options of a row, from their column or from the prompt, and its answer."""
    values = columns.values
    options, prompt, answer = values["printed"][row], values["prompt"][row], values["answer"][row]
    found = longest_run(prompt) if prompt else None
    if options is None and found is None:
        where = "column 'prompt': expected options such as \"A. ...\"" if prompt else "expected a list of options"
        raise UserError(f"{columns.where(row)}: {where}, got {shorten(repr(prompt), 200)}")
    if options is not None and found is not None and len(options) != len(found.options):
        raise columns.error(row, "printed", f"the {len(found.options)} options that the prompt prints")
    options = found.options if options is None and found else options
    least, most = LETTER.shows
    if not least <= len(options) <= most:
        raise UserError(f"{columns.where(row)}: expected {least} to {most} options, got {len(options)}")
    labels = values["labels"][row] or (found.labels if found else None)
    if labels and not len(labels) == len(set(labels)) == len(options):
        raise columns.error(row, "labels", f"a different label for each of the {len(options)} options")
    return Draft(values["question"][row], "", options, labels, answer, None, "", columns.where(row))


def _right_options(columns: AnswerColumns, drafts: Sequence[Draft]) -> list[int]:
    """The index of each right option; answers may be letters, labels, indices or texts."""
    how = ". Write the letter or the text of the right option in every row"
    try:
        places, doubts = columns.key.settle(drafts, columns.source)
    except UserError as error:
        raise UserError(_ADVICE.sub("", str(error)).rstrip(".") + how) from None
    if doubts:
        raise UserError(f"{columns.source}: {_ADVICE.sub('', doubts[0])}{how}")
    for draft, place in zip(drafts, places, strict=True):
        if isinstance(place, UnusableQuestion):
            raise UserError(f"{draft.where}: {place}. Correct this row, or leave it out")
    return [place for place in places if not isinstance(place, UnusableQuestion)]
