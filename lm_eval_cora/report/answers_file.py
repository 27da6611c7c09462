"""Answers that were got without the harness: a JSON file -> ResponseTable -> every metric that they define."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lm_eval_cora import metrics
from lm_eval_cora.formats import BOXED
from lm_eval_cora.metrics.estimate import UNDEFINED, Estimate, mean_of
from lm_eval_cora.probes.alterations import ORIGINAL
from lm_eval_cora.question import shorten
from lm_eval_cora.report import ReportError
from lm_eval_cora.responses import IDENTITIES, Record, ResponseTable

_EXAMPLE = (
    '{"question_id": "q1", "kind": "original", "ordinal": 0, "picked": "Ice", "answer": "Ice", '
    '"options": ["Ice", "Fog"]}'
)


class AnswerScore(NamedTuple):
    """A metric of a file of answers, and why it is undefined if it is."""

    estimate: Estimate
    reason: str = ""


class _Line(NamedTuple):
    where: str
    question_id: str
    kind: str
    ordinal: int
    picked: str | None
    answer: str
    options: tuple[str, ...] | None
    category: str
    followed: bool | None
    reader: str


class Answers(NamedTuple):
    """What a file of answers holds.

    Attributes:
        table: The answers.
        readers: Names of the readers that the responses were read by, as the lines say it; empty if none does.
    """

    table: ResponseTable
    readers: tuple[str, ...]


def read_answers(path: Path) -> Answers:
    """Read a file with one answer per line.

    A line is an object with `question_id`, `kind`, `ordinal`, `picked` (the identity of the option picked, or null if
    the answer is invalid) and `answer` (that of the right one). There may be `options` (the printed identities),
    `category`, `followed` (whether the response followed the format) and `reader` (the name of what read it). An
    identity is any text; a number counts as its text. A question has as many variants as lines. If one of its lines has
    no `options`, all pairs of its variants are comparable.

    Args:
        path: The file.

    Returns:
        Its table and its readers.

    Raises:
        ReportError: If it cannot be read, or a line is not such an object; the message names the line.
    """
    groups: dict[str, dict[int, _Line]] = {}
    try:
        for line in _lines(path):
            group = groups.setdefault(line.question_id, {})
            if line.ordinal in group:
                raise ReportError(
                    f"{line.where}: question {line.question_id!r} has a variant with the ordinal {line.ordinal} "
                    f"already, in {group[line.ordinal].where}; expected one line per variant"
                )
            group[line.ordinal] = line
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: is no UTF-8 text: {error.reason} at byte {error.start}") from None
    if not groups:
        raise ReportError(f"{path}: there are no answers; expected lines such as {_EXAMPLE}")
    readers = dict.fromkeys(line.reader for group in groups.values() for line in group.values())
    return Answers(
        ResponseTable.from_records(record for group in groups.values() for record in _records(group)),
        tuple(sorted(name for name in readers if name)),
    )


def score_answers(table: ResponseTable) -> dict[str, AnswerScore]:
    """Every metric that answers alone define, by its name.

    `sc` and `acc_h` are over the variants that print the options of the original.

    Args:
        table: N questions.

    Returns:
        For each metric its estimate, and the reason where it is undefined.

    Example:
        >>> scores = score_answers(ResponseTable.from_hits([[1, 1], [1, 0]]))
        >>> scores["cora"].estimate.value, scores["cr_all"].reason
        (0.5, 'the mean of several probes; a file is one set of answers')
    """
    original = table.original_correct is not None
    scores = {}
    for name, metric in _METRICS.items():
        if name in OF_SEVERAL:
            scores[name] = AnswerScore(UNDEFINED, "the mean of several probes; a file is one set of answers")
        elif name in _OF_THE_ORIGINAL and not original:
            scores[name] = AnswerScore(UNDEFINED, f"every question needs one variant of the kind {ORIGINAL!r}")
        else:
            estimate = metric(table)
            undefined = np.isnan(estimate.value)
            scores[name] = AnswerScore(
                estimate, _UNDEFINED.get(name, "no pair of variants is comparable") * bool(undefined)
            )
    return scores


def _like_the_original(table: ResponseTable) -> ResponseTable:
    """The variants that print the same options as their question's original."""
    printed = table.printed[table.original]
    return table.where(table.printed == printed[table.question])


def _sc(table: ResponseTable) -> Estimate:
    part = _like_the_original(table)
    most = np.ones(len(part.sizes), dtype=np.int64)
    np.maximum.at(most, part.question, part.alike)
    return mean_of(most / part.sizes)


def _acc_h(table: ResponseTable) -> Estimate:
    return metrics.bmca(_like_the_original(table), level=1.0)


_METRICS: dict[str, Callable[[ResponseTable], Estimate]] = {
    "acc": metrics.acc,
    "mcqa": metrics.mcqa,
    "mcqa_plus": metrics.mcqa_plus,
    "mcqa_plus_diff": metrics.mcqa_plus_diff,
    "mv": metrics.mv,
    **{f"bmca@{level}": partial(metrics.bmca, level=level) for level in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
    "ci": metrics.ci,
    "cora": metrics.cora,
    "core": metrics.core,
    "consistency_rate": metrics.consistency_rate,
    "sc": _sc,
    "acc_h": _acc_h,
    "acc_mean": metrics.acc_mean,
    "acc_min": metrics.acc_min,
    "acc_max": metrics.acc_max,
    "macro_acc": metrics.macro_acc,
    "all_equal": metrics.all_equal,
    "equal@0.8": partial(metrics.equal_at, level=0.8),
    "invalid": metrics.invalid,
    "followed": metrics.followed,
    "cr_all": metrics.consistency_rate,
    "cr_prompts_order": metrics.consistency_rate,
}
OF_SEVERAL = ("cr_all", "cr_prompts_order")
"""Metrics that average over probes."""

_UNDEFINED = {"followed": "every line needs 'followed', true or false"}
"""Why a metric may be undefined, where it is not for lack of comparable pairs."""

_OF_THE_ORIGINAL = ("mcqa", "mcqa_plus_diff", "ci", "cora", "sc", "acc_h")


def _lines(path: Path) -> Iterator[_Line]:
    with path.open(encoding="utf-8-sig") as file:
        for number, text in enumerate(file, start=1):
            if text.strip():
                yield _line(f"{path}: line {number}", text)


def _line(where: str, text: str) -> _Line:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{where}: is no JSON: {error}; expected an object such as {_EXAMPLE}") from None
    if not isinstance(given, Mapping):
        raise ReportError(f"{where}: is {shorten(text)}, expected an object such as {_EXAMPLE}")
    for name in ("question_id", "kind", "ordinal", "picked", "answer"):
        if name not in given:
            raise ReportError(f"{where}: {name!r} is missing; expected an object such as {_EXAMPLE}")
    ordinal, options = given["ordinal"], given.get("options")
    if isinstance(ordinal, bool) or not isinstance(ordinal, int):
        raise ReportError(f"{where}: 'ordinal' is {shorten(repr(ordinal))}, expected a whole number")
    if options is not None and not isinstance(options, list):
        raise ReportError(f"{where}: 'options' is {shorten(repr(options))}, expected a list of identities")
    line = _Line(
        where=where,
        question_id=_text(where, "question_id", given["question_id"]),
        kind=_text(where, "kind", given["kind"]),
        ordinal=ordinal,
        picked=None if given["picked"] is None else _text(where, "picked", given["picked"]),
        answer=_text(where, "answer", given["answer"]),
        options=None if options is None else tuple(_text(where, "options", option) for option in options),
        category=_text(where, "category", given.get("category") or ""),
        followed=given.get("followed"),
        reader=_text(where, "reader", given.get("reader") or ""),
    )
    if line.followed is not None and not isinstance(line.followed, bool):
        raise ReportError(f"{where}: 'followed' is {shorten(repr(line.followed))}, expected true, false or null")
    if line.options is not None and line.picked is not None and line.picked not in line.options:
        raise ReportError(
            f"{where}: 'picked' is {shorten(line.picked)!r}, which is not one of 'options' "
            f"{shorten(repr(list(line.options)), 200)}; an invalid answer is null"
        )
    return line


def _text(where: str, name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ReportError(f"{where}: {name!r} is {shorten(repr(value))}, expected text")
    return str(value)


def _records(group: Mapping[int, _Line]) -> Sequence[Record]:
    """The records of a question, its ordinals made consecutive."""
    lines = [group[ordinal] for ordinal in sorted(group)]
    make = _compared_as_text if any(line.options is None for line in lines) else _compared_as_options(lines)
    return [
        Record(
            question_id=line.question_id,
            kind=line.kind,
            ordinal=number,
            variants=len(lines),
            category=line.category,
            original=line.kind == ORIGINAL,
            followed=line.followed,
            **make(line),
        )
        for number, line in enumerate(lines)
    ]


def _compared_as_text(line: _Line) -> dict[str, Any]:
    """What a record says of an answer that may be any text: it is the same as an equal one, whatever was printed."""
    return {
        "printed": (),
        "answer": 0,
        "picked": None,
        "ask": BOXED.name,
        "written": line.picked,
        "matches": line.picked == line.answer,
    }


def _compared_as_options(lines: Sequence[_Line]) -> Callable[[_Line], dict[str, Any]]:
    """What a record says of an answer among printed options, which get numbers."""
    texts = dict.fromkeys(text for line in lines for text in (line.answer, *(line.options or ())))
    numbers = {text: number for number, text in enumerate(texts)}
    if len(numbers) > IDENTITIES:
        raise ReportError(
            f"{lines[0].where}: question {lines[0].question_id!r} has {len(numbers)} different options, expected at "
            f"most {IDENTITIES}; leave 'options' out if all pairs of its variants are comparable"
        )

    def make(line: _Line) -> dict[str, Any]:
        printed = tuple(numbers[option] for option in line.options or ())
        picked = None if line.picked is None else numbers[line.picked]
        return {
            "printed": printed,
            "answer": numbers[line.answer],
            "picked": picked,
            "position": None if picked is None else printed.index(picked),
        }

    return make
