"""Answers collected without the harness: a table or file -> ResponseTable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.responses import IDENTITIES, INVALID, NO_PICK, Bools, Ints, ResponseTable
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.answer_columns import AnswerColumns, read_columns
from lm_eval_cora.variants.alterations import ORIGINAL

_MOST_PAIRS = 50_000_000
"""Largest number of pairs of equal answers, which bounds the memory."""


_MOST_KINDS = 60
"""Largest number of names of variants that are taken as kinds."""


class AnswerRows(NamedTuple):
    """The answers in a table or file.

    Attributes:
        table: The answers.
        known: The columns of `answer_columns.COLUMNS` that the data have, or whose values follow from others.
        readers: The different names in the column `reader`.
        columns: The columns as they are in the data.
        order: (R,) the row of each answer, sorted by question and variant. R includes the questions that the table
            leaves out.
        right: (R,) whether each row is a right answer.
        skipped: (R,) whether each row is a skipped variant.
        original: (R,) whether each row is the original of its question; None if unknown.
    """

    table: ResponseTable
    known: frozenset[str]
    readers: tuple[str, ...]
    columns: AnswerColumns
    order: Ints
    right: Bools
    skipped: Bools
    original: Bools | None


def read_answers(data: Any, names: Mapping[str, str | None] | None = None, option: str = "{}=") -> AnswerRows:
    """Read answers, one per row."""
    columns = read_columns(data, names, option)
    questions, variants = columns.texts("question"), columns.texts("variant")
    order, ids, sizes = _sorted(questions, variants, columns)
    picked = columns.texts_or_none("picked") if columns.has("picked") else None
    right, skipped = _right_and_skipped(columns, picked)
    more: dict[str, Any] = {"skipped": skipped[order]}
    kinds = columns.texts("kind") if columns.has("kind") else variants if _are_kinds(variants) else None
    if kinds is not None:
        codes = {kind: code for code, kind in enumerate(dict.fromkeys(kinds[row] for row in order))}
        more |= {"kinds": tuple(codes), "kind": np.array([codes[kinds[row]] for row in order], dtype=np.int64)}
    original = _originals(columns, questions, [] if kinds is None else kinds, variants)
    if original is not None:
        more["original"] = original[order]
    if columns.has("category"):
        categories = columns.texts_or_none("category")
        _check_categories(columns, questions, categories)
        more["categories"] = tuple(categories[row] or "" for row in order[np.cumsum(sizes) - sizes])
    if columns.has("followed"):
        followed = [nan if one is None else float(one) for one in columns.truths("followed")]
        more["followed"] = np.array(followed)[order]
    if picked is not None:
        more |= _picks(columns, picked, skipped, order, sizes)
    table = ResponseTable.from_columns(ids, sizes, right[order], **more).begun()
    readers = {name for name in columns.texts_or_none("reader") if name} if columns.has("reader") else set()
    inferred = {name for name, values in (("original", original), ("kind", kinds)) if values is not None}
    known = frozenset(columns.values) | inferred
    return AnswerRows(table, known, tuple(sorted(readers)), columns, order, right, skipped, original)


def _are_kinds(variants: Sequence[str]) -> bool:
    """Whether the names of variants are kinds: few different names, not all of them numbers, that questions share."""
    names = set(variants)
    return len(names) <= min(_MOST_KINDS, len(variants) // 2) and not all(map(_is_whole, names))


def _sorted(questions: Sequence[str], variants: Sequence[str], columns: AnswerColumns) -> tuple[Ints, list[str], Ints]:
    """Order of the rows by question and variant, (R,); the ids of the questions; their numbers of variants, (N,).

    Sorting makes the table independent of the order of the rows.
    """
    codes = {question: code for code, question in enumerate(sorted(set(questions)))}
    labels = {label: code for code, label in enumerate(sorted(set(variants), key=_in_order))}
    question = np.array([codes[one] for one in questions], dtype=np.int64)
    variant = np.array([labels[one] for one in variants], dtype=np.int64)
    order = np.lexsort((variant, question))
    same = np.flatnonzero((np.diff(question[order]) == 0) & (np.diff(variant[order]) == 0))
    if len(same):
        first, second = sorted(order[same[0] : same[0] + 2].tolist())
        raise UserError(
            f"{columns.where(second)}: question {questions[second]!r} has a second row with the variant "
            f"{shorten(variants[second])!r}, after {columns.where(first)}. Expected one row per variant: number the "
            "variants of each question. If the column names kinds of variants, call it 'kind'"
        )
    return order, list(codes), np.bincount(question, minlength=len(codes))


def _in_order(label: str) -> tuple[bool, bool, int, str]:
    """Sort key: the original, whole numbers by value, other labels by their text."""
    is_whole = _is_whole(label)
    return (label != ORIGINAL, not is_whole, int(label) if is_whole else 0, label)


def _is_whole(label: str) -> bool:
    digits = label.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def _right_and_skipped(columns: AnswerColumns, picked: Sequence[str | None] | None) -> tuple[Bools, Bools]:
    """(R,) whether each answer is right, and (R,) whether it was skipped."""
    by_pick = None
    if picked is not None and columns.has("answer"):
        by_pick = [one is not None and one == right for one, right in zip(picked, columns.texts("answer"), strict=True)]
    if not columns.has("correct"):
        return np.array(by_pick, dtype=np.bool_), np.zeros(len(by_pick or ()), dtype=np.bool_)
    correct = columns.truths("correct")
    if by_pick is not None and [one for one in correct if one is not None] != by_pick:
        for row, (one, expected) in enumerate(zip(correct, by_pick, strict=True)):
            if one is not None and one != expected:
                raise columns.error(row, "correct", f"{expected}, because of the columns 'picked' and 'answer'")
    if picked is not None:
        for row, (one, pick) in enumerate(zip(correct, picked, strict=True)):
            if pick is None and one:
                raise columns.error(row, "picked", "a pick, because the answer is correct")
            if pick is not None and one is None:
                raise columns.error(row, "correct", "True or False, because there is a pick")
    return np.array([one is True for one in correct]), np.array([one is None for one in correct])


def _originals(
    columns: AnswerColumns, questions: Sequence[str], kinds: Sequence[str], variants: Sequence[str]
) -> Bools | None:
    """(R,) whether each row is the original of its question; None if unknown.

    Without a column `original`, the kind or else the variant of that name is the original.
    """
    if not columns.has("original"):
        named = next((names for names in (kinds, variants) if ORIGINAL in names), None)
        return None if named is None else np.array([name == ORIGINAL for name in named])
    marked = columns.truths("original")
    seen: dict[str, int] = {}
    for row in (row for row, mark in enumerate(marked) if mark):
        if questions[row] in seen:
            first = columns.where(seen[questions[row]])
            expected = f"False, because question {questions[row]!r} already has an original, {first}"
            raise columns.error(row, "original", expected)
        seen[questions[row]] = row
    return np.array([bool(mark) for mark in marked])


def _check_categories(columns: AnswerColumns, questions: Sequence[str], categories: Sequence[str | None]) -> None:
    """See that a question has one category."""
    first: dict[str, str | None] = {}
    for row, (question, category) in enumerate(zip(questions, categories, strict=True)):
        if first.setdefault(question, category) != category:
            raise columns.error(row, "category", f"{first[question]!r}, the category of question {question!r} before")


def _picks(
    columns: AnswerColumns, picked: Sequence[str | None], skipped: Bools, order: Ints, sizes: Ints
) -> dict[str, Any]:
    """The columns of a table that depend on the picks.

    If all rows of a question have `printed`, its options get numbers. Otherwise the picks are compared as texts, and
    all pairs of variants are comparable.
    """
    lists = columns.lists("printed") if columns.has("printed") else [None] * len(picked)
    total = len(order)
    picks, position = np.full(total, NO_PICK, dtype=np.int64), np.full(total, INVALID, dtype=np.int64)
    printed, options = np.zeros(total, dtype=np.uint64), np.zeros(total, dtype=np.int64)
    written = np.zeros(total, dtype=np.bool_)
    for start, end in zip(np.cumsum(sizes) - sizes, np.cumsum(sizes), strict=True):
        rows = order[start:end].tolist()
        if any(lists[row] is None and not skipped[row] for row in rows):
            written[start:end] = ~skipped[rows]
            continue
        numbers = _numbers(columns, rows, lists, picked)
        for place, row in enumerate(rows, start):
            shown, pick = lists[row] or [], picked[row]
            printed[place] = sum({1 << numbers[text] for text in shown})
            options[place] = len(shown)
            if pick is not None:
                picks[place], position[place] = numbers[pick], shown.index(pick)
            elif not skipped[row]:
                picks[place] = INVALID
    return {
        "picked": picks,
        "position": position,
        "printed": printed,
        "options": options,
        "written": written,
        "invalid": np.array([picked[row] is None and not skipped[row] for row in order.tolist()]),
        "pairs": _equal_pairs(
            [picked[row] if open_ else None for row, open_ in zip(order.tolist(), written, strict=True)], sizes
        ),
    }


def _numbers(
    columns: AnswerColumns, rows: Sequence[int], lists: Sequence[list[str] | None], picked: Sequence[str | None]
) -> dict[str, int]:
    """The number of each option of a question."""
    numbers: dict[str, int] = {}
    for row in rows:
        shown, pick = lists[row] or [], picked[row]
        if pick is not None and pick not in shown:
            raise columns.error(
                row, "picked", f"one of the printed options {shorten(repr(shown), 200)}, or a missing value if invalid"
            )
        for text in shown:
            numbers.setdefault(text, len(numbers))
    if len(numbers) > IDENTITIES:
        raise UserError(
            f"{columns.where(rows[0])}: the question has {len(numbers)} different options, expected at most "
            f"{IDENTITIES}. Leave out the column {columns.names['printed']!r} if all variants print the same options"
        )
    return numbers


def _equal_pairs(texts: Sequence[str | None], sizes: Ints) -> Ints:
    """(P, 2) pairs of rows of one question with the same text."""
    question = np.repeat(np.arange(len(sizes)), sizes).tolist()
    codes: dict[tuple[int, str], int] = {}
    code = np.array(
        [
            -1 if text is None else codes.setdefault((number, text), len(codes))
            for number, text in zip(question, texts, strict=True)
        ],
        dtype=np.int64,
    )
    counts = np.bincount(code[code >= 0], minlength=len(codes))
    if (counts * (counts - 1) // 2).sum() > _MOST_PAIRS:
        raise UserError(
            f"answers: expected at most {_MOST_PAIRS:,} pairs of equal answers to the same question. Score fewer "
            "questions or variants at a time, or list the printed options of each variant in a column 'printed'"
        )
    by_code = np.argsort(code, kind="stable")[(code < 0).sum() :]
    starts = np.cumsum(counts) - counts
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for count in np.unique(counts[counts > 1]).tolist():
        members = by_code[starts[counts == count][:, None] + np.arange(count)]
        one, other = np.triu_indices(count, k=1)
        pairs.append(np.stack([members[:, one].ravel(), members[:, other].ravel()], axis=1))
    return np.concatenate(pairs)
