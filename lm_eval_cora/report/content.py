"""The content of a report, independent of its output format: sections of tables, charts and example answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from lm_eval_cora.metrics.estimate import Estimate


@dataclass(frozen=True)
class Number:
    """A number in a table or a chart.

    Attributes:
        value: The number; nan if it is undefined.
        stderr: Its standard error; nan if it is unknown.
        ends: The ends of its 95% confidence interval; nan if they are unknown.
        rank: Its rank among the models, 1 for the best; None if it is not ranked.
        signed: Whether to print the sign, as for a difference.
    """

    value: float
    stderr: float = nan
    rank: int | None = None
    signed: bool = False
    ends: tuple[float, float] = (nan, nan)

    @classmethod
    def of(cls, estimate: Estimate, rank: int | None = None, *, signed: bool = False) -> Number:
        """Make a number from an Estimate."""
        return cls(estimate.value, estimate.stderr, rank, signed, estimate.interval)

    @property
    def interval(self) -> str:
        """The 95% interval as text; empty if it is unknown.

        Example:
            >>> Number(0.5, ends=(0.25, 0.75)).interval
            '0.250 to 0.750'
        """
        low, high = self.ends
        return "" if isnan(low) else f"{low:.3f} to {high:.3f}"

    def __str__(self) -> str:
        """Format the number as value, standard error and rank.

        Example:
            >>> str(Number(0.744, 0.0121, 1)), str(Number(-0.25, signed=True)), str(Number(nan))
            ('0.744 ± 0.012 (1)', '-0.250', 'n/a')
        """
        if isnan(self.value):
            return "n/a"
        error = "" if isnan(self.stderr) else f" ± {self.stderr:.3f}"
        rank = "" if self.rank is None else f" ({self.rank})"
        value = round(self.value, 3) + 0.0  # no -0.000
        return f"{value:{'+' if self.signed else ''}.3f}{error}{rank}"


def interval(low: float, high: float) -> str:
    """Format the interval of a difference.

    Example:
        >>> interval(-0.25, 0.5), interval(nan, nan)
        ('-0.250 to +0.500', 'n/a')
    """
    return "n/a" if isnan(low) else f"{round(low, 3) + 0.0:+.3f} to {round(high, 3) + 0.0:+.3f}"


Cell = str | int | Number
"""A cell of a table: text, a count, or a number with its standard error."""


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it.

    Attributes:
        title: Title of the table.
        columns: Column headings.
        rows: Rows, each with one cell per column.
        note: Explanation for the reader.
        sortable: Whether the page lets readers sort the rows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = False


@dataclass(frozen=True)
class Line:
    """The curve of a model: a point per level, and horizontal lines to compare with.

    Attributes:
        name: Name of the model.
        points: (x, y) pairs from left to right.
        marks: Name and value of each horizontal line, such as MCQA.
    """

    name: str
    points: Sequence[tuple[float, Number]]
    marks: Sequence[tuple[str, Number]] = ()


@dataclass(frozen=True)
class Curve:
    """A chart of curves with confidence bands; x and y range from 0 to 1."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    numbers: Table
    note: str = ""


@dataclass(frozen=True)
class Spread:
    """The values of a model for the kinds of a probe, and one more score.

    Attributes:
        name: Name of the model.
        values: Name and value of each kind.
        beside: The score to show beside the values.
    """

    name: str
    values: Sequence[tuple[str, Number]]
    beside: Number


@dataclass(frozen=True)
class Ranges:
    """A chart of boxes: the range of the accuracy over templates, positions, samples or kinds, and one more score."""

    title: str
    y_label: str
    beside_label: str
    spreads: Sequence[Spread]
    numbers: Table
    note: str = ""


@dataclass(frozen=True)
class Dots:
    """A chart of dots with error bars: a row per name, a dot per model; x ranges from 0 to 1.

    Attributes:
        title: Title of the chart.
        x_label: Label of the x axis.
        rows: Names of the rows, from top to bottom.
        models: Name of each model and its values, one per row.
        numbers: The values as a table.
        reference: A value per row to compare with, such as an even share; empty without a reference.
        reference_label: Name of the reference in the legend.
        note: Explanation for the reader.
    """

    title: str
    x_label: str
    rows: Sequence[str]
    models: Sequence[tuple[str, Sequence[Number]]]
    numbers: Table
    reference: Sequence[float] = ()
    reference_label: str = ""
    note: str = ""


@dataclass(frozen=True)
class PrintedOption:
    """A printed option: its letter and text, and whether it is right and was picked."""

    letter: str
    text: str
    right: bool
    picked: bool


@dataclass(frozen=True)
class Answered:
    """A variant and the response of the model.

    Attributes:
        kind: Kind of the variant.
        verdict: `right`, `wrong`, or `invalid`.
        said: The parsed answer, or the reason why the response has no valid answer.
        response: The response, or the scores of the answers; shortened if it is long. Untrusted text.
        options: The options as printed; empty if the prompt has none.
    """

    kind: str
    verdict: str
    said: str
    response: str
    options: Sequence[PrintedOption] = ()


@dataclass(frozen=True)
class Example:
    """A question with all of its variants."""

    question_id: str
    stem: str
    summary: str
    answers: Sequence[Answered]


@dataclass(frozen=True)
class Examples:
    """Questions of one model that a reader can unfold."""

    title: str
    examples: Sequence[Example]
    note: str = ""


Chart = Curve | Ranges | Dots
Block = Table | Chart | Examples


@dataclass(frozen=True)
class Section:
    """The part of a report about a task, or about several tasks of a benchmark.

    Attributes:
        title: Name of the task or benchmark.
        subtitle: Short description of the task.
        blocks: Tables and charts, the most important first.
        signatures: (model, signature) pairs.
        notes: Warnings about the runs: (model, note) pairs.
        more: Blocks that the page shows folded if the report has several sections.
    """

    title: str
    subtitle: str
    blocks: Sequence[Block]
    signatures: Sequence[tuple[str, str]] = ()
    notes: Sequence[tuple[str, str]] = ()
    more: Sequence[Block] = ()


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes:
        title: Title of the report.
        sections: One per task, then one per benchmark with an aggregated row of several probes.
        overview: Table with one row per run; None if there is one run.
        glossary: Meanings of the metrics and kinds of variants.
    """

    title: str
    sections: Sequence[Section]
    overview: Table | None = None
    glossary: Table | None = None
