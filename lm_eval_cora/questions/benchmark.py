"""Convert dataset rows to questions. YAML files declare most benchmarks (see `declarations`); two use an adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.question import MAX_OPTIONS, OpenQuestion, Question, UnusableQuestion, shorten

Row = Mapping[str, Any]
LocatedRow = tuple[str, Row]
"""The place of a row for error messages ("row 17", "my.jsonl line 18"), and the row."""

Result = Question | OpenQuestion | UnusableQuestion
"""The outcome for one row: a question, or the reason why the row is left out."""

_NAMED = 5
_SHOWN = 40
_KINDS = 10


class MissingColumn(LookupError):
    """A row lacks a column."""


class NotKept(UnusableQuestion):
    """A row that the declaration excludes."""


class RowReader(Protocol):
    """Converts rows to questions in two steps, because some decisions depend on all rows."""

    def read(self, row: Row, default_id: str, where: str) -> Any:
        """Extract the parts of a question from a row."""

    def finish(self, drafts: Sequence[Any]) -> tuple[list[Result], list[str]]:
        """Convert the drafts of all rows to questions."""


@dataclass(frozen=True)
class OneByOne:
    """Reader for adapters. It converts each row independently of the others.

    Attributes:
        columns: Columns that every row must have.
        to_question: Converts a row to a question, or raises UnusableQuestion. Its second argument is the id to use if
            the row has none.
    """

    columns: tuple[str, ...]
    to_question: Callable[[Row, str], Question | OpenQuestion]

    def read(self, row: Row, default_id: str, where: str) -> Question | OpenQuestion:
        """Convert a row to a question."""
        missing = [column for column in self.columns if column not in row]
        if missing:
            raise MissingColumn(f"no column {', '.join(map(repr, missing))}.")
        return self.to_question(row, default_id)

    def finish(self, drafts: Sequence[Question | OpenQuestion]) -> tuple[list[Result], list[str]]:
        """Return the questions unchanged."""
        return list(drafts), []


@dataclass(frozen=True)
class Source:
    """The source of a benchmark on the Hugging Face Hub.

    Attributes:
        hub: Ids of one or more datasets; empty if the benchmark is not on the Hub.
        config: Configurations to load; empty for the default one.
        split: The split that is scored.
        fewshot_split: The split that provides exemplars; None if there is none.
        revision: A commit, branch or tag; None loads the newest version.
        by_config: Whether the benchmark has several configurations. If so, question ids start with the configuration,
            and each row has it in the column `config`.
    """

    hub: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    split: str | None = None
    fewshot_split: str | None = None
    revision: str | None = None
    by_config: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: the source of its rows and their conversion to questions.

    Attributes:
        name: Name of the benchmark, as in the task names, or of the user's data.
        reader: Takes the columns of the first row and returns the reader of all rows.
        columns: The columns that a row should have, for messages.
        source: The source on the Hub.
        files: Files of the user that the declaration names.
        package_file: Path of the rows if they come with the package.
        published: Whether it is a published benchmark of this package, whose layout and defects are known.
        published_rows: Number of rows of the published split; None if unknown.
        part_of: Function for a benchmark with several parts, such as AGIEval's subsets. It takes the name of a dataset
            or file and one of its rows, and returns the name of the part. Rows get this name in the column `subset`,
            and question ids start with it.
        exemplars_within_category: Whether few-shot exemplars come from the question's own category.
        exemplars_as_published: Whether the few-shot split was published as a list of exemplars. If so, the exemplars
            keep its order and its repeats.
        options: Smallest and largest number of options of a question; (0, 0) if the model writes its own answer.
        score_templates: Folder of the harness' SCORE task for this benchmark; None if there is none.
        macro_average: Whether the papers on this benchmark report the mean accuracy over categories.
        nota_text: "None of the above" in the language of the benchmark; empty for English.
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
        """Whether the questions have options."""
        return self.options != (0, 0)

    @property
    def strict(self) -> bool:
        """Whether a row that is not a valid question is an error.

        It is an error in a user's own file. In a dataset on the Hub such rows are left out and counted.
        """
        return not self.source.hub


@dataclass(frozen=True)
class LeftOut:
    """A row that is left out.

    Attributes:
        where: The place of the row.
        reason: The kind of defect, for counting.
        detail: The full description of the defect.
        on_purpose: Whether the declaration excludes the row.
    """

    where: str
    reason: str
    detail: str
    on_purpose: bool = False


def collect_questions(
    benchmark: Benchmark, rows: Iterable[LocatedRow], *, id_prefix: str
) -> tuple[list[Question | OpenQuestion], list[LeftOut], list[str]]:
    """Convert rows to questions."""
    reader: RowReader | None = None
    results: list[tuple[str, Result | None]] = []
    drafts = []
    for number, (where, row) in enumerate(rows):
        try:
            reader = reader or benchmark.reader(list(row))
            drafts.append(reader.read(row, f"{id_prefix}-{number}", where))
        except MissingColumn as error:  # noqa: PERF203
            raise UserError(f"{benchmark.name}: {where}: {error} The columns are: {_listed(row)}") from None
        except UnusableQuestion as error:
            results.append((where, error))
        else:
            results.append((where, None))
    if reader is None:
        raise UserError(f"{benchmark.name}: there are no rows")
    finished, notes = reader.finish(drafts)
    later = iter(finished)
    questions, left_out = _without_repeats((where, next(later) if one is None else one) for where, one in results)
    broken = [row for row in left_out if not row.on_purpose]
    if broken and (benchmark.strict or not questions):
        named = "\n".join(f"  {row.where}: {row.detail}" for row in broken[:_NAMED])
        more = f"\n  and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
        if not benchmark.published:
            more += "\nCorrect these rows, or leave rows out by a column: 'keep': {'COLUMN': ['VALUE TO KEEP']}"
        raise UserError(
            f"{benchmark.name}: {len(broken)} of {len(results)} rows are not valid questions:\n{named}{more}"
        )
    if not questions:
        raise UserError(f"{benchmark.name}: 'keep' leaves out all rows: {count_left_out(left_out)}")
    return questions, left_out, notes


def _without_repeats(
    results: Iterable[tuple[str, Result]],
) -> tuple[list[Question | OpenQuestion], list[LeftOut]]:
    """Separate the questions from the rows left out. A question that repeats an earlier id is left out, too."""
    questions: dict[str, Question | OpenQuestion] = {}
    places: dict[str, str] = {}
    left_out: list[LeftOut] = []
    for where, result in results:
        if not isinstance(result, UnusableQuestion) and result.id in questions:
            result = UnusableQuestion("a repeated id", f"{result.id!r} is also the id of {places[result.id]}")
        if isinstance(result, UnusableQuestion):
            left_out.append(LeftOut(where, result.reason, str(result), isinstance(result, NotKept)))
        else:
            questions[result.id] = result
            places[result.id] = where
    return list(questions.values()), left_out


def _listed(columns: Iterable[object]) -> str:
    """List the columns of a row for an error message."""
    names = [shorten(column, 80) for column in columns]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def count_left_out(left_out: Iterable[LeftOut]) -> str:
    """Count the rows left out by kind of defect, the most frequent first, with the first few places of each kind."""
    by_reason: dict[str, list[str]] = {}
    for row in left_out:
        by_reason.setdefault(row.reason, []).append(row.where)
    counts = [
        f"{len(places)} with {reason} ({', '.join(places[:_NAMED])}{', …' if len(places) > _NAMED else ''})"
        for reason, places in sorted(by_reason.items(), key=lambda item: -len(item[1]))
    ]
    more = f"; {len(counts) - _KINDS} more kinds" if len(counts) > _KINDS else ""
    return "; ".join(counts[:_KINDS]) + more
