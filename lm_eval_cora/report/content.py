"""The content of a report, independent of its output format: sections of tables, charts and example answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from lm_eval_cora.metrics.estimate import Estimate
from lm_eval_cora.metrics.paired import Difference


@dataclass(frozen=True)
class Number:
    """A number in a table or a chart.

    Attributes:
        value: The number; nan if it is undefined.
        stderr: Its standard error; nan if it is unknown.
        ends: The ends of its 95% confidence interval; nan if they are unknown.
        best: Whether to mark it as the best of its row, or as one that cannot be told apart from the best.
        signed: Whether to print the sign, as for a difference.
    """

    value: float
    stderr: float = nan
    best: bool = False
    signed: bool = False
    ends: tuple[float, float] = (nan, nan)

    @classmethod
    def of(cls, estimate: Estimate, *, best: bool = False, signed: bool = False) -> Number:
        """Make a number from an Estimate."""
        return cls(estimate.value, estimate.stderr, best, signed, estimate.interval)

    @classmethod
    def of_difference(cls, change: Difference) -> Number:
        """Make a number from a difference."""
        return cls(change.value, change.stderr, signed=True, ends=(change.low, change.high))

    @property
    def interval(self) -> str:
        """The 95% interval as text, signed for a difference. If it is unknown: empty, and n/a for a difference."""
        if isnan(self.ends[0]):
            return "n/a" if self.signed else ""
        return " to ".join(map(self._digits, self.ends))

    def __str__(self) -> str:
        """Format the number as value and standard error.

        Example:
            >>> str(Number(0.744, 0.0121)), str(Number(-0.25, signed=True)), str(Number(nan))
            ('0.744 ± 0.012', '-0.250', 'n/a')
        """
        if isnan(self.value):
            return "n/a"
        error = "" if isnan(self.stderr) else f" ± {self.stderr:.3f}"
        return f"{self._digits(self.value)}{error}"

    def _digits(self, number: float) -> str:
        return f"{round(number, 3) + 0.0:{'+' if self.signed else ''}.3f}"  # no -0.000


def difference_and_interval(change: Difference) -> tuple[Number, str]:
    """The cells of a difference: its value with the standard error, and its 95% interval."""
    number = Number.of_difference(change)
    return number, number.interval


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
        explained: Whether the page prints the meaning of each row's metric below its name.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = False
    explained: bool = False


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
    """A chart of curves with confidence bands; x and y range from 0 to 1.

    Attributes:
        title: Title of the chart.
        x_label: Label of the x axis.
        y_label: Label of the y axis.
        lines: The curves.
        numbers: The values as a table.
        chance: (x, y) pairs of the curve that guessing gives, drawn in the colour of the text; empty if it is unknown.
        note: Explanation for the reader.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    numbers: Table
    chance: Sequence[tuple[float, float]] = ()
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
    """A chart of dots with error bars: a row per name, a dot per model.

    Attributes:
        title: Title of the chart.
        x_label: Label of the x axis.
        rows: Names of the rows, from top to bottom.
        models: Name of each model and its values, one per row. A single series without a name has no legend.
        numbers: The values as a table.
        reference: A value per row to compare with, such as an even share; empty without a reference.
        reference_label: Name of the reference in the legend.
        is_difference: Whether the values are differences. The x axis then fits the intervals and a line marks 0;
            otherwise it ranges from 0 to 1.
        note: Explanation for the reader.
    """

    title: str
    x_label: str
    rows: Sequence[str]
    models: Sequence[tuple[str, Sequence[Number]]]
    numbers: Table
    reference: Sequence[float] = ()
    reference_label: str = ""
    is_difference: bool = False
    note: str = ""


@dataclass(frozen=True)
class Change:
    """What became of the answers to the original in another kind of variant, as shares of the questions.

    The rest of the questions is wrong in both.

    Attributes:
        kept: Right in the original and in the kind.
        lost: Right in the original, wrong in the kind.
        gained: Wrong in the original, right in the kind.
    """

    kept: float
    lost: float
    gained: float


@dataclass(frozen=True)
class Changes:
    """A chart of bars: for each kind and model the right answers that were kept, lost and gained.

    Attributes:
        title: Title of the chart.
        rows: Names of the kinds, from top to bottom.
        models: Name of each model and its changes, one per row; None where a model lacks the kind.
        numbers: The values as a table.
        note: Explanation for the reader.
    """

    title: str
    rows: Sequence[str]
    models: Sequence[tuple[str, Sequence[Change | None]]]
    numbers: Table
    note: str = ""


@dataclass(frozen=True)
class Band:
    """A row of a heat map: a question, or several similar ones.

    Attributes:
        label: Description of the questions.
        values: Share of right answers in each column; nan where there is none.
        link: Anchor of an example question on the page; empty without one.
    """

    label: str
    values: Sequence[float]
    link: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A chart of questions by kinds of variants, with the share of right answers as colour.

    Attributes:
        title: Title of the chart.
        columns: Names of the columns, from left to right.
        bands: The rows, from top to bottom.
        numbers: The values as a table.
        note: Explanation for the reader.
    """

    title: str
    columns: Sequence[str]
    bands: Sequence[Band]
    numbers: Table
    note: str = ""


@dataclass(frozen=True)
class HistoryLine:
    """A line of a chart over versions.

    Attributes:
        name: Name of the line.
        points: Place of the version and its value, from left to right.
        breaks: Places of versions that are not connected with the point before.
    """

    name: str
    points: Sequence[tuple[int, Number]]
    breaks: Sequence[int] = ()


@dataclass(frozen=True)
class History:
    """A chart of lines over versions, with intervals.

    Attributes:
        title: Title of the chart.
        y_label: Label of the y axis, which fits the intervals.
        versions: Names of the versions, from left to right.
        lines: The lines.
        numbers: The values as a table.
        note: Explanation for the reader.
    """

    title: str
    y_label: str
    versions: Sequence[str]
    lines: Sequence[HistoryLine]
    numbers: Table
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
        rule: The rule that read the answer; empty if unknown.
        parts: The text before, in and after the characters that decided; empty if unknown. Untrusted text.
        places: For an invalid answer, what was found and why it does not count. Untrusted text.
    """

    kind: str
    verdict: str
    said: str
    response: str
    options: Sequence[PrintedOption] = ()
    rule: str = ""
    parts: Sequence[str] = ()
    places: Sequence[str] = ()


@dataclass(frozen=True)
class Example:
    """A question with all of its variants.

    Attributes:
        question_id: Id of the question.
        stem: Its text.
        summary: A line that is always visible.
        answers: The variants with their answers.
        anchor: The anchor that links to the question; empty without one.
    """

    question_id: str
    stem: str
    summary: str
    answers: Sequence[Answered]
    anchor: str = ""


@dataclass(frozen=True)
class Examples:
    """Questions of one model that a reader can unfold."""

    title: str
    examples: Sequence[Example]
    note: str = ""


Chart = Curve | Ranges | Dots | Changes | HeatMap | History
Block = Table | Chart | Examples


@dataclass(frozen=True)
class Headline:
    """The answer to "which model holds up, and how sure is that?" for a task.

    Attributes:
        sentences: The answer in plain sentences.
        picture: The chart that shows it; None without one.
        names: The names of models in the sentences.
    """

    sentences: Sequence[str]
    picture: Chart | None = None
    names: Sequence[str] = ()


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
        headline: The main result; None without one.
    """

    title: str
    subtitle: str
    blocks: Sequence[Block]
    signatures: Sequence[tuple[str, str]] = ()
    notes: Sequence[tuple[str, str]] = ()
    more: Sequence[Block] = ()
    headline: Headline | None = None


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes:
        title: Title of the report.
        sections: One per task, then one per benchmark with an aggregated row of several probes.
        overview: A table per probe, with one row per run; empty if there is one run.
        glossary: Meanings of the metrics and kinds of variants.
    """

    title: str
    sections: Sequence[Section]
    overview: Sequence[Table] = ()
    glossary: Table | None = None
