"""Benchmarks: dataset row -> Question, a file each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_cora.question import MAX_OPTIONS, OpenQuestion, Question, UnusableQuestion

Row = Mapping[str, Any]
LocatedRow = tuple[str, Row]
"""Where a row stands, for error messages ("row 17", "my.jsonl line 18"), and the row."""

_NAMED = 5


class BenchmarkError(ValueError):
    """Questions cannot be had: a set that does not load, a column that is missing, rows that cannot be asked."""


@dataclass(frozen=True)
class Benchmark:
    """How a source's rows become Questions.

    Attributes:
        name: As in the task names.
        columns: Columns that every row must have.
        optional_columns: Columns that a user's copy should have besides.
        to_question: Takes a row and the id to use if the source has none; raises UnusableQuestion.
        strict: Whether a row that cannot be asked is an error. It is for a user's own file; a public benchmark has
            such rows, and they are left out and counted.
        published_rows: Number of rows of the published split, if there is one.
        file: Where the rows lie if they come with the package.
        part_of: Of a benchmark that is made of several datasets: takes the name of a dataset or of a file and a row of
            it, and returns the part that the row is of. Rows have it in the column `subset`, and ids begin with it.
        exemplars_within_category: Whether few-shot exemplars come from the question's own category.
        exemplars_as_published: Whether its few-shot split was made for that use: its rows are shown in its order, with
            its repeats.
        options: How many options its questions have, at least and at most; none, and the model writes an answer of its
            own.
        score_templates: Where SCORE's task for it lies in the harness, if there is one.
        macro_average: Whether its papers average accuracies over categories.
    """

    name: str
    columns: tuple[str, ...]
    to_question: Callable[[Row, str], Question | OpenQuestion]
    optional_columns: tuple[str, ...] = ()
    strict: bool = False
    published_rows: int | None = None
    file: Path | None = None
    part_of: Callable[[str, Row], str] | None = None
    exemplars_within_category: bool = False
    exemplars_as_published: bool = False
    options: tuple[int, int] = (2, MAX_OPTIONS)
    score_templates: str | None = None
    macro_average: bool = False

    @property
    def has_options(self) -> bool:
        """Whether its questions have options."""
        return self.options != (0, 0)


@dataclass(frozen=True)
class LeftOut:
    """A row that cannot be asked: where it stands, the kind of defect, and the defect in full."""

    where: str
    reason: str
    detail: str


def collect_questions(
    benchmark: Benchmark, rows: Iterable[LocatedRow], *, id_prefix: str
) -> tuple[list[Question | OpenQuestion], list[LeftOut]]:
    """Turn rows into Questions.

    Args:
        benchmark: Whose rows they are.
        rows: Rows and where they stand.
        id_prefix: Questions without an id of their own are called `<id_prefix>-<row number from 0>`.

    Returns:
        The questions in the source's order, and the rows left out.

    Raises:
        BenchmarkError: If a column is missing, no question can be used, or, for a strict benchmark, one cannot.
    """
    questions: dict[str, Question | OpenQuestion] = {}
    places: dict[str, str] = {}
    left_out: list[LeftOut] = []
    for number, (where, row) in enumerate(rows):
        missing = [column for column in benchmark.columns if column not in row]
        if missing:
            raise BenchmarkError(
                f"{benchmark.name}: {where} has no column {', '.join(map(repr, missing))}; "
                f"expected {', '.join(benchmark.columns)}, got {', '.join(map(str, row))}"
            )
        try:
            question = benchmark.to_question(row, f"{id_prefix}-{number}")
            if question.id in questions:
                raise UnusableQuestion("an id that another row has", f"{question.id!r}, as {places[question.id]}")
        except UnusableQuestion as error:
            left_out.append(LeftOut(where, error.reason, str(error)))
        else:
            questions[question.id] = question
            places[question.id] = where
    if left_out and (benchmark.strict or not questions):
        named = "\n".join(f"  {row.where}: {row.detail}" for row in left_out[:_NAMED])
        more = f"\n  and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
        raise BenchmarkError(
            f"{benchmark.name}: {len(left_out)} of {len(left_out) + len(questions)} rows cannot be "
            f"asked:\n{named}{more}"
        )
    if not questions:
        raise BenchmarkError(f"{benchmark.name}: there are no rows")
    return list(questions.values()), left_out


def count_left_out(left_out: Iterable[LeftOut]) -> str:
    """Sum up the rows left out, by kind of defect, the first few of each named.

    Example:
        >>> count_left_out([LeftOut("row 4", "empty stem", ""), LeftOut("row 9", "empty stem", "")])
        '2 with empty stem (row 4, row 9)'
    """
    by_reason: dict[str, list[str]] = {}
    for row in left_out:
        by_reason.setdefault(row.reason, []).append(row.where)
    return "; ".join(
        f"{len(places)} with {reason} ({', '.join(places[:_NAMED])}{', …' if len(places) > _NAMED else ''})"
        for reason, places in by_reason.items()
    )
