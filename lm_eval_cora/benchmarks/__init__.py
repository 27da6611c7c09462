"""Benchmarks: dataset row -> Question. Most are declared in a YAML file, see `declarations`; two have an adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lm_eval_cora.question import MAX_OPTIONS, OpenQuestion, Question, UnusableQuestion

Row = Mapping[str, Any]
LocatedRow = tuple[str, Row]
"""Where a row is, for error messages ("row 17", "my.jsonl line 18"), and the row."""

Result = Question | OpenQuestion | UnusableQuestion
"""What became of a row: a question, or why it cannot be asked."""

_NAMED = 5
_SHOWN = 40
_KINDS = 10


class BenchmarkError(ValueError):
    """The questions cannot be loaded: no source, a missing column, rows that cannot be asked."""


class MissingColumn(LookupError):
    """A row lacks a column."""


class NotKept(UnusableQuestion):
    """A row that the declaration excludes."""


class RowReader(Protocol):
    """Turns the rows of a source into questions, in two steps: some decisions need all rows."""

    def read(self, row: Row, default_id: str, where: str) -> Any:
        """Take from a row what is needed of it.

        Args:
            row: The row.
            default_id: The id to use if the row has none.
            where: Where the row is.

        Raises:
            UnusableQuestion: If the row cannot be asked.
            MissingColumn: If it lacks a column.
        """

    def finish(self, drafts: Sequence[Any]) -> tuple[list[Result], list[str]]:
        """Make the questions.

        Args:
            drafts: What `read` returned.

        Returns:
            A result for each draft, and notes for the user.

        Raises:
            BenchmarkError: If the rows together make no sense.
        """


@dataclass(frozen=True)
class OneByOne:
    """Reader of an adapter: each row is a question by itself.

    Attributes:
        columns: Columns that every row must have.
        to_question: Takes a row and the id to use if it has none; raises UnusableQuestion.
    """

    columns: tuple[str, ...]
    to_question: Callable[[Row, str], Question | OpenQuestion]

    def read(self, row: Row, default_id: str, where: str) -> Question | OpenQuestion:
        """Turn a row into a question."""
        missing = [column for column in self.columns if column not in row]
        if missing:
            raise MissingColumn(f"no column {', '.join(map(repr, missing))}.")
        return self.to_question(row, default_id)

    def finish(self, drafts: Sequence[Question | OpenQuestion]) -> tuple[list[Result], list[str]]:
        """Return the questions."""
        return list(drafts), []


@dataclass(frozen=True)
class Source:
    """Where a benchmark is on the Hugging Face Hub.

    Attributes:
        hub: Id of the dataset, or of several. Empty if it is not on the Hub.
        config: Its configuration, or several.
        split: The split that is scored.
        fewshot_split: The split that exemplars come from, if there is one.
        by_config: Whether it is made of several configurations. Ids then begin with the configuration, and rows have it
            in the column `config`.
        revision: A commit, branch or tag; None is the newest.
    """

    hub: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    split: str | None = None
    fewshot_split: str | None = None
    revision: str | None = None
    by_config: bool = False


@dataclass(frozen=True)
class Benchmark:
    """How the rows of a source become questions.

    Attributes:
        name: As in the task names, or the name of the user's data.
        reader: Takes the columns of the first row and returns the reader of all rows.
        columns: The columns that a row should have, for messages.
        source: Where it is on the Hub.
        files: Files of the user's, if the declaration names some.
        package_file: Where the rows are if they come with the package.
        published: Whether it is a published benchmark of this package, whose layout and defects are known.
        published_rows: Number of rows of the published split, if there is one.
        part_of: Of a benchmark that is made of several datasets: takes the name of a dataset or of a file and a row of
            it, and returns the part that the row is of. Rows have it in the column `subset`, and ids begin with it.
        exemplars_within_category: Whether few-shot exemplars come from the question's own category.
        exemplars_as_published: Whether its few-shot split was made for that use: its rows are shown in its order, with
            its repeats.
        options: How many options its questions have, at least and at most; none, and the model writes an answer of its
            own.
        score_templates: Where SCORE's task for it is in the harness, if there is one.
        macro_average: Whether its papers average accuracies over categories.
        nota_text: "None of the above" in its language; empty for English.
    """

    name: str
    reader: Callable[[Sequence[str]], RowReader]
    columns: tuple[str, ...] = ()
    source: Source = Source()
    files: tuple[Any, ...] = ()
    package_file: Path | None = None
    published: bool = True
    published_rows: int | None = None
    part_of: Callable[[str, Row], str] | None = None
    exemplars_within_category: bool = False
    exemplars_as_published: bool = False
    options: tuple[int, int] = (2, MAX_OPTIONS)
    score_templates: str | None = None
    macro_average: bool = False
    nota_text: str = ""

    @property
    def has_options(self) -> bool:
        """Whether its questions have options."""
        return self.options != (0, 0)

    @property
    def strict(self) -> bool:
        """Whether a row that cannot be asked is an error.

        It is in a user's own file. A public dataset has such rows; they are left out and counted.
        """
        return not self.source.hub


@dataclass(frozen=True)
class LeftOut:
    """A row that is not asked.

    Attributes:
        where: Where it is.
        reason: The kind of defect.
        detail: The defect in full.
        on_purpose: Whether the declaration excludes it.
    """

    where: str
    reason: str
    detail: str
    on_purpose: bool = False


def collect_questions(
    benchmark: Benchmark, rows: Iterable[LocatedRow], *, id_prefix: str
) -> tuple[list[Question | OpenQuestion], list[LeftOut], list[str]]:
    """Turn rows into questions.

    Args:
        benchmark: Whose rows they are.
        rows: Rows and where they are.
        id_prefix: Questions without an id of their own are called `<id_prefix>-<row number from 0>`.

    Returns:
        The questions in the source's order, the rows left out, and notes for the user.

    Raises:
        BenchmarkError: If a column is missing, no question can be used, or, for a strict benchmark, one cannot.
    """
    reader: RowReader | None = None
    results: list[tuple[str, Result | None]] = []
    drafts = []
    for number, (where, row) in enumerate(rows):
        try:
            reader = reader or benchmark.reader(list(row))
            drafts.append(reader.read(row, f"{id_prefix}-{number}", where))
        except MissingColumn as error:  # noqa: PERF203
            raise BenchmarkError(f"{benchmark.name}: {where}: {error} Its columns are: {_listed(row)}") from None
        except UnusableQuestion as error:
            results.append((where, error))
        else:
            results.append((where, None))
    if reader is None:
        raise BenchmarkError(f"{benchmark.name}: there are no rows")
    finished, notes = reader.finish(drafts)
    later = iter(finished)
    questions, left_out = _without_repeats((where, next(later) if one is None else one) for where, one in results)
    broken = [row for row in left_out if not row.on_purpose]
    if broken and (benchmark.strict or not questions):
        named = "\n".join(f"  {row.where}: {row.detail}" for row in broken[:_NAMED])
        more = f"\n  and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        raise BenchmarkError(f"{benchmark.name}: {len(broken)} of {len(results)} rows cannot be asked:\n{named}{more}")
    if not questions:
        raise BenchmarkError(f"{benchmark.name}: no row is kept: {count_left_out(left_out)}")
    return questions, left_out, notes


def _without_repeats(
    results: Iterable[tuple[str, Result]],
) -> tuple[list[Question | OpenQuestion], list[LeftOut]]:
    """Part the questions from the rows left out; a second question with the same id is left out, too."""
    questions: dict[str, Question | OpenQuestion] = {}
    places: dict[str, str] = {}
    left_out: list[LeftOut] = []
    for where, result in results:
        if not isinstance(result, UnusableQuestion) and result.id in questions:
            result = UnusableQuestion("an id that another row has", f"{result.id!r}, as {places[result.id]}")
        if isinstance(result, UnusableQuestion):
            left_out.append(LeftOut(where, result.reason, str(result), isinstance(result, NotKept)))
        else:
            questions[result.id] = result
            places[result.id] = where
    return list(questions.values()), left_out


def _listed(columns: Iterable[object]) -> str:
    """The columns of a row for an error message."""
    names = list(map(str, columns))
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def count_left_out(left_out: Iterable[LeftOut]) -> str:
    """Sum up the rows left out, by kind of defect, the first few of each named.

    Example:
        >>> count_left_out([LeftOut("row 4", "empty stem", ""), LeftOut("row 9", "empty stem", "")])
        '2 with empty stem (row 4, row 9)'
    """
    by_reason: dict[str, list[str]] = {}
    for row in left_out:
        by_reason.setdefault(row.reason, []).append(row.where)
    told = [
        f"{len(places)} with {reason} ({', '.join(places[:_NAMED])}{', …' if len(places) > _NAMED else ''})"
        for reason, places in sorted(by_reason.items(), key=lambda item: -len(item[1]))
    ]
    more = f"; {len(told) - _KINDS} more kinds" if len(told) > _KINDS else ""
    return "; ".join(told[:_KINDS]) + more
