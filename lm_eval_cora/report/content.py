"""What a report says, whatever it is printed as: sections of tables, charts and answers to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from lm_eval_cora.metrics.estimate import Estimate


@dataclass(frozen=True)
class Number:
    """A number in a table or a chart.

    Attributes:
        value: The number; nan is undefined.
        stderr: Its standard error; nan is unknown.
        rank: Its rank among the models, 1 the best, None if there are no others.
        signed: Whether it is a difference, whose sign is printed.
    """

    value: float
    stderr: float = nan
    rank: int | None = None
    signed: bool = False

    @classmethod
    def of(cls, estimate: Estimate, rank: int | None = None, *, signed: bool = False) -> Number:
        """The number of an Estimate."""
        return cls(estimate.value, estimate.stderr, rank, signed)

    def __str__(self) -> str:
        """As it is printed: value, standard error, rank.

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
    """An interval of a difference as it is printed.

    Example:
        >>> interval(-0.25, 0.5), interval(nan, nan)
        ('-0.250 to +0.500', 'n/a')
    """
    return "n/a" if isnan(low) else f"{round(low, 3) + 0.0:+.3f} to {round(high, 3) + 0.0:+.3f}"


Cell = str | int | Number
"""What stands in a table: text, a count, or a number with its error."""


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row names it.

    Attributes:
        title: What it shows.
        columns: Headings.
        rows: A cell per column each.
        note: How to read it.
        sortable: Whether a reader may want the rows in another order.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = False


@dataclass(frozen=True)
class Line:
    """A model's curve: a point per level, and levels that it is to be compared with.

    Attributes:
        name: The model.
        points: (x, y) pairs from left to right.
        marks: Names and values of horizontal lines, such as MCQA.
    """

    name: str
    points: Sequence[tuple[float, Number]]
    marks: Sequence[tuple[str, Number]] = ()


@dataclass(frozen=True)
class Curve:
    """A chart of curves with confidence bands, x and y from 0 to 1."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    numbers: Table
    note: str = ""


@dataclass(frozen=True)
class Spread:
    """A model's values over the kinds of a probe, and a score to be shown beside them.

    Attributes:
        name: The model.
        values: Name of each kind and its value.
        beside: The score.
    """

    name: str
    values: Sequence[tuple[str, Number]]
    beside: Number


@dataclass(frozen=True)
class Ranges:
    """A chart of boxes: how far the accuracy moves over templates, positions, samples or kinds, with a score beside."""

    title: str
    y_label: str
    beside_label: str
    spreads: Sequence[Spread]
    numbers: Table
    note: str = ""


@dataclass(frozen=True)
class Dots:
    """A chart of dots with error bars: a row per name, a dot per model, from 0 to 1.

    Attributes:
        title: What it shows.
        x_label: What the values are.
        rows: Names, from top to bottom.
        models: Name of each model and its value in each row.
        reference: A value in each row to compare with, such as an even share, or nothing.
        reference_label: What that is.
        numbers: The same as a table.
        note: How to read it.
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
    """A variant and what the model said to it.

    Attributes:
        kind: Kind of the variant.
        verdict: `right`, `wrong`, or `invalid`.
        said: What was read out of the response, or why nothing was.
        response: The response, or the scores of the answers; cut if it is long. Hostile text.
        options: The options as they were printed; none where the answer is written.
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
    """Questions to be unfolded, of one model."""

    title: str
    examples: Sequence[Example]
    note: str = ""


Chart = Curve | Ranges | Dots
Block = Table | Chart | Examples


@dataclass(frozen=True)
class Section:
    """What there is to say about a task, or about a benchmark over several tasks.

    Attributes:
        title: Name of the task or benchmark.
        subtitle: What it asks, in a few words.
        blocks: What is shown, the most important first.
        signatures: Model and signature of its scores, for each model.
        notes: What the reader must know about the runs: (model, note) pairs.
        more: What is shown to those who ask for it, where there are other sections.
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
        title: Its title.
        sections: One per task, then one per benchmark where several probes are summed up.
        overview: All runs in a row each; None of one.
        glossary: What the metrics mean.
    """

    title: str
    sections: Sequence[Section]
    overview: Table | None = None
    glossary: Table | None = None
