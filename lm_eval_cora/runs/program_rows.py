"""Answers that other programs have logged, as rows: options, variants, and the samples that are left out."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.messages import described
from lm_eval_cora.questions.question import LETTERS, MAX_OPTIONS, UnusableQuestion, shorten
from lm_eval_cora.questions.rows import reading
from lm_eval_cora.runs.files import listed
from lm_eval_cora.runs.printed import longest_run

Columns = dict[str, Any]  # of a row, see `answer_columns.COLUMNS`
_HEAD = 4096  # bytes at the beginning of a file that show what it is


class Logged(NamedTuple):
    """The answers of one model to one task, from a log of another program."""

    model: str
    task: str
    rows: list[Columns]
    notes: list[str]  # for the user
    equal_prompts: bool = False  # whether the rows of a question asked the same prompt (epochs)
    own: str = ""  # what the program's own score is called, such as "choice" or "exact_match"


def beginning_of(path: Path, size: int) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(size)
    return b""


def begins_with(pattern: bytes, path: Path) -> bool:
    """Whether the beginning of a file matches a pattern."""
    return re.match(pattern, beginning_of(path, _HEAD)) is not None


@contextmanager
def readable(path: Path, expected: str) -> Iterator[None]:
    """Record a file that is read as an input. Any error is one of the user, because the file is of another format."""
    try:
        reading(path)
        yield
    except Exception as error:
        raise UserError(f"{path}: expected {expected}, got {shorten(described(error), 300)}") from error


def options_in(prompt: str, right: str) -> Columns:
    """The columns of the options that a prompt prints; the right one has this label."""
    label = right.strip("() .")
    found = longest_run(prompt, label)
    return options_of(found.options, found.labels.index(label), found.labels) if found else options_of((), 0)


def options_of(texts: Sequence[str], right: int, labels: Sequence[str] = LETTERS) -> Columns:
    """The columns of options and of the place of the right one; a place beyond them if it is not exactly one."""
    if not (2 <= len(texts) <= MAX_OPTIONS and 0 <= right < len(texts)):
        raise UnusableQuestion(f"without 2 to {MAX_OPTIONS} options of which exactly one is right")
    columns: Columns = {"printed": tuple(map(str, texts)), "answer": right}
    return columns if LETTERS.startswith("".join(labels)) else {**columns, "labels": tuple(labels)}


def logged(
    path: Path, found: Logged, samples: Iterable[Any], row_of: Callable[[Any], Columns], unused: int = 0
) -> list[Logged]:
    """Add the rows of samples, and number the variants of each question. They are repeats if all have one kind."""
    left_out = Counter({"of another split": unused})
    orders: dict[str, list[Any]] = defaultdict(list)
    for sample in samples:
        try:
            row = row_of(sample)
        except Exception as error:  # noqa: PERF203  # of a sample in another format, any
            left_out[getattr(error, "reason", "in an unknown format")] += 1
        else:
            order = orders[row["question"]]
            order.append(row["printed"])
            kind = "original" if row["printed"] == order[0] else "shuffled"
            found.rows.append({"kind": kind, **row, "variant": str(len(order))})
    reasons = listed(+left_out)
    if not found.rows:
        raise UserError(
            f"{path}: expected samples of a multiple-choice task, got {reasons or 'none'}. "
            "Pass a complete log of a task whose questions have options"
        )
    is_one_kind = len({row["kind"] for row in found.rows}) == 1
    for row in found.rows if is_one_kind else ():
        del row["kind"]
    if reasons:
        found.notes.append(f"left out {reasons}")
    return [found._replace(equal_prompts=is_one_kind and len(orders) < len(found.rows))]
